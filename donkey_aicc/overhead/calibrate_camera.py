"""The calibration page for the overhead camera, and the session behind it that answers the requests of its files.

Frames to look at, the marker's colour from a click, a preview, the saved file.
"""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_json
from donkey_aicc.overhead.centreline import Centreline
from donkey_aicc.overhead.floor import Floor, estimate_k1
from donkey_aicc.overhead.marker import MarkerColour, pick_colour
from donkey_aicc.overhead.setup_file import parse_colour, parse_corners, parse_floor, parse_lines, parse_setup
from donkey_aicc.overhead.video import BlobFinder, Video
from donkey_aicc.web.page_server import Blob, Page, number

_GRID_M = 1.0
_MASK_BGRA = (0, 255, 255, 190)

Result = TypeVar("Result")


class CalibrationSession:
    """One video and the setup file that is being made for it. `inputs` is a setup as JSON, possibly unfinished."""

    def __init__(self, video: Video, setup_path: str | Path, inputs: dict[str, Any] | None = None) -> None:
        self.video, self.setup_path = video, Path(setup_path)
        self._inputs = inputs
        self._last: tuple[float, np.ndarray] | None = None

    def state(self) -> dict[str, Any]:
        """What the page shows at its start: the video, and the setup as it stood (its centreline in pixels)."""
        info = self.video.info
        return {
            "video": self.video.path.name,
            "size_px": list(info.size_px),
            "duration_s": info.duration_s,
            "rate_hz": info.rate_hz,
            "setup_path": str(self.setup_path),
            "inputs": self._editable(),
        }

    def frame_jpeg(self, time_s: float) -> bytes:
        """The frame at a time, for the page."""
        return cv2.imencode(".jpg", self._frame(time_s), [cv2.IMWRITE_JPEG_QUALITY, 88])[1].tobytes()

    def pick(self, time_s: float, x: float, y: float, inputs: dict[str, Any]) -> dict[str, Any]:
        """Colour range and size of the marker that was clicked; the size is None until the floor is known."""
        colour, area_px = pick_colour(self._frame(time_s), x, y)
        floor, _ = _attempt(lambda: parse_floor(inputs, self.video.info.size_px))
        size_m = None
        if floor is not None:
            size_m = round(float(np.sqrt(area_px * floor.square_metres_per_pixel(np.array([[x, y]]))[0])), 3)
        return {"hsv_low": list(colour.low), "hsv_high": list(colour.high), "size_m": size_m}

    def estimate_lens(self, inputs: dict[str, Any]) -> dict[str, float]:
        """k1 from the straight lines that were clicked."""
        return {"lens_k1": round(estimate_k1(self.video.info.size_px, parse_lines(inputs)), 4)}

    def preview(self, time_s: float, inputs: dict[str, Any]) -> dict[str, Any]:
        """Everything that can be drawn of what is there so far, and what is wrong with the rest, by its section."""
        size = self.video.info.size_px
        floor, floor_problem = _attempt(lambda: parse_floor(inputs, size))
        colour, colour_problem = _attempt(lambda: parse_colour(inputs))
        shown: dict[str, Any] = {"problems": {"floor": floor_problem, "marker": colour_problem}}
        if colour is not None:
            shown["mask"] = self._mask_url(colour, time_s)
        if floor is not None:
            shown["floor_residual_m"] = floor.residual_m
            shown["grid_px"] = _grid(floor, size)
            line, problem = _attempt(lambda: _line(inputs, floor))
            shown["problems"]["centreline"] = problem
            if line is not None:
                track_px = floor.to_pixel(line.points[::5])
                shown["track_px"] = track_px[np.isfinite(track_px).all(axis=1)].round(1).tolist()
                shown["length_m"] = line.length_m
        setup, problem = _attempt(lambda: parse_setup(inputs, size))
        shown["problems"]["all"] = problem
        if setup is not None:
            blobs = BlobFinder(setup).find(self._frame(time_s))
            shown["blobs_px"] = [list(blob.px) for blob in blobs]
            shown["blobs_cte_m"] = [float(setup.centreline.project(np.array([blob.xy]))[1][0]) for blob in blobs]
        return shown

    def save(self, inputs: dict[str, Any]) -> dict[str, str]:
        """Check everything and write the setup file."""
        write_json(self.setup_path, parse_setup(inputs, self.video.info.size_px).to_json())
        return {"saved": str(self.setup_path)}

    def _editable(self) -> dict[str, Any] | None:
        """The setup to start from, with the centreline as pixels that can be moved."""
        if self._inputs is None:
            return None
        setup = parse_setup(self._inputs, self.video.info.size_px)
        stored = setup.to_json()
        stored["centreline_px"] = setup.floor.to_pixel(setup.centreline_m).round(2).tolist()
        del stored["centreline_m"]
        return stored

    def _frame(self, time_s: float) -> np.ndarray:
        if self._last is None or self._last[0] != time_s:
            self._last = (time_s, self.video.frame_at(time_s))
        return self._last[1]

    def _mask_url(self, colour: MarkerColour, time_s: float) -> str:
        """The mask as a see-through PNG for the page."""
        mask = colour.mask(self._frame(time_s))
        picture = np.zeros((*mask.shape, 4), np.uint8)
        picture[mask > 0] = _MASK_BGRA
        encoded = cv2.imencode(".png", picture, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1]
        return "data:image/png;base64," + base64.b64encode(encoded.tobytes()).decode()


def _attempt(compute: Callable[[], Result]) -> tuple[Result | None, str | None]:
    """The result, or None and what is wrong."""
    try:
        return compute(), None
    except AiccError as error:
        return None, str(error)


def _line(inputs: dict[str, Any], floor: Floor) -> Centreline:
    return Centreline(parse_corners(inputs, floor), inputs.get("smooth", True) is True, inputs.get("reverse", False) is True)


def _grid(floor: Floor, size_px: tuple[int, int]) -> list[list[list[float]]]:
    """Lines of a metre grid on the floor, as pixels, where they are in the picture."""
    edge = np.linspace(0.05, 0.95, 8)
    border = np.array([(u, v) for u in edge for v in edge]) * size_px
    corners = floor.to_floor(border)
    low, high = np.floor(corners.min(axis=0)), np.ceil(corners.max(axis=0))
    if not np.all(high - low <= 60):  # a steep view reaches the horizon; a grid of it helps nobody
        return []
    lines = []
    for axis in (0, 1):
        along = np.linspace(low[1 - axis], high[1 - axis], 40)
        for fixed in np.arange(low[axis], high[axis] + 0.5 * _GRID_M, _GRID_M):
            points = np.empty((len(along), 2))
            points[:, axis], points[:, 1 - axis] = fixed, along
            px = floor.to_pixel(points)
            inside = ((px > -50) & (px < np.array(size_px) + 50)).all(axis=1)
            if inside.sum() > 1:
                lines.append(px[inside].round(1).tolist())
    return lines


FOLDER = Path(__file__).resolve().parent / "page"


def calibration_page(session: CalibrationSession) -> Page:
    """For donkey_aicc.web.page_server; POST requests are {"inputs": a setup, "t": seconds, ...}."""
    return Page(
        FOLDER,
        get={
            "state": lambda query: session.state(),
            "frame": lambda query: Blob(session.frame_jpeg(number(query.get("t", 0), "t"))),
        },
        post={
            "preview": lambda given: session.preview(number(given.get("t"), "t"), _inputs(given)),
            "pick": lambda given: session.pick(
                number(given.get("t"), "t"), number(given.get("x"), "x"), number(given.get("y"), "y"), _inputs(given)
            ),
            "lens": lambda given: session.estimate_lens(_inputs(given)),
            "save": lambda given: session.save(_inputs(given)),
        },
    )


def _inputs(given: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(given.get("inputs"), dict):
        raise AiccError('the request must be an object with "inputs"')
    return given["inputs"]
