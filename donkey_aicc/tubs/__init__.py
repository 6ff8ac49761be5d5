"""Tubs to sequences, labels and splits."""
