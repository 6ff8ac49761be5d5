"""calibrator.json in a bundle's folder: the fitted calibrator, how it was made, and which bundle it belongs to.

What is loaded must also mean something: a file can hold the right types and still turn confidence round, so a calibrator is
probed on a grid. A monitor that says "sure" where it should say "careful" is worse than none: the car refuses it at the start.
"""

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel
from donkey_aicc.calibration.base import Calibrator, ScoresOnly
from donkey_aicc.calibration.catalogue import calibrator_from_json
from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.files import write_json
from donkey_aicc.scoring.nominal_distance import FeatureDensity, MahalanobisScore
from donkey_aicc.scoring.settings import FULL, GRADES, ScoreSettings
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.untrusted import read_untrusted_json

if TYPE_CHECKING:
    from donkey_aicc.nets.runtime import BundleFolder

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


AGAIN = "make it again with: donkey-aicc calibrate --bundle {folder} --data TUBS"


def weights_fingerprint(bundle: "BundleFolder") -> str:
    """One hash over the weights of all nets: scores of another bundle mean nothing to this one's calibrator."""
    hashes = "".join(f"{name}:{entry['sha256']}" for name, entry in sorted(bundle.manifest.files.items()))
    return hashlib.sha256(hashes.encode()).hexdigest()


def save_calibrator(bundle: "BundleFolder", calibrators: Calibrator | Sequence[Calibrator], about: dict[str, Any]) -> Path:
    """Write the file, one calibrator for each grade of its settings; `about` is for people (fit, weights, D_aug strengths)."""
    every = [calibrators] if isinstance(calibrators, Calibrator) else calibrators
    grades = {calibrator.settings.grade: calibrator.to_json() for calibrator in every}
    write_json(bundle.calibrator_path, {"bundle": weights_fingerprint(bundle), "about": about, "grades": grades})
    return bundle.calibrator_path


def read_calibrator_file(bundle: "BundleFolder") -> dict[str, Any]:
    """The stored dictionary, checked against the bundle; raises AiccError when missing, damaged or another bundle's."""
    path = bundle.calibrator_path
    again = AGAIN.format(folder=bundle.path)
    try:
        stored = read_untrusted_json(path)
    except FileNotFoundError:
        raise AiccError(f"bundle {bundle.path} has no calibrator; {again}") from None
    except (OSError, AiccError) as error:
        raise AiccError(f"{path} is damaged ({error}); {again}") from error
    if not isinstance(stored, dict):
        raise AiccError(f"{path} is damaged (not a table); {again}")
    if stored.get("bundle") != weights_fingerprint(bundle):
        raise AiccError(f"{path} was fitted for a bundle with other weights; {again}")
    return stored


def load_calibrator(bundle: "BundleFolder", grade: str | None = None) -> Calibrator:
    """The bundle's fitted calibrator of that grade, or of its best one; `.settings` says how its scores are to be computed.

    One whose numbers would turn the meaning of confidence round is refused.
    """
    grades = _by_grade(bundle, read_calibrator_file(bundle))
    grade = grade or next((each for each in GRADES if each in grades), FULL)
    one_of("grade", grade, GRADES)
    again = AGAIN.format(folder=bundle.path)
    if grade not in grades:
        raise AiccError(f"{bundle.calibrator_path} has no grade {grade}, only {', '.join(grades)}; {again}")
    try:
        calibrator = calibrator_from_json(grades[grade])
        check_meaning(calibrator, bundle.horizons)
    except AiccError as error:
        raise AiccError(f"{bundle.calibrator_path}: {error}; {again}") from error
    return calibrator


def fitted_grades(bundle: "BundleFolder") -> tuple[str, ...]:
    """The grades that `load_calibrator` can give, best first."""
    found = _by_grade(bundle, read_calibrator_file(bundle))
    return tuple(grade for grade in GRADES if grade in found)


def score_settings(bundle: "BundleFolder", grade: str | None = None) -> ScoreSettings:
    """How to score with this bundle: as its calibrator was fitted, or with the defaults if it has none."""
    if bundle.calibrator_path.is_file():
        return load_calibrator(bundle, grade).settings
    return ScoreSettings(context=bundle.manifest.context).at_grade(grade or FULL)


def _by_grade(bundle: "BundleFolder", stored: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(stored.get("grades"), dict):
        raise AiccError(f"{bundle.calibrator_path} is damaged (grades is not a table); {AGAIN.format(folder=bundle.path)}")
    return stored["grades"]
