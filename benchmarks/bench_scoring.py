"""Scoring on one thread: each part and a batch. bench_grades.py has the ratios to cold starts.

    python -m benchmarks.bench_scoring [BUNDLE TUB...]

The default is the shipped reference bundle; the frames are made up, the cost is the same. With nominal tubs it also measures
what the living states' longer memory changes. Times are this process's own CPU time, because other work on the machine
would distort the wall clock.
"""

import sys
import time

import numpy as np

from benchmarks.cold_start import memory_difference
from benchmarks.runtime import cost_ms, step_ms
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.resources import models_dir
from donkey_aicc.scoring.batch_scoring import McDropout
from donkey_aicc.scoring.control_features import ControlFeatures
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.settings import BatchSettings, ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer
from donkey_aicc.scoring.tta_views import predict_tta, tta_views
from donkey_aicc.scoring.world_model_anomaly import PerceptionScore
from donkey_aicc.tubs.drive import Drive, make_drive
from donkey_aicc.tubs.load import load_drives

SETTINGS, LANES = ScoreSettings(), BatchSettings().lanes


def made_up_drive(frames: int, number: int) -> Drive:
    rng = np.random.default_rng(number)
    images = rng.integers(0, 256, (frames, 64, 64, 3), dtype=np.uint8)
    return make_drive(f"made up {number}", "s", images, rng.uniform(-1, 1, (frames, 2)))


def print_parts(bundle: Bundle, drive: Drive) -> None:
    image, dropout = images_to_array(drive.images[:1]), McDropout(bundle)
    randomness, rng = FrameRandomness(0, SETTINGS.samples), np.random.default_rng(0)
    perception, control = PerceptionScore(bundle, 1, SETTINGS.context), ControlFeatures(1, SETTINGS.context)
    for _ in range(SETTINGS.context):
        control.update(rng.normal(size=1), rng.normal(size=1))
    parts = {
        "encode, decode, rho": cost_ms(lambda: perception.update(image), 15),
        "nine control features": cost_ms(lambda: control.update(rng.normal(size=1), rng.normal(size=1)), 50),
        f"dynamics step of {SETTINGS.samples} samples": step_ms(bundle, SETTINGS.samples, 15),
        "nine TTA views": cost_ms(lambda: tta_views(image, randomness.tta(0)), 30),
        "views and predictor": cost_ms(lambda: predict_tta(bundle, image, randomness.tta(0)), 30),
        "MC dropout of the predictor": cost_ms(lambda: dropout.spread(image, randomness.tta(0)), 30),
    }
    for name, ms in parts.items():
        print(f"scoring part: {name:30s} {ms:8.2f} ms")


def stream_ms(bundle: Bundle, drives: list[Drive], frames: int) -> float:
    """Amortised ms per frame of the scores alone (no predictor), all drives as lanes of one stream."""
    scorer = StreamScorer(bundle, SETTINGS, lanes=len(drives))
    start = 0.0
    for t in range(frames + 1):
        if t == 1:  # frame 0 warms up; then whole periods of the rollout
            start = time.process_time()
        scorer.step(np.stack([drive.images[t] for drive in drives]), np.stack([drive.actions[t] for drive in drives]))
    return 1e3 * (time.process_time() - start) / (frames * len(drives))


def main() -> None:
    drives = [made_up_drive(SETTINGS.context + 1, number) for number in range(LANES)]
    bundle = Bundle.load(sys.argv[1] if len(sys.argv) > 1 else models_dir() / "reference")
    print_parts(bundle, drives[0])
    print(f"scores, batch of {LANES} lanes: {stream_ms(bundle, drives, SETTINGS.rollout_every):.1f} ms a frame")
    start = time.process_time()
    score_drives(bundle, [drive.part(0, 20) for drive in drives])
    rate = 20 * len(drives) / (time.process_time() - start)
    print(f"batch with predictor, TTA and MC dropout: {rate:.1f} frames per CPU second on one thread")
    if len(sys.argv) > 2:
        nominal = load_drives(sys.argv[2:], min_length=SETTINGS.context + 20, tau=None).drives
        print(memory_difference(bundle, nominal, score_drives(bundle, nominal), SETTINGS))


if __name__ == "__main__":
    main()
