"""A run as compact JSON: numbers as 16 bits in base64, words by number. The page and the self-contained file read the same."""

import base64
from typing import Any

import numpy as np

from donkey_aicc.replay.events import KINDS, find_events
from donkey_aicc.replay.run import Run

LEVELS = 65534  # of one number between the smallest and the largest of its column; 65535 is unknown
UNKNOWN = 65535
HIDDEN = ("rho_z", "delta_z", "scores_valid")  # used for events, not shown


def packed_run(run: Run, number: int = 0) -> dict[str, Any]:
    """Everything the page needs about a run but the pictures."""
    return {
        "run": number,
        "name": run.name,
        "rate_hz": round(run.rate_hz, 3),
        "length": len(run),
        "horizons": list(run.horizons),
        "main_horizon": run.main_horizon,
        "features": list(run.features),
        "track": run.track,
        "safe": run.safe,
        "scores_from": run.scores_from,
        "notes": list(run.notes),
        "index": base64.b64encode(run.index.astype("<f8").tobytes()).decode(),
        "t": base64.b64encode(run.t.astype("<f8").tobytes()).decode(),
        "numbers": {name: packed_numbers(values) for name, values in run.numbers.items() if name not in HIDDEN},
        "words": {name: packed_words(values) for name, values in run.words.items()},
        "events": [event.to_json() for event in find_events(run)],
        "kinds": list(KINDS),
    }


def packed_numbers(values: np.ndarray) -> dict[str, Any]:
    """(N,) or (N, K) -> {from, to, width, data}; the step is a 65534th of the range, finer than any screen."""
    known = values[np.isfinite(values)].astype(np.float64)
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    scaled = (values.astype(np.float64) - low) * (LEVELS / (high - low) if high > low else 0.0)
    levels = np.where(np.isfinite(values), np.rint(np.nan_to_num(scaled)), UNKNOWN).astype("<u2")
    return {
        "from": low,
        "to": high,
        "width": 1 if values.ndim == 1 else values.shape[1],
        "vector": values.ndim == 2,
        "whole": bool((known == np.rint(known)).all()),
        "data": base64.b64encode(levels.tobytes()).decode(),
    }


def packed_words(values: np.ndarray) -> dict[str, Any]:
    """(N,) str -> {words, data}; at most 65535 different ones, the rest is ''."""
    words, codes = np.unique(values, return_inverse=True)
    kept = [str(word) for word in words[:UNKNOWN]]
    codes = np.where(codes < len(kept), codes, UNKNOWN)
    return {"words": kept, "data": base64.b64encode(codes.astype("<u2").tobytes()).decode()}
