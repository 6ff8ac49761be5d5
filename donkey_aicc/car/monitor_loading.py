"""The models of this drive: the bundle, what runs it, and a calibrator for every grade that the drive may come to.

Which grade of scoring this computer can do is measured at the start, with the nets that will drive.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.bundles import bundle_path
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import IMAGE_SIZE
from donkey_aicc.scoring.settings import FULL, ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer
from donkey_aicc.scoring.tta_views import predict_tta

if TYPE_CHECKING:
    from donkey_aicc.calibration.base import Calibrator
    from donkey_aicc.parts.world_model_scorer import WorldModelScorer

logger = logging.getLogger(__name__)

SHARE_OF_TICK = 0.5  # that scoring one frame may take
MEASURED_FRAMES = 8
MOST_S = 0.4  # of measuring one grade
_WARM_UP = 2  # frames: the first ones also load the nets


def frame_ms(bundle: Bundle, settings: ScoreSettings) -> float:
    """Milliseconds of the wall clock that one frame of scoring takes now; the median of a few, since others interrupt."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (_WARM_UP + MEASURED_FRAMES, 1, IMAGE_SIZE, IMAGE_SIZE, 3), dtype=np.uint8)
    scorer, action, took = StreamScorer(bundle, settings), np.zeros((1, 2)), []
    began = time.perf_counter()
    for number, image in enumerate(images):
        start = time.perf_counter()
        scorer.step(image, action)
        if number >= _WARM_UP:
            took.append(time.perf_counter() - start)
            if time.perf_counter() - began > MOST_S:
                break
    return 1e3 * float(np.median(took))


def prediction_ms(bundle: Bundle, views: int) -> float:
    """Milliseconds of the wall clock that one prediction takes. It also loads the net and draws the views' noise."""
    shape, took = (1, bundle.input_channels, IMAGE_SIZE, IMAGE_SIZE), []
    for _ in range(_WARM_UP + MEASURED_FRAMES):
        start = time.perf_counter()
        predict_tta(bundle, np.zeros(shape, dtype=np.float32), np.random.default_rng(0), views)
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


def choose_grade(bundle: Bundle, grades: Sequence[ScoreSettings], tick_s: float) -> GradeChoice:
    """The best of the grades (best first) that fits in its share of the tick, the last if none does. Loads the nets, too."""
    most_ms = 1e3 * SHARE_OF_TICK * tick_s
    measured: dict[str, float] = {}
    for settings in reversed(grades):  # the cheapest first: where that is too slow already, the others need no measuring
        measured[settings.grade] = frame_ms(bundle, settings)
        if measured[settings.grade] > most_ms:
            break
    fitting = [each.grade for each in grades if measured.get(each.grade, np.inf) <= most_ms]
    return GradeChoice((fitting or [grades[-1].grade])[0], measured, 1e3 * tick_s, len(grades) == 1)


@dataclass(frozen=True)
class Monitor:
    """What was loaded."""

    bundle: Bundle
    settings: ScoreSettings  # at which it starts
    calibrator: "Calibrator | None"
    lower: tuple["Calibrator", ...] = ()  # of the grades that it may step down to
    grade_said: str = ""  # the grade and why, for a person

    def by_grade(self, make: Callable[[Any], Any], scorer: "WorldModelScorer") -> Any:
        """A part around the calibrator of the grade that the scorer has; without lower grades just that part."""
        if not self.lower:
            return make(self.calibrator)
        from donkey_aicc.parts.monitor_status import ByGrade

        every = (self.calibrator, *self.lower)
        return ByGrade({each.settings.grade: make(each) for each in every if each is not None}, lambda: scorer.grade)


def load_monitor(car: Assembly) -> Monitor | None:
    """The models that AICC_BUNDLE names; None without one."""
    if car.config.models is None:
        return None
    from donkey_aicc.alarm.can_speak import check_can_speak
    from donkey_aicc.nets.signature import check_signature

    config, path = car.config, bundle_path(car.config.models)
    if config.trusted_key is not None:
        check_signature(path, config.trusted_key)
    bundle = Bundle.load(path, config.scorer_threads, config.control_threads)
    calibrators = _calibrators(bundle, config)
    for calibrator in calibrators:
        if calibrator.alarm is not None:
            check_can_speak(calibrator.alarm, bundle)
    grades = [calibrator.settings for calibrator in calibrators] or [_settings_without_calibrator(config, bundle)]
    grade, said = _start_at(car, bundle, grades)
    number = [settings.grade for settings in grades].index(grade)
    first, lower = (calibrators[number], calibrators[number + 1 :]) if calibrators else (None, [])
    return Monitor(bundle, grades[number], first, tuple(lower) if _may_step_down(config) else (), said)


def _calibrators(bundle: Bundle, config: AiccConfig) -> "list[Calibrator]":
    """One per grade that this drive may use, the best first."""
    from donkey_aicc.calibration.calibrator_file import fitted_grades, load_calibrator

    if not bundle.calibrator_path.is_file():
        print(f"{bundle.path} has no calibrator: confidence stays at 0.5 or below. Make one with: donkey-aicc calibrate")
        return []
    wanted = fitted_grades(bundle) if config.grade is None else (config.grade,)
    return [load_calibrator(bundle, grade) for grade in wanted]


def _settings_without_calibrator(config: AiccConfig, bundle: Bundle) -> ScoreSettings:
    return ScoreSettings(context=bundle.manifest.context).at_grade(config.grade or FULL)


def _may_step_down(config: AiccConfig) -> bool:
    return config.grade is None and config.scorer_threaded


def _start_at(car: Assembly, bundle: Bundle, grades: list[ScoreSettings]) -> tuple[str, str]:
    """The grade to start with, and the sentence about it. Every net has run once after it, so no tick pays for loading.

    A drive with the scorer in its loop has all the time it needs; so it keeps the best.
    """
    if bundle.has_predictor:
        prediction_ms(bundle, grades[0].views)
    if not car.config.scorer_threaded:
        return grades[0].grade, f"grade {grades[0].grade}"
    if not car.cfg.DRIVE_LOOP_HZ > 0.0:
        raise ConfigError(f"DRIVE_LOOP_HZ must be > 0, got {car.cfg.DRIVE_LOOP_HZ!r}")
    choice = choose_grade(bundle, grades, 1.0 / car.cfg.DRIVE_LOOP_HZ)
    if choice.too_slow:
        logger.warning(choice.too_slow)
    return choice.grade, f"{choice}{', fixed by AICC_GRADE' if car.config.grade is not None else ''}"
