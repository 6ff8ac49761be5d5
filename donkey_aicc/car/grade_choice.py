"""Which grade of scoring this computer can do: measured at start, with the nets that will drive."""

import time
from collections.abc import Sequence

import numpy as np

from donkey_aicc.nets.preprocess import IMAGE_SIZE
from donkey_aicc.nets.runtime import Runtime
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer

SHARE_OF_TICK = 0.5  # that scoring one frame may take
MEASURED_FRAMES = 8
MOST_S = 0.4  # of measuring one grade
_WARM_UP = 2  # frames: the first ones also load the nets


def frame_ms(runtime: Runtime, settings: ScoreSettings) -> float:
    """Milliseconds of the wall clock that one frame of scoring takes now; the best of a few, since others interrupt."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (_WARM_UP + MEASURED_FRAMES, 1, IMAGE_SIZE, IMAGE_SIZE, 3), dtype=np.uint8)
    scorer, action, took = StreamScorer(runtime, settings), np.zeros((1, 2)), []
    began = time.perf_counter()
    for number, image in enumerate(images):
        start = time.perf_counter()
        scorer.step(image, action)
        if number >= _WARM_UP:
            took.append(time.perf_counter() - start)
            if time.perf_counter() - began > MOST_S:
                break
    return 1e3 * float(np.median(took))


def best_grade(runtime: Runtime, grades: Sequence[ScoreSettings], tick_s: float) -> tuple[str, dict[str, float]]:
    """The best of the grades (best first) that fits in its share of the tick, the last if none does, and what was measured."""
    measured: dict[str, float] = {}
    for settings in reversed(grades):  # the cheapest first: where that is too slow already, the others need no measuring
        measured[settings.grade] = frame_ms(runtime, settings)
        if measured[settings.grade] > 1e3 * SHARE_OF_TICK * tick_s:
            break
    fitting = [each.grade for each in grades if measured.get(each.grade, np.inf) <= 1e3 * SHARE_OF_TICK * tick_s]
    return (fitting or [grades[-1].grade])[0], measured
