"""calibrator.json in a bundle's folder: the fitted calibrator, how it was made, and which bundle it belongs to.

Beside it lies nominal.npz, a few rows of the drives that it was fitted on. What is loaded must also mean something: every kind of
calibrator promises what anomalies do to its confidence by the form of its numbers (`base.Calibrator`), the statistics must fit
the nominal rows, and on them the confidence must not promise more than came true. A monitor that says "sure" where it should say
"careful" is worse than none: the car refuses it at the start.
"""

import hashlib
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator, ScoresOnly
from donkey_aicc.calibration.catalogue import OWN_ROWS, calibrator_from_json
from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.files import sha256_of, write_json
from donkey_aicc.nets.manifest import NOMINAL
from donkey_aicc.scoring.lower_grades import table_at
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import FULL, GRADES, ScoreSettings
from donkey_aicc.untrusted import read_untrusted_json

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

SAMPLE_ROWS = 128  # of nominal drives, kept beside the calibrator
_SLACK = 1e-9
MOST_EXCESS = 0.15  # by which confidence may lie above the truth on so few rows, which come from few drives
AGAIN = "make it again with: donkey-aicc calibrate --bundle {folder} --data TUBS"


def check_meaning(calibrator: Calibrator, sample: ScoreTable) -> None:
    """sample: nominal rows at the calibrator's grade. Refuse numbers that contradict them."""
    if calibrator.alarm is not None:
        calibrator.alarm.check(sample.horizons.tolist())
    if calibrator.statistics is not None:
        calibrator.statistics.check_nominal(sample)
    elif calibrator.score_names:
        raise AiccError(f"the scores {', '.join(calibrator.score_names)} need statistics, got none")
    if not isinstance(calibrator, ScoresOnly):  # which gives no confidence
        check_honest(calibrator.predict(sample), sample.labels)
    if calibrator.name in OWN_ROWS:
        check_promise(calibrator, sample.horizons.tolist())


def check_promise(calibrator: Calibrator, horizons: Sequence[int]) -> None:
    """Somebody's own calibrator promises nothing by its form: try what `Calibrator` promises on a grid of numbers."""
    p, names = np.linspace(0.0, 1.0, 41), calibrator.score_names
    calm = calibrator.calibrate_all(np.tile(p[:, None], len(horizons)), dict.fromkeys(names, np.zeros(len(p))), horizons)
    for corner in itertools.product((0.0, 0.5, 1.0), repeat=len(names)):
        scores = dict(zip(names, (np.full(len(p), value) for value in corner), strict=True))
        found = calibrator.calibrate_all(np.tile(p[:, None], len(horizons)), scores, horizons)
        at = f"calibrator {calibrator.name} at {', '.join(names) or 'any score'} {corner or ''}"
        if not (found.min() >= 0.0 and found.max() <= 1.0):  # also catches NaN
            raise AiccError(f"{at}: confidence must be from 0 to 1, got {found.min():g} to {found.max():g}")
        if (np.diff(found, axis=0) < -_SLACK).any():
            raise AiccError(f"{at}: confidence must never fall as p rises")
        if (found > np.maximum(calm, 0.5) + _SLACK).any():
            raise AiccError(f"{at}: no score may raise the confidence above 1/2 and above its value without anomaly")


def check_honest(confidence: np.ndarray, labels: np.ndarray) -> None:
    """(N, K) of nominal rows, labels NaN where unknown. Refuse one that is surer than right, or finds more frames safe than are.

    Half safe is no claim: a predictor that knows nothing may be brought there, whatever the truth.
    """
    if not np.isfinite(confidence).all() or confidence.min() < 0.0 or confidence.max() > 1.0:
        raise AiccError("confidence of the nominal rows must be numbers in 0..1")
    known = np.isfinite(labels)
    if not known.any():
        return
    said, truth = confidence[known], labels[known] > 0.5
    too_safe = float(said.mean() - max(truth.mean(), 0.5))
    too_sure = float(np.maximum(said, 1.0 - said).mean() - ((said > 0.5) == truth).mean())
    for what, excess in (("the mean confidence", too_safe), ("how sure it is", too_sure)):
        if excess > MOST_EXCESS:
            raise AiccError(
                f"on the nominal rows beside it {what} must be at most {MOST_EXCESS} above the truth, got {excess:.2f}"
            )


def save_calibrator(
    bundle: "Bundle", calibrators: Calibrator | Sequence[Calibrator], about: dict[str, Any], nominal: ScoreTable
) -> Path:
    """Write the files, one calibrator for each grade of its settings.

    about: for people (fit, weights, D_aug strengths). nominal: the table of the fit, of which a sample is kept.
    """
    every = [calibrators] if isinstance(calibrators, Calibrator) else calibrators
    sample = nominal_sample(nominal)
    for calibrator in every:
        check_meaning(calibrator, table_at(sample, calibrator.settings.grade))
    grades = {calibrator.settings.grade: calibrator.to_json() for calibrator in every}
    sample.save(bundle.path / NOMINAL)
    stored = {"bundle": bundle.manifest.fingerprint, "nominal": sha256_of(bundle.path / NOMINAL), "grades": grades}
    write_json(bundle.calibrator_path, stored | {"meaning": meaning_of(stored), "about": about})
    return bundle.calibrator_path


def meaning_of(stored: dict[str, Any]) -> str:
    """One hash over everything in calibrator.json that is not for people only."""
    means = {name: stored.get(name) for name in ("bundle", "nominal", "grades")}
    return hashlib.sha256(json.dumps(means, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def nominal_sample(nominal: ScoreTable) -> ScoreTable:
    """Rows with full context, evenly over the drives."""
    rows = np.flatnonzero(nominal.valid.astype(bool))
    return nominal.select(rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE_ROWS)).astype(np.int64))])


def _load_sample(bundle: "Bundle", stored: dict[str, Any]) -> ScoreTable:
    path = bundle.path / NOMINAL
    if not path.is_file():
        raise AiccError(f"{path} is missing")
    if sha256_of(path) != stored.get("nominal"):
        raise AiccError(f"{path} is not the one that the calibrator was saved with")
    sample = ScoreTable.load(path)
    if not len(sample) or sample.horizons.tolist() != list(bundle.horizons):
        raise AiccError(f"{path} must hold nominal rows at the bundle's horizons")
    return sample


def read_calibrator_file(bundle: "Bundle") -> dict[str, Any]:
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
    if stored.get("bundle") != bundle.manifest.fingerprint:
        raise AiccError(f"{path} was fitted for a bundle with other weights or another manifest; {again}")
    if stored.get("meaning") != meaning_of(stored):
        raise AiccError(f"{path} was changed by hand or damaged: its numbers are not those that were saved; {again}")
    return stored


def load_calibrator(bundle: "Bundle", grade: str | None = None) -> Calibrator:
    """The bundle's fitted calibrator of that grade, or of its best one; `.settings` says how its scores are to be computed.

    One whose numbers would turn the meaning of confidence round is refused.

    Args:
        bundle: a loaded `Bundle` that `donkey-aicc calibrate` has calibrated.
        grade: full, half or light; None: the best that was fitted.

    Example:
        >>> from donkey_aicc import Bundle, load_calibrator
        >>> calibrator = load_calibrator(Bundle.load("reference"))
        >>> surest, strange = ({name: np.full(1, value) for name in calibrator.score_names} for value in (0.0, 1.0))
        >>> bool(calibrator.calibrate(np.array([0.99]), strange, 10) < calibrator.calibrate(np.array([0.99]), surest, 10))
        True
    """
    stored = read_calibrator_file(bundle)
    grades = _by_grade(bundle, stored)
    grade = grade or next((each for each in GRADES if each in grades), FULL)
    one_of("grade", grade, GRADES)
    again = AGAIN.format(folder=bundle.path)
    if grade not in grades:
        raise AiccError(f"{bundle.calibrator_path} has no grade {grade}, only {', '.join(grades)}; {again}")
    try:
        calibrator = calibrator_from_json(grades[grade])
        if calibrator.settings.grade != grade:
            raise AiccError(f"what stands at grade {grade} was fitted at grade {calibrator.settings.grade}")
        check_meaning(calibrator, table_at(_load_sample(bundle, stored), grade))
    except AiccError as error:
        raise AiccError(f"{bundle.calibrator_path}: {error}; {again}") from error
    return calibrator


def fitted_grades(bundle: "Bundle") -> tuple[str, ...]:
    """The grades that `load_calibrator` can give, best first."""
    found = _by_grade(bundle, read_calibrator_file(bundle))
    return tuple(grade for grade in GRADES if grade in found)


def score_settings(bundle: "Bundle", grade: str | None = None) -> ScoreSettings:
    """How to score with this bundle: as its calibrator was fitted, or with the defaults if it has none."""
    if bundle.calibrator_path.is_file():
        return load_calibrator(bundle, grade).settings
    return ScoreSettings(context=bundle.manifest.context).at_grade(grade or FULL)


def _by_grade(bundle: "Bundle", stored: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(stored.get("grades"), dict):
        raise AiccError(f"{bundle.calibrator_path} is damaged (grades is not a table); {AGAIN.format(folder=bundle.path)}")
    return stored["grades"]
