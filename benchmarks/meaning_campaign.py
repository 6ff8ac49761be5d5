"""Directed changes to the numbers of a bundle: none may load and make the monitor less cautious.

    python -m benchmarks.meaning_campaign --changes 1000 --seed 1

Every change is made as somebody would who knows how the hashes are made. A changed bundle that still loads is asked on a grid of
probabilities and scores, and its alarm with frames that nobody can drive by.
"""

import argparse
import contextlib
import copy
import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_model import MOST_STOP_HAZARD
from donkey_aicc.alarm.can_speak import check_can_speak
from donkey_aicc.alarm.evidence import EVIDENCE_NAMES, MOST_STRANGE
from donkey_aicc.calibration.calibrator_file import load_calibrator, meaning_of
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.manifest import Manifest
from donkey_aicc.resources import models_dir

NUMBERS = (0.0, -1.0, 1.0, 0.5, 1e-12, 1e6, -1e6, 1e300, -1e300, 20.0, 0.1, 1000.0)
ODD = (None, "no", "0.5", True, [], {}, [1.0], {"kind": {}})
STRONG_EVIDENCE = float(np.log1p(MOST_STRANGE))  # as strange as counts, of every kind at once
P = np.linspace(0.001, 0.999, 400)


def paths(value: Any, place: tuple = ()) -> list[tuple]:
    """Where every number, text and table stands; of long lists only the first two."""
    if isinstance(value, dict):
        return [place, *(path for name, each in value.items() for path in paths(each, (*place, name)))]
    if isinstance(value, list):
        return [place, *(path for number, each in enumerate(value[:2]) for path in paths(each, (*place, number)))]
    return [place]


def changed(stored: dict, rng: np.random.Generator, places: list[tuple]) -> tuple[dict, str]:
    found = copy.deepcopy(stored)
    *steps, last = places[int(rng.integers(len(places)))]
    table = found
    for step in steps:
        table = table[step]
    old = table[last]
    kind = rng.choice(["number", "scaled", "odd", "gone", "other key"])
    if kind == "gone" and isinstance(table, dict):
        del table[last]
    elif kind == "other key" and isinstance(table, dict):
        table[f" {last} "] = table.pop(last)
    elif kind == "odd":
        table[last] = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])
    elif isinstance(old, list) and old and isinstance(old[0], int | float):
        table[last] = [float(rng.choice(NUMBERS))] * len(old)
    elif kind == "scaled" and isinstance(old, int | float) and not isinstance(old, bool):
        table[last] = old * float(rng.choice([-1.0, 0.0, 0.01, 100.0, 1e6]))
    else:
        table[last] = float(rng.choice(NUMBERS))
    return found, f"{kind} at {'/'.join(map(str, (*steps, last)))}"


def less_cautious(calibrator: Any, good: Any) -> str:
    """Why; '' if it is not. Against the good one where that is fair, against the promise of the form everywhere."""
    names = calibrator.score_names
    for horizon in (1, 20, 50):
        calm = calibrator.calibrate(P, dict.fromkeys(names, np.zeros(len(P))), horizon)
        for level in (0.0, 0.3, 1.0):
            found = calibrator.calibrate(P, dict.fromkeys(names, np.full(len(P), level)), horizon)
            if not np.isfinite(found).all() or (np.diff(found) < -1e-12).any():
                return "falls or is not finite"
            if (found > np.maximum(calm, 0.5) + 1e-9).any():
                return "an anomaly raises it"
        sure = good.calibrate(P, dict.fromkeys(names, np.zeros(len(P))), horizon)
        if (calm - sure).max() > 0.45:
            return "far surer than the one that was fitted"
    return ""


def _stops_less(alarm: Any, good: Any) -> str:
    """Why; '' if the alarm may be trusted as far as the good one: it need not say the same."""
    if alarm.stop_hazard > max(2.0 * good.stop_hazard, MOST_STOP_HAZARD):
        return "a danger need not stop"
    if alarm.hazard is None:
        return ""  # every danger stops
    strong = np.full((1, len(EVIDENCE_NAMES)), STRONG_EVIDENCE)
    return "strong evidence does not stop" if alarm.hazard.hazard(strong)[0, -1] < alarm.stop_hazard else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bundle", type=Path, default=models_dir() / "reference")
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(args.bundle, Path(place) / "bundle"))
        bundle, good = Bundle.load(folder), load_calibrator(Bundle.open(folder))
        texts = {name: (folder / name).read_text() for name in ("calibrator.json", "manifest.json")}
        outcome: Counter[str] = Counter()
        for number in range(args.changes):
            name = "manifest.json" if number % 5 == 0 else "calibrator.json"
            stored = json.loads(texts[name])
            if name == "calibrator.json":
                stored["grades"] = {"full": stored["grades"]["full"]}
            where = [
                path
                for path in paths(stored)
                if path and path[0] in ("grades", "horizons", "action_stats", "tau", "context", "lags")
            ]
            bad, what = changed(stored, rng, where)
            outcome[judged(folder, name, bad, good, bundle, what)] += 1
            (folder / name).write_text(texts[name])
    for words, count in sorted(outcome.items()):
        print(f"{count:6} {words}")


def judged(folder: Path, name: str, bad: dict, good: Any, bundle: Any, what: str) -> str:
    try:
        if name != "manifest.json":
            bad["meaning"] = meaning_of(bad)
        else:
            with contextlib.suppress(TypeError, ValueError, AttributeError):  # no hash can be made of such a table
                bad["meaning"] = Manifest(**bad).fingerprint
        (folder / name).write_text(json.dumps(bad))
        calibrator = load_calibrator(Bundle.open(folder), "full")
        if calibrator.alarm is not None:
            check_can_speak(calibrator.alarm, bundle)
    except AiccError:
        return "refused"
    except Exception as error:
        print(f"TRACEBACK {type(error).__name__} {error}: {what}")
        return "an error that is not ours"
    why = less_cautious(calibrator, good)
    if why:
        print(f"LESS CAUTIOUS ({why}): {what}")
        return "loads and is less cautious"
    if calibrator.alarm is None and good.alarm is not None:
        print(f"NO ALARM: {what}")
        return "loads without its alarm"
    if calibrator.alarm is not None and (wrong := _stops_less(calibrator.alarm, good.alarm)):
        print(f"LESS CAUTIOUS ({wrong}): {what}")
        return "loads and its alarm is less cautious"
    return "loads, and is as cautious"


if __name__ == "__main__":
    main()
