"""Corruptions and faults: (array, severity, rng) -> array; the test protocols and the calibrator's training families."""
