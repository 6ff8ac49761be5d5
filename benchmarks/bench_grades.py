"""What one frame costs: ONNX Runtime and torch at every grade, a cold start, and one view at a time; in one run and in turns.

    python -m benchmarks.bench_grades [BUNDLE] [--json studies/results/grade_times.json]

The default is the shipped reference bundle; another one must be exported. --json keeps the times for the results page.

CPU time of one thread, the median of some frames in some turns: the speed of a shared machine changes from one second to the
next, and other work on it would distort the wall clock. The grades are the paper's (20 samples, 50 steps, every 10 frames).
"""

import argparse
import copy
import os
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.bench_scoring import made_up_drive
from benchmarks.cold_start import cold_start_scores
from benchmarks.runtime import cost_ms
from donkey_aicc.files import write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.nets.runtime import Runtime, open_runtime
from donkey_aicc.resources import models_dir
from donkey_aicc.scoring.settings import FULL, GRADES, LIGHT, ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer
from donkey_aicc.scoring.tta_views import FACTOR_RANGE, NOISE_SIGMA_MAX, VIEWS, predict_tta

FRAMES, TURNS = 20, 3
LIGHT_LIMIT_MS, FULL_LIMIT_MS = 8.0, 45.0
PREDICTION = "prediction, nine views"
GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)[:, None, None]


def grade_ms(runtime: Runtime, grade: str, images: np.ndarray) -> float:
    scorer, numbers = StreamScorer(runtime, ScoreSettings().at_grade(grade)), iter(np.arange(10_000) % len(images))
    return cost_ms(lambda: scorer.step(images[[next(numbers)]], np.zeros((1, 2))), FRAMES)


def prediction_ms(runtime: Runtime, image: np.ndarray) -> float:
    return cost_ms(lambda: predict_tta(runtime, image, np.random.default_rng(0)), FRAMES)


@torch.inference_mode()
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
        found.append(torch.sigmoid(bundle.safety(torch.from_numpy(view.astype(np.float32)))).numpy())
    return np.mean(found, axis=0)


def candidates(path: str) -> dict[str, dict[str, Callable[[], float]]]:
    """What is done -> by whom -> milliseconds."""
    settings, drive, bundle = ScoreSettings(), made_up_drive(ScoreSettings().context + 1, 0), Bundle.load(path)
    plain = copy.copy(bundle)
    plain.dynamics = copy.deepcopy(bundle.dynamics)
    plain.dynamics.convolve_directly()
    images, one = drive.images[:FRAMES], images_to_array(drive.images[:1])
    runtimes = {"ONNX Runtime": open_runtime(path, "onnx"), "torch": open_runtime(path, "torch")}
    found: dict[str, dict[str, Callable[[], float]]] = {PREDICTION: {}} | {f"grade {grade}": {} for grade in reversed(GRADES)}
    for name, runtime in runtimes.items():
        found[PREDICTION][name] = lambda runtime=runtime: prediction_ms(runtime, one)
        for grade in GRADES:
            found[f"grade {grade}"][name] = lambda runtime=runtime, grade=grade: grade_ms(runtime, grade, images)
    found[PREDICTION]["torch, a view at a time"] = lambda: cost_ms(lambda: view_at_a_time(bundle, one), FRAMES)
    for name, nets in (("cold start, fast convolutions", bundle), ("cold start, plain convolutions", plain)):
        found[f"grade {FULL}"][name] = lambda nets=nets: cost_ms(
            lambda: cold_start_scores(nets, drive, settings.context, settings), 1
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", default=str(models_dir() / "reference"))
    parser.add_argument("--json", metavar="FILE", help="also write the times with ONNX Runtime here")
    args = parser.parse_args()
    torch.set_num_threads(1)
    measures = candidates(args.bundle)
    print(f"load before: {os.getloadavg()[0]:.1f}; CPU milliseconds a frame on one thread, and the ratio to ONNX Runtime:")
    turns = [{what: {who: run() for who, run in each.items()} for what, each in measures.items()} for _ in range(TURNS)]
    for what, each in measures.items():
        ms = {who: float(np.median([turn[what][who] for turn in turns])) for who in each}
        for who, value in ms.items():
            print(f"{what:<23} {who:<31} {value:8.1f} ms {value / ms['ONNX Runtime']:7.1f} times")
    ours = {what: float(np.median([turn[what]["ONNX Runtime"] for turn in turns])) for what in measures}
    light, full = ours[f"grade {LIGHT}"] + ours[PREDICTION], ours[f"grade {FULL}"]
    for what, value, limit in (("grade light with the prediction", light, LIGHT_LIMIT_MS), ("grade full", full, FULL_LIMIT_MS)):
        print(f"{what}: {value:.1f} ms, wanted at most {limit:g} ms: {'met' if value <= limit else 'NOT met'}")
    if args.json:
        grades = {grade: round(ours[f"grade {grade}"], 1) for grade in GRADES}
        write_json(args.json, {"grades_ms": grades, "prediction_ms": round(ours[PREDICTION], 1)})


if __name__ == "__main__":
    main()
