"""What is nominal of a picture, measured once on a run's calibration drives and kept beside its score tables."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from donkey_aicc.files import read_json, write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.scoring.restored_view import Restoration
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.tubs.drive import Drive


def measured(path: Path, bundle: Bundle, calibration: Sequence[Drive], scoring: ScoreSettings) -> ScoreSettings:
    """The settings with which every table of the run is scored."""
    if not path.exists():
        write_json(path, Restoration.measure(bundle, [drive.images for drive in calibration]).to_json())
    return stored(path, scoring)


def stored(path: Path, scoring: ScoreSettings) -> ScoreSettings:
    return replace(scoring, restoration=Restoration.from_json(read_json(path, "score the calibration drives again")))
