"""The embedded simulator: a seeded, lock-step world with a track, a car and its camera."""
