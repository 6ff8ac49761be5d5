"""Which grade of scoring this computer can do: measured at start, with the nets that will drive."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from donkey_aicc.nets.history import input_channels
from donkey_aicc.nets.preprocess import IMAGE_SIZE
from donkey_aicc.nets.runtime import Runtime
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer
from donkey_aicc.scoring.tta_views import predict_tta

SHARE_OF_TICK = 0.5  # that scoring one frame may take
MEASURED_FRAMES = 8
MOST_S = 0.4  # of measuring one grade
_WARM_UP = 2  # frames: the first ones also load the nets


def frame_ms(runtime: Runtime, settings: ScoreSettings) -> float:
    """Milliseconds of the wall clock that one frame of scoring takes now; the median of a few, since others interrupt."""
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


def prediction_ms(runtime: Runtime, views: int) -> float:
    """Milliseconds of the wall clock that one prediction takes. It also loads the net and draws the views' noise."""
    shape, took = (1, input_channels(runtime.lags), IMAGE_SIZE, IMAGE_SIZE), []
    for _ in range(_WARM_UP + MEASURED_FRAMES):
        start = time.perf_counter()
        predict_tta(runtime, np.zeros(shape, dtype=np.float32), np.random.default_rng(0), views)
        took.append(time.perf_counter() - start)
    return 1e3 * float(np.median(took[_WARM_UP:]))


@dataclass(frozen=True)
class GradeChoice:
    """The grade to drive with, and why."""

    grade: str
    measured_ms: dict[str, float]  # by grade, of those that were measured
    tick_ms: float
    alone: bool  # there was nothing to choose from

    @property
    def fits(self) -> bool:
        return self.measured_ms[self.grade] <= SHARE_OF_TICK * self.tick_ms

    @property
    def too_slow(self) -> str:
        """What to tell a person where even the chosen grade takes more than its share; else empty."""
        if self.fits:
            return ""
        which = "the only one fitted" if self.alone else "the lowest"
        takes = f"grade {self.grade}, {which}, takes {self.measured_ms[self.grade]:.0f} ms of a tick of {self.tick_ms:.0f}"
        return f"{takes}, more than half: this computer may skip frames"

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} {ms:.0f} ms" for name, ms in self.measured_ms.items())
        return f"grade {self.grade}, measured {numbers} a frame of {self.tick_ms:.0f}"


def choose_grade(runtime: Runtime, grades: Sequence[ScoreSettings], tick_s: float) -> GradeChoice:
    """The best of the grades (best first) that fits in its share of the tick, the last if none does. Loads the nets, too."""
    most_ms = 1e3 * SHARE_OF_TICK * tick_s
    measured: dict[str, float] = {}
    for settings in reversed(grades):  # the cheapest first: where that is too slow already, the others need no measuring
        measured[settings.grade] = frame_ms(runtime, settings)
        if measured[settings.grade] > most_ms:
            break
    fitting = [each.grade for each in grades if measured.get(each.grade, np.inf) <= most_ms]
    return GradeChoice((fitting or [grades[-1].grade])[0], measured, 1e3 * tick_s, len(grades) == 1)
