"""Anomaly scores and TTA: frames and commands in, raw scores out. The same code serves the car, a replay and a batch."""
