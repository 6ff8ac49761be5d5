"""calibrator.json in a bundle's folder: the fitted calibrator, how it was made, and which bundle it belongs to."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.catalogue import calibrator_from_json
from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_json

if TYPE_CHECKING:
    from donkey_aicc.bundle import Bundle

AGAIN = "make it again with: donkey-aicc calibrate --bundle {folder} --data TUBS"


def weights_fingerprint(bundle: "Bundle") -> str:
    """One hash over the weights of all nets: scores of another bundle mean nothing to this one's calibrator."""
    hashes = "".join(f"{name}:{entry['sha256']}" for name, entry in sorted(bundle.manifest.files.items()))
    return hashlib.sha256(hashes.encode()).hexdigest()


def save_calibrator(bundle: "Bundle", calibrator: Calibrator, about: dict[str, Any]) -> Path:
    """Write the file; `about` is for people (fit, weights per family, D_aug strengths)."""
    stored = calibrator.to_json() | {"bundle": weights_fingerprint(bundle), "about": about}
    write_json(bundle.calibrator_path, stored)
    return bundle.calibrator_path


def read_calibrator_file(bundle: "Bundle") -> dict[str, Any]:
    """The stored dictionary, checked against the bundle; raises AiccError when missing, damaged or another bundle's."""
    path = bundle.calibrator_path
    again = AGAIN.format(folder=bundle.path)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AiccError(f"bundle {bundle.path} has no calibrator; {again}") from None
    except (OSError, ValueError) as error:
        raise AiccError(f"{path} is damaged ({error}); {again}") from error
    if not isinstance(stored, dict):
        raise AiccError(f"{path} is damaged (not a table); {again}")
    if stored.get("bundle") != weights_fingerprint(bundle):
        raise AiccError(f"{path} was fitted for a bundle with other weights; {again}")
    return stored


def load_calibrator(bundle: "Bundle") -> Calibrator:
    """The bundle's fitted calibrator."""
    return calibrator_from_json(read_calibrator_file(bundle))
