"""`make demo`: a car made, driven and looked at, with nothing but this package."""
