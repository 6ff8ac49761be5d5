"""calibrator.json in a bundle's folder: the fitted calibrator, how it was made, and which bundle it belongs to."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.catalogue import calibrator_from_json
from donkey_aicc.calibration.meaning import check_meaning
from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.files import write_json
from donkey_aicc.scoring.settings import FULL, GRADES, ScoreSettings
from donkey_aicc.untrusted import read_untrusted_json

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle_folder import BundleFolder

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
    """Files made before there were grades hold one calibrator, fitted on the paper's scores with the defaults of then."""
    if "grades" not in stored:
        return {FULL: stored | {"settings": ScoreSettings(context=bundle.manifest.context).to_json()}}
    if not isinstance(stored["grades"], dict):
        raise AiccError(f"{bundle.calibrator_path} is damaged (grades is not a table); {AGAIN.format(folder=bundle.path)}")
    return stored["grades"]
