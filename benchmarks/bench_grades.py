"""Scoring one frame on torch and on ONNX Runtime at each grade, in turns, CPU time of one thread; views and predictor besides.

python benchmarks/bench_grades.py [BUNDLE]     (default: the shipped reference bundle, which must be exported)
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.nets.runtime import Runtime, open_runtime
from donkey_aicc.resources import models_dir
from donkey_aicc.scoring.settings import GRADES, ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer
from donkey_aicc.scoring.tta_views import predict_tta

FRAMES, TURNS = 20, 2


def cost_ms(run: Callable[[], object], repeats: int) -> float:
    """Median CPU time; not the one of `benchmarks.runtime`, which would load torch into the memory that is measured here."""
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(1e3 * (time.process_time() - start))
    return float(np.median(times))


def resident_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as stat:
        return int(stat.read().split()[1]) * 4096 / 1e6


def frame_ms(runtime: Runtime, grade: str, images: np.ndarray) -> float:
    scorer, numbers = StreamScorer(runtime, ScoreSettings().at_grade(grade)), iter(np.arange(10_000) % len(images))

    def step() -> object:
        return scorer.step(images[[next(numbers)]], np.zeros((1, 2)))

    return cost_ms(step, FRAMES)


def main() -> None:
    bundle = sys.argv[1] if len(sys.argv) > 1 else models_dir() / "reference"
    images = np.random.default_rng(0).integers(0, 256, (8, 64, 64, 3), dtype=np.uint8)
    onnx = open_runtime(bundle, "onnx")
    frame_ms(onnx, "light", images)
    predict_tta(onnx, images_to_array(images[:1]), np.random.default_rng(0))
    print(f"memory of this process, ONNX Runtime, grade light: {resident_mb():.0f} MB")
    frame_ms(onnx, "full", images)
    print(f"memory of this process, ONNX Runtime, grade full: {resident_mb():.0f} MB")
    runtimes = {"onnx": onnx, "torch": open_runtime(bundle, "torch")}
    one = images_to_array(images[:1])
    taken: dict[tuple[str, str], list[float]] = {}
    for _ in range(TURNS):
        for name, runtime in runtimes.items():
            views = cost_ms(lambda runtime=runtime: predict_tta(runtime, one, np.random.default_rng(0)), FRAMES)
            taken.setdefault((name, "predictor, 9 views"), []).append(views)
            for grade in GRADES:
                taken.setdefault((name, f"grade {grade}"), []).append(frame_ms(runtime, grade, images))
    for what in ("predictor, 9 views", *(f"grade {grade}" for grade in GRADES)):
        ours, theirs = (float(np.median(taken[name, what])) for name in ("onnx", "torch"))
        print(f"{what:<19} ONNX Runtime {ours:6.1f} ms, torch {theirs:6.1f} ms a frame: {theirs / ours:.1f} times")


if __name__ == "__main__":
    main()
