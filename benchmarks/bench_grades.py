"""What one frame costs: every grade, a cold start, and one view at a time; in one run and in turns.

    python -m benchmarks.bench_grades [BUNDLE] [--json studies/results/grade_times.json]

The default is the shipped reference bundle. --json keeps the times for the results page.

CPU time of one thread, the median of some frames in some turns: the speed of a shared machine changes from one second to the
next, and other work on it would distort the wall clock. The grades are the paper's (20 samples, 50 steps, every 10 frames).
Beside the milliseconds stands what travels from machine to machine: the multiply-adds of the nets, and their share of what this
machine's matrix product does in the same time, measured in the same run.
"""

import argparse
import os
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.bench_scoring import made_up_drive
from benchmarks.cold_start import cold_start_scores
from benchmarks.multiply_adds import Counted, peak_per_s
from benchmarks.runtime import cost_ms
from donkey_aicc.files import write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.resources import models_dir
from donkey_aicc.scoring.settings import FULL, GRADES, LIGHT, ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer
from donkey_aicc.scoring.tta_views import FACTOR_RANGE, NOISE_SIGMA_MAX, VIEWS, predict_tta, sigmoid

FRAMES, TURNS = 20, 3
LIGHT_LIMIT_MS, FULL_LIMIT_MS = 8.0, 45.0
PREDICTION, OURS = "prediction, nine views", "ours"
GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)[:, None, None]


def grade_ms(bundle: Bundle, grade: str, images: np.ndarray) -> float:
    scorer, numbers = StreamScorer(bundle, ScoreSettings().at_grade(grade)), iter(np.arange(10_000) % len(images))
    return cost_ms(lambda: scorer.step(images[[next(numbers)]], np.zeros((1, 2))), FRAMES)


def prediction_ms(bundle: Bundle, image: np.ndarray) -> float:
    return cost_ms(lambda: predict_tta(bundle, image, np.random.default_rng(0)), FRAMES)


def view_at_a_time(bundle: Bundle, image: np.ndarray) -> np.ndarray:
    """The same as `predict_tta` written down straight: alter the picture, draw its noise, predict, nine times."""
    rng, found = np.random.default_rng(0), []
    for number in range(VIEWS):
        view = image
        if number:
            contrast, saturation = rng.uniform(*FACTOR_RANGE, size=2)
            grey = (GREY * view).sum(axis=1, keepdims=True)
            view = grey.mean() + contrast * (grey + saturation * (view - grey) - grey.mean())
            view = np.clip(view + rng.uniform(0.0, NOISE_SIGMA_MAX) * rng.standard_normal(view.shape), 0.0, 1.0)
        found.append(sigmoid(bundle.predict(view.astype(np.float32))[1]))
    return np.mean(found, axis=0)


def million_multiply_adds(path: str) -> dict[str, float]:
    """What is done -> of its nets, a frame."""
    counted = Counted(bundle := Bundle.load(path))
    images, one = made_up_drive(FRAMES, 0).images, images_to_array(made_up_drive(FRAMES, 0).images[:1])
    found = {PREDICTION: counted.per_call(lambda: predict_tta(bundle, one, np.random.default_rng(0)), 1)}
    for grade in GRADES:
        scorer, numbers = StreamScorer(bundle, ScoreSettings().at_grade(grade)), iter(range(FRAMES))
        call = partial(lambda scorer, numbers: scorer.step(images[[next(numbers)]], np.zeros((1, 2))), scorer, numbers)
        found[f"grade {grade}"] = counted.per_call(call, FRAMES)
    return {what: value / 1e6 for what, value in found.items()}


def candidates(path: str) -> dict[str, dict[str, Callable[[], float]]]:
    """What is done -> how -> milliseconds."""
    settings, drive, bundle = ScoreSettings(), made_up_drive(ScoreSettings().context + 1, 0), Bundle.load(path)
    images, one = drive.images[:FRAMES], images_to_array(drive.images[:1])
    found: dict[str, dict[str, Callable[[], float]]] = {PREDICTION: {OURS: lambda: prediction_ms(bundle, one)}}
    found |= {f"grade {grade}": {OURS: lambda grade=grade: grade_ms(bundle, grade, images)} for grade in reversed(GRADES)}
    found[PREDICTION]["a view at a time"] = lambda: cost_ms(lambda: view_at_a_time(bundle, one), FRAMES)
    cold = partial(cold_start_scores, bundle, drive, settings.context, settings)
    found[f"grade {FULL}"]["cold start"] = lambda: cost_ms(cold, 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", default=str(models_dir() / "reference"))
    parser.add_argument("--json", metavar="FILE", help="also write our times here")
    args = parser.parse_args()
    measures = candidates(args.bundle)
    print(f"load before: {os.getloadavg()[0]:.1f}; CPU milliseconds a frame on one thread, and the ratio to ours:")
    turns, peaks = [], []
    for _ in range(TURNS):
        turns.append({what: {who: run() for who, run in each.items()} for what, each in measures.items()})
        peaks.append(peak_per_s())
    work, peak = million_multiply_adds(args.bundle), float(np.median(peaks))
    for what, each in measures.items():
        ms = {who: float(np.median([turn[what][who] for turn in turns])) for who in each}
        for who, value in ms.items():
            share = f", {work[what]:.1f} million multiply-adds, {1e9 * work[what] / value / peak:.0%} of the peak"
            print(f"{what:<23} {who:<20} {value:8.1f} ms {value / ms[OURS]:7.1f} times{share if who == OURS else ''}")
    ours = {what: float(np.median([turn[what][OURS] for turn in turns])) for what in measures}
    light, full = ours[f"grade {LIGHT}"] + ours[PREDICTION], ours[f"grade {FULL}"]
    print(f"peak of this machine, one thread: {peak / 1e9:.1f} thousand million multiply-adds a second")
    for what, value, limit in (("grade light with the prediction", light, LIGHT_LIMIT_MS), ("grade full", full, FULL_LIMIT_MS)):
        print(f"{what}: {value:.1f} ms, wanted at most {limit:g} ms: {'met' if value <= limit else 'NOT met'}")
    if args.json:
        grades = {grade: round(ours[f"grade {grade}"], 1) for grade in GRADES}
        write_json(args.json, {"grades_ms": grades, "prediction_ms": round(ours[PREDICTION], 1)})


if __name__ == "__main__":
    main()
