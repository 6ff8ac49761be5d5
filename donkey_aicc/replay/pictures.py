"""The camera pictures of a run, one by one from the tub's files, and where a bundle cannot rebuild them."""

from typing import TYPE_CHECKING

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.replay.run import Run
from donkey_aicc.tubs.image_file import JPEG_START, OK, decode_image_file, is_truncated
from donkey_aicc.untrusted import read_own

if TYPE_CHECKING:
    from donkey_aicc.alarm.sign_scales import SignScales
    from donkey_aicc.nets.bundle import Bundle

LARGEST_FILE = 16 << 20
LARGEST_SIDE_PX = 1280


def picture_of(run: Run, row: int) -> np.ndarray | None:
    """(H, W, 3) uint8 RGB; None where the record has no readable picture."""
    data = _file(run, row)
    return None if data is None else _decoded(data)


def jpeg_of_row(run: Run, row: int) -> bytes | None:
    """The file as it is if it is a JPEG, else turned into one; None where the record has no readable picture."""
    data = _file(run, row)
    if data is None or (data.startswith(JPEG_START) and len(data) < 300_000):
        return data
    pixels = _decoded(data)
    return None if pixels is None else encoded_jpeg(pixels, 85)


def encoded_jpeg(pixels: np.ndarray, quality: int, widest_px: int = LARGEST_SIDE_PX) -> bytes:
    """pixels: (H, W, 3) uint8 RGB, made smaller if it is wider than that."""
    height, width = pixels.shape[:2]
    if width > widest_px:
        pixels = cv2.resize(pixels, (widest_px, max(1, round(height * widest_px / width))), interpolation=cv2.INTER_AREA)
    return bytes(cv2.imencode(".jpg", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes())


def _file(run: Run, row: int) -> bytes | None:
    path = run.image_paths[row]
    if path is None:
        return None
    try:
        data = read_own(path, LARGEST_FILE)
    except (OSError, AiccError):
        return None
    return None if not data or is_truncated(data) else data


def _decoded(data: bytes) -> np.ndarray | None:
    try:
        stored = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error:
        return None
    return None if stored is None else cv2.cvtColor(stored, cv2.COLOR_BGR2RGB)


class Heat:
    """Where a frame cannot be rebuilt, against how well nominal frames can."""

    def __init__(self, bundle: "Bundle", nominal_error: float, scales: "SignScales | None" = None) -> None:
        self._bundle, self._nominal, self._scales = bundle, nominal_error, scales

    @classmethod
    def of(cls, bundle: "Bundle") -> "Heat | None":
        """None for a bundle whose calibrator does not say what is nominal."""
        from donkey_aicc.calibration.calibrator_file import load_calibrator

        if not bundle.calibrator_path.is_file():
            return None
        calibrator = load_calibrator(bundle)
        scales = None if calibrator.alarm is None else calibrator.alarm.scales
        return None if calibrator.statistics is None else cls(bundle, calibrator.statistics.rho_raw.mu, scales)

    def of_row(self, run: Run, row: int) -> str | None:
        """As the cockpit's camera takes it; None where the record has no readable picture."""
        from donkey_aicc.nets.preprocess import images_to_array
        from donkey_aicc.scoring.frame_stats import FRAME_STATS, FrameStats
        from donkey_aicc.web.cockpit_exchange import heat_of

        image = decode_image_file(run.image_paths[row])
        if image.status != OK or image.pixels is None:
            return None
        given = images_to_array(image.pixels[None])
        error = np.square(self._bundle.decode(self._bundle.encode(given)) - given)
        sharpness = FrameStats().update(given, error.mean(axis=(1, 2, 3)))[0, FRAME_STATS.index("sharpness")]
        return heat_of(error[0], self._nominal, 0.0 if self._scales is None else self._scales.lost_detail(sharpness))
