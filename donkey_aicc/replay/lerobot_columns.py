"""The rows of a run as a LeRobotDataset has them, and the statistics that stand beside them. What nobody knows is NaN."""

from typing import Any

import numpy as np

from donkey_aicc.replay.run import VECTORS, Run

ACTION, STATE = "action", "observation.state"
PER_HORIZON = (*(name for name in VECTORS if name != "stays"), "safe")
SINGLE = ("rho", "delta", "stays", "departed", "inject_severity", "cte", "time_s")
ALARM = "alarm"  # as a number: a collated batch has no words
ALARMS = ("none", "watch", "danger")
QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99)


def dataset_columns(run: Run, horizons: tuple[int, ...]) -> dict[str, np.ndarray]:
    """What the dataset says of each row but its counters; NaN where this drive does not know it."""
    unknown = np.full(len(run), np.nan, dtype=np.float32)
    known = run.numbers | {"departed": run.departed, "time_s": run.t}
    if known.get("stays", unknown).ndim == 2:
        known["stays"] = run.at_horizon("stays")
    found = {
        ACTION: np.stack([np.nan_to_num(known.get(name, unknown)) for name in ("steering", "throttle")], axis=1),
        STATE: np.nan_to_num(known.get("speed", unknown))[:, None],
    }
    if horizons:
        wide = np.full((len(run), len(horizons)), np.nan, dtype=np.float32)
        known |= {"safe": _safe_ahead(run.departed, horizons)}
        found |= {
            f"aicc.{name}": values if (values := known.get(name, wide)).shape == wide.shape else wide for name in PER_HORIZON
        }
    found |= {f"aicc.{name}": known.get(name, unknown) for name in SINGLE}
    found = {name: np.ascontiguousarray(values, dtype=np.float32) for name, values in found.items()}
    words = run.words.get(ALARM, np.full(len(run), ""))
    found[f"aicc.{ALARM}"] = np.array([ALARMS.index(word) if word in ALARMS else -1 for word in words], dtype=np.int64)
    return found


def _safe_ahead(departed: np.ndarray, horizons: tuple[int, ...]) -> np.ndarray:
    """(N, K) the label that a predictor learns: 1 if the car is still in its lane k rows later, NaN if nobody knows."""
    found = np.full((len(departed), len(horizons)), np.nan, dtype=np.float32)
    for place, steps in enumerate(horizons):
        found[: max(0, len(departed) - steps), place] = 1.0 - departed[steps:]
    return found


def statistics_of(values: np.ndarray) -> dict[str, list[float]]:
    """As lerobot names them, over the rows, each column for itself; zeros where nothing is known, so that JSON can hold them."""
    table = values.astype(np.float64).reshape(len(values), -1)
    per = [column[np.isfinite(column)] for column in table.T]
    per = [column if len(column) else np.zeros(1) for column in per]
    found = {name: [float(getattr(column, name)()) for column in per] for name in ("min", "max", "mean", "std")}
    found["count"] = [len(values)]
    return found | {f"q{round(100 * q):02d}": [float(np.quantile(column, q)) for column in per] for q in QUANTILES}


def picture_statistics(pixels: np.ndarray) -> dict[str, Any]:
    """(P, 3) in [0, 1] -> each number as channels x 1 x 1."""
    found = statistics_of(pixels)
    return {name: value if name == "count" else [[[number]] for number in value] for name, value in found.items()}
