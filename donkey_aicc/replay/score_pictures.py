"""Scores of pictures that stand in no tub: a folder, or an array, and the commands that were sent with them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from donkey_aicc.calibration.calibrator_file import load_calibrator, score_settings
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import as_recorded, to_model_image
from donkey_aicc.replay.score_run import alarm_again, confidence_again
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.tubs.drive import make_drive
from donkey_aicc.tubs.image_file import OK, STATUS_NAMES, decode_image_file

PICTURES = (".jpg", ".jpeg", ".png")


def score_pictures(
    bundle: Bundle | str | Path,
    pictures: str | Path | Sequence[str | Path] | np.ndarray,
    commands: np.ndarray,
    *,
    grade: str | None = None,
) -> dict[str, np.ndarray]:
    """What the monitor says about N pictures in the order of driving; the same numbers as on a car that sees them.

    Args:
        bundle: a `Bundle`, its folder, or the name of a shipped one such as `reference`.
        pictures: a folder of .jpg and .png files in the order of their names, a list of such files, or an array (N, H, W, 3)
            uint8 RGB. They are frames of one drive, at the rate of the drives that the bundle was trained on (ours: 20 Hz).
        commands: (N, 2) steering and throttle as sent with each, -1 to 1, steering positive to the right.
        grade: full, half or light; None: the best that the bundle's calibrator has.

    Returns:
        name -> array of N rows. `p_safe`, `p_tta` (N, K): raw probability of being safe at each horizon of the bundle, plain and
        over altered views. `valid` (N,) bool: 100 frames of context were there. `confidence` (N, K), NaN where not valid or
        without a calibrator. With one also `rho`, `delta` (N,) in 0 to 1, NaN likewise; `alarm`, `reason` (N,) texts and
        `hazard` (N, K). Without a predictor the columns that come from it are missing.

    Example:
        >>> from donkey_aicc import score_pictures
        >>> found = score_pictures("reference", np.zeros((3, 64, 64, 3), dtype=np.uint8), [[0.0, 0.3]] * 3, grade="light")
        >>> found["p_safe"].shape[0], found["valid"].any()
        (3, np.False_)
    """
    bundle = bundle if isinstance(bundle, Bundle) else Bundle.load(bundle)
    images = _images(pictures)
    actions = np.asarray(commands, dtype=np.float32)
    if actions.shape != (len(images), 2) or not np.isfinite(actions).all() or np.abs(actions).max() > 1.0:
        raise AiccError(f"commands must be ({len(images)}, 2) numbers from -1 to 1, one row per picture, got {actions.shape}")
    drive = make_drive("pictures", "", images, actions)
    table = score_drives(bundle, [drive], settings=score_settings(bundle, grade))
    found = {"valid": table.valid}
    if bundle.has_predictor:
        found |= {"p_safe": table.p_safe, "p_tta": table.p_tta, "confidence": np.full(table.p_tta.shape, np.nan)}
    if not bundle.calibrator_path.is_file():
        return found
    calibrator = load_calibrator(bundle, grade)
    numbers, words = alarm_again(table, calibrator)
    return found | confidence_again(table, calibrator) | numbers | words


def _images(pictures: str | Path | Sequence[str | Path] | np.ndarray) -> np.ndarray:
    """(N, 64, 64, 3) uint8."""
    if isinstance(pictures, np.ndarray):
        if pictures.ndim != 4 or not len(pictures):
            raise AiccError(f"pictures must be an array (N, H, W, 3) with N >= 1, got the shape {pictures.shape}")
        return np.stack([to_model_image(as_recorded(each)) for each in pictures])  # as the car's intake does
    folder = Path(pictures) if isinstance(pictures, str | Path) else None
    files = [Path(each) for each in pictures] if folder is None else []  # type: ignore[union-attr]
    if folder is not None:
        if not folder.is_dir():
            raise AiccError(f"no folder of pictures at {folder}")
        files = sorted(each for each in folder.iterdir() if each.suffix.lower() in PICTURES)
    if not files:
        raise AiccError(f"no picture in {folder or 'the list'}: it must hold {', '.join(PICTURES)} files")
    found = []
    for file in files:
        decoded = decode_image_file(file)
        if decoded.status != OK or decoded.pixels is None:
            raise AiccError(f"{file} is {STATUS_NAMES[decoded.status]}: every picture of a drive must be readable")
        found.append(decoded.pixels)
    return np.stack(found)
