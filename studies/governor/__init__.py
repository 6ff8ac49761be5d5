"""Does the governor keep the car in its lane? Drives in closed loop, the same seed with and without it."""
