"""The models of this drive: the bundle, what runs it, and a calibrator for every grade that the drive may come to."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.bundles import bundle_path
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.errors import ConfigError
from donkey_aicc.scoring.settings import FULL, ScoreSettings

if TYPE_CHECKING:
    from donkey_aicc.calibration.base import Calibrator
    from donkey_aicc.nets.bundle_folder import BundleFolder
    from donkey_aicc.nets.runtime import Runtime
    from donkey_aicc.parts.world_model_scorer import WorldModelScorer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Monitor:
    """What was loaded."""

    bundle: "BundleFolder"
    runtime: "Runtime"
    settings: ScoreSettings  # at which it starts
    calibrator: "Calibrator | None"
    lower: tuple["Calibrator", ...] = ()  # of the grades that it may step down to
    grade_said: str = ""  # the grade and why, for a person

    def by_grade(self, make: Callable[[Any], Any], scorer: "WorldModelScorer") -> Any:
        """A part around the calibrator of the grade that the scorer has; without lower grades just that part."""
        if not self.lower:
            return make(self.calibrator)
        from donkey_aicc.parts.by_grade import ByGrade

        every = (self.calibrator, *self.lower)
        return ByGrade({each.settings.grade: make(each) for each in every if each is not None}, lambda: scorer.grade)


def load_monitor(car: Assembly) -> Monitor | None:
    """The models that AICC_BUNDLE names; None without one."""
    if car.config.bundle is None:
        return None
    from donkey_aicc.nets.bundle_folder import BundleFolder
    from donkey_aicc.nets.runtime import open_runtime

    config, path = car.config, bundle_path(car.config.bundle)
    bundle = BundleFolder.open(path)
    runtime = open_runtime(path, config.runtime, config.scorer_threads, config.control_threads)
    calibrators = _calibrators(bundle, config)
    for calibrator in calibrators:
        _refuse_other_settings(config, calibrator)
    grades = [calibrator.settings for calibrator in calibrators] or [_settings_without_calibrator(config, bundle)]
    grade, said = _start_at(car, runtime, grades)
    number = [settings.grade for settings in grades].index(grade)
    first, lower = (calibrators[number], calibrators[number + 1 :]) if calibrators else (None, [])
    return Monitor(bundle, runtime, grades[number], first, tuple(lower) if _may_step_down(config) else (), said)


def _calibrators(bundle: "BundleFolder", config: AiccConfig) -> "list[Calibrator]":
    """One per grade that this drive may use, the best first."""
    from donkey_aicc.calibration.calibrator_file import fitted_grades, load_calibrator

    if not bundle.calibrator_path.is_file():
        print(f"{bundle.path} has no calibrator: confidence stays at 0.5 or below. Make one with: donkey-aicc calibrate")
        return []
    wanted = fitted_grades(bundle) if config.grade is None else (config.grade,)
    return [load_calibrator(bundle, grade) for grade in wanted]


def _settings_without_calibrator(config: AiccConfig, bundle: "BundleFolder") -> ScoreSettings:
    given = {name: value for name, (_, value) in _given(config).items() if value is not None}
    return ScoreSettings(context=bundle.manifest.context, **given).at_grade(config.grade or FULL)


def _given(config: AiccConfig) -> dict[str, tuple[str, Any]]:
    """Setting -> (its key, its value or None), of those that myconfig.py may name."""
    keys = {"views": "tta_views", "samples": "score_samples", "rollout_every": "rollout_every", "seed": "monitor_seed"}
    return {name: (f"AICC_{key.upper()}", getattr(config, key)) for name, key in keys.items()}


def _refuse_other_settings(config: AiccConfig, calibrator: "Calibrator") -> None:
    """The calibrator owns them: the keys of myconfig.py count only where nothing was fitted."""
    given = _given(config)
    if calibrator.settings.grade != FULL:  # its own samples and interval follow from grade full's
        given = {name: value for name, value in given.items() if name in ("views", "seed")}
    calibrator.settings.refuse_others(given)


def _may_step_down(config: AiccConfig) -> bool:
    return config.grade is None and config.scorer_threaded


def _start_at(car: Assembly, runtime: "Runtime", grades: list[ScoreSettings]) -> tuple[str, str]:
    """The grade to start with, and the sentence about it. Every net has run once after it, so no tick pays for loading.

    A drive with the scorer in its loop has all the time it needs; so it keeps the best.
    """
    from donkey_aicc.car.grade_choice import choose_grade, prediction_ms

    if runtime.has_predictor:
        prediction_ms(runtime, grades[0].views)
    if not car.config.scorer_threaded:
        return grades[0].grade, f"grade {grades[0].grade}"
    if not car.cfg.DRIVE_LOOP_HZ > 0.0:
        raise ConfigError(f"DRIVE_LOOP_HZ must be > 0, got {car.cfg.DRIVE_LOOP_HZ!r}")
    choice = choose_grade(runtime, grades, 1.0 / car.cfg.DRIVE_LOOP_HZ)
    if choice.too_slow:
        logger.warning(choice.too_slow)
    return choice.grade, f"{choice}{', fixed by AICC_GRADE' if car.config.grade is not None else ''}"
