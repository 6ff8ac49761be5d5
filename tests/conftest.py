"""Shared test set-up: one torch thread, so that parallel test workers do not spin against each other."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
