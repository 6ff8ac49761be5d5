"""What a fitted calibrator must mean, probed on a grid: a file can hold the right types and still turn confidence round.

A monitor that says "sure" where it should say "careful" is worse than none, so the car refuses such a file at the start.
"""

import itertools
from collections.abc import Iterable
from dataclasses import fields

import numpy as np

from donkey_aicc.calibration.alarm import AlarmModel
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.density import FeatureDensity
from donkey_aicc.calibration.mahalanobis import MahalanobisScore
from donkey_aicc.calibration.scores_only import ScoresOnly
from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.errors import AiccError

PROBABILITIES = np.array([0.001, 0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98, 0.999])
LEVELS = (0.0, 0.5, 1.0)
MOST_SCORES_ON_THE_GRID = 4  # 3 levels each; further scores are raised one at a time
SLACK = 1e-9

MOST_INVERSE = 1e15  # with larger ones no eigenvalue can be found


def check_statistics(statistics: ScoreStatistics) -> None:
    """Means finite, spreads above 0, distances that cannot be negative."""
    for field in fields(statistics):
        part = getattr(statistics, field.name)
        if part is None or isinstance(part, int | float):
            continue
        for name, value in vars(part).items():
            if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
                raise AiccError(f"score statistics: {field.name}.{name} must be finite")
        if not part.sigma > 0:
            raise AiccError(f"score statistics: {field.name}.sigma must be > 0, got {part.sigma}")
        if isinstance(part, MahalanobisScore):
            _check_distance(field.name, part)
        if isinstance(part, FeatureDensity) and not (part.neighbours >= 1 and part.references.ndim == 2 and len(part.references)):
            raise AiccError(f"score statistics: {field.name} needs neighbours >= 1 and a table of references")


def _check_distance(name: str, part: MahalanobisScore) -> None:
    size = part.mean.size
    shapes = (part.mean.shape, part.scale.shape, part.inverse.shape)
    if shapes != ((size,), (size,), (size, size)):
        raise AiccError(f"score statistics: {name} has shapes {shapes} that do not belong together")
    if not (part.scale > 0).all():
        raise AiccError(f"score statistics: {name}.scale must be > 0, got {part.scale.min():g}")
    largest = np.abs(part.inverse).max(initial=0.0)
    if not largest <= MOST_INVERSE:
        raise AiccError(f"score statistics: {name}.inverse must hold numbers up to {MOST_INVERSE:g}, got {largest:g}")
    least = np.linalg.eigvalsh((part.inverse + part.inverse.T) / 2.0).min() if size else 0.0
    if least < -1e-6 * max(1.0, largest):
        raise AiccError(f"score statistics: {name}.inverse must give distances >= 0, its least eigenvalue is {least:.3g}")


def check_alarm(alarm: AlarmModel, steps: list[int]) -> None:
    """Thresholds finite, a hazard that falls neither with the horizon nor with evidence, distances that cannot be negative."""
    alarm.check()
    cloud = alarm.scales.cloud
    if cloud is not None:
        if not all(np.isfinite(values).all() for values in (cloud.mean, cloud.scale, cloud.inverse)):
            raise AiccError("the alarm's cloud of nominal pictures must be finite")
        _check_distance("the alarm's cloud", cloud)
    if alarm.hazard is not None and list(alarm.hazard.horizons) != steps:
        raise AiccError(f"the hazard is for the horizons {list(alarm.hazard.horizons)}, the bundle's are {steps}")


def check_meaning(calibrator: Calibrator, horizons: Iterable[int]) -> None:
    """Refuse confidence that is not a probability, falls while p rises, or rises with an anomaly where p says safe."""
    if calibrator.statistics is not None:
        check_statistics(calibrator.statistics)
    elif calibrator.score_names:
        raise AiccError(f"the scores {', '.join(calibrator.score_names)} need statistics, got none")
    steps = [int(horizon) for horizon in horizons]
    if calibrator.alarm is not None:
        check_alarm(calibrator.alarm, steps)
    if isinstance(calibrator, ScoresOnly):
        return  # it gives no confidence
    p = np.repeat(PROBABILITIES[:, None], len(steps), axis=1)
    calm = _confidence(calibrator, p, dict.fromkeys(calibrator.score_names, 0.0), steps)
    safe = PROBABILITIES > 0.5
    for levels in _grid(calibrator.score_names):
        confidence = _confidence(calibrator, p, levels, steps)
        said = ", ".join(f"{name} = {level:g}" for name, level in levels.items()) or "no score"
        if not (np.isfinite(confidence).all() and confidence.min() >= 0.0 and confidence.max() <= 1.0):
            raise AiccError(f"confidence must be a number in 0..1, got {_worst(confidence)} at {said}")
        falls = np.diff(confidence, axis=0).min()
        if falls < -SLACK:
            raise AiccError(f"confidence must not fall while the predicted probability rises, fell by {-falls:.3g} at {said}")
        raised = (confidence - calm)[safe].max()
        if raised > SLACK:
            raise AiccError(
                f"an anomaly must not raise the confidence of a frame predicted safe, raised it by {raised:.3g} at {said}"
            )


def _confidence(calibrator: Calibrator, p: np.ndarray, levels: dict[str, float], steps: list[int]) -> np.ndarray:
    scores = {name: np.full(len(p), level) for name, level in levels.items()}
    with np.errstate(all="ignore"):  # what overflows is refused by its result
        return np.asarray(calibrator.calibrate_all(p, scores, steps))


def _grid(names: tuple[str, ...]) -> Iterable[dict[str, float]]:
    if len(names) <= MOST_SCORES_ON_THE_GRID:
        return [dict(zip(names, levels, strict=True)) for levels in itertools.product(LEVELS, repeat=len(names))]
    single = [{other: level if other == name else 0.0 for other in names} for name in names for level in LEVELS]
    return [*single, dict.fromkeys(names, 1.0)]


def _worst(confidence: np.ndarray) -> float:
    bad = confidence[~((confidence >= 0.0) & (confidence <= 1.0))]
    return float(bad.flat[0])
