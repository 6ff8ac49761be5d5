"""The calibration page for the overhead camera: serves the static files and passes requests on to a session."""

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from tornado.web import Application, RequestHandler, StaticFileHandler

from donkey_aicc.errors import AiccError

FOLDER = Path(__file__).resolve().parent / "overhead"
_LARGEST_REQUEST = 2_000_000  # bytes


class Session(Protocol):
    """What the page needs; see donkey_aicc.data.overhead.calibration."""

    def state(self) -> dict[str, Any]: ...

    def frame_jpeg(self, time_s: float) -> bytes: ...

    def pick(self, time_s: float, x: float, y: float, inputs: dict[str, Any]) -> dict[str, Any]: ...

    def estimate_lens(self, inputs: dict[str, Any]) -> dict[str, float]: ...

    def preview(self, time_s: float, inputs: dict[str, Any]) -> dict[str, Any]: ...

    def save(self, inputs: dict[str, Any]) -> dict[str, str]: ...


class _Handler(RequestHandler):
    """Answers JSON; a mistake of the user becomes status 400 with its message."""

    session: Session

    def initialize(self, session: Session) -> None:
        self.session = session

    def set_default_headers(self) -> None:
        self.set_header("Cache-Control", "no-store")

    def answer(self, compute: Callable[[], Any]) -> None:
        try:
            self.finish(json.dumps(compute()))
        except AiccError as error:
            self.set_status(400)
            self.finish(json.dumps({"error": str(error)}))

    def request_object(self) -> dict[str, Any]:
        # Only JSON: another site's page cannot send it here without asking the browser first, which it refuses.
        if self.request.headers.get("Content-Type", "").split(";")[0].strip() != "application/json":
            raise AiccError("requests must be application/json")
        try:
            given = json.loads(self.request.body)
        except ValueError as error:
            raise AiccError(f"the request is not JSON: {error}") from error
        if not isinstance(given, dict) or not isinstance(given.get("inputs"), dict):
            raise AiccError('the request must be an object with "inputs"')
        return given


class _State(_Handler):
    def get(self) -> None:
        self.answer(self.session.state)


class _Frame(_Handler):
    def get(self) -> None:
        try:
            jpeg = self.session.frame_jpeg(_number(self.get_argument("t", "0"), "t"))
        except AiccError as error:
            self.set_status(400)
            self.finish(json.dumps({"error": str(error)}))
            return
        self.set_header("Content-Type", "image/jpeg")
        self.finish(jpeg)


class _Action(_Handler):
    """POST /api/<name> with {"inputs": ..., "t": ...}."""

    def post(self, name: str) -> None:
        self.answer(lambda: self._act(name, self.request_object()))

    def _act(self, name: str, given: dict[str, Any]) -> Any:
        inputs = given["inputs"]
        if name == "save":
            return self.session.save(inputs)
        if name == "lens":
            return self.session.estimate_lens(inputs)
        time_s = _number(given.get("t"), "t")
        if name == "preview":
            return self.session.preview(time_s, inputs)
        return self.session.pick(time_s, _number(given.get("x"), "x"), _number(given.get("y"), "y"), inputs)


def make_app(session: Session) -> Application:
    """The page and its interface as a Tornado application."""
    shared = {"session": session}
    return Application(
        [
            (r"/api/state", _State, shared),
            (r"/api/frame", _Frame, shared),
            (r"/api/(preview|pick|lens|save)", _Action, shared),
            (r"/(.*)", StaticFileHandler, {"path": str(FOLDER), "default_filename": "index.html"}),
        ]
    )


def serve(session: Session, host: str, port: int, started: Callable[[int], None]) -> None:
    """Serve until Ctrl-C; `started` gets the port, which matters when 0 asked for a free one."""
    asyncio.run(_serve(session, host, port, started))


async def _serve(session: Session, host: str, port: int, started: Callable[[int], None]) -> None:
    from tornado.httpserver import HTTPServer
    from tornado.netutil import bind_sockets

    try:
        sockets = bind_sockets(port, host)
    except (OSError, OverflowError) as error:
        raise AiccError(f"cannot serve the page at {host}:{port}: {error}; choose another --port") from error
    server = HTTPServer(make_app(session), max_body_size=_LARGEST_REQUEST)
    server.add_sockets(sockets)
    started(sockets[0].getsockname()[1])
    await asyncio.Event().wait()


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise AiccError(f"{name} must be a number, got {value!r}")
    return number
