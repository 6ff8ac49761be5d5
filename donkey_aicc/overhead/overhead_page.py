"""The calibration page for the overhead camera: which requests its files make, and what of a session answers them."""

from pathlib import Path
from typing import Any, Protocol

from donkey_aicc.errors import AiccError
from donkey_aicc.web.page_server import Blob, Page, number

FOLDER = Path(__file__).resolve().parent / "page"


class Session(Protocol):
    """What the page needs; see donkey_aicc.overhead.calibrate_camera."""

    def state(self) -> dict[str, Any]: ...

    def frame_jpeg(self, time_s: float) -> bytes: ...

    def pick(self, time_s: float, x: float, y: float, inputs: dict[str, Any]) -> dict[str, Any]: ...

    def estimate_lens(self, inputs: dict[str, Any]) -> dict[str, float]: ...

    def preview(self, time_s: float, inputs: dict[str, Any]) -> dict[str, Any]: ...

    def save(self, inputs: dict[str, Any]) -> dict[str, str]: ...


def calibration_page(session: Session) -> Page:
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
