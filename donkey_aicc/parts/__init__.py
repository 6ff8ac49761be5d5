"""Thin donkeycar parts: state in __init__, one run, the work elsewhere."""
