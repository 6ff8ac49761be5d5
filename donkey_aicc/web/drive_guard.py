"""donkeycar's own web page, with what its sockets and its POST take checked first. It works on; nothing of it is copied.

donkeycar hands whatever is sent to the drive loop, and asks nobody where a message came from: any site open in the
driver's browser could press the buttons. It goes on drawing pictures for viewers that have left, each at the cost of a part
of a core, and takes any number of connections. The guards here stand before its handlers and its server.
"""

import asyncio
import contextlib
import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from donkeycar.parts.web_controller.web import CalibrateHandler, DriveAPI, WebSocketCalibrateAPI, WebSocketDriveAPI
from donkeycar.utils import arr_to_binary
from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.web import Application, HTTPError, RequestHandler, stream_request_body

from donkey_aicc.web.access import bounded_server, known_host, same_origin

LARGEST_MESSAGE = 8192  # bytes
MODES = ("user", "local_angle", "local")
_MOST_BUTTONS = 32
_MOST_VIDEOS = 4  # of one address
VIDEO_EVERY_S = 0.05
_MOST_CONNECTIONS = 96  # twelve viewers with a video, a socket and what a browser keeps open for later


def checked(given: Any, with_buttons: bool) -> dict[str, Any]:
    """The fields that donkeycar knows, each only if it is what it must be: one bad value must not reach the drive loop."""
    if not isinstance(given, dict):
        return {}
    found: dict[str, Any] = {}
    for name in ("angle", "throttle"):
        if _is_number(given.get(name)):
            found[name] = min(max(float(given[name]), -1.0), 1.0)
    if given.get("drive_mode") in MODES:
        found["drive_mode"] = given["drive_mode"]
    if isinstance(given.get("recording"), bool):
        found["recording"] = given["recording"]
    buttons = given.get("buttons")
    if with_buttons and isinstance(buttons, dict) and len(buttons) <= _MOST_BUTTONS:
        found["buttons"] = {name: down is True for name, down in buttons.items() if len(name) <= 16}
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e6 < value < 1e6 and not math.isnan(value)


def _parsed(message: str | bytes) -> Any:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None


class _Unframed(RequestHandler):
    """No page of another site may put it into its own: who drives sees what he presses."""

    def set_default_headers(self) -> None:
        self.set_header("Content-Security-Policy", "frame-ancestors 'none'")


class _CalibratePage(_Unframed, CalibrateHandler):
    pass


class _Calibrate(WebSocketCalibrateAPI):
    """Takes steering, throttle and pulse widths."""

    @property
    def max_message_size(self) -> int:
        return LARGEST_MESSAGE

    def check_origin(self, origin: str) -> bool:
        return same_origin(self.request.headers)

    def on_message(self, message: str | bytes) -> None:
        given = _parsed(message)
        taken = {name: value for name, value in checked(given, False).items() if name in ("angle", "throttle")}
        config = given.get("config") if isinstance(given, dict) else None
        if isinstance(config, dict) and hasattr(self.application, "drive_train_type"):
            taken["config"] = {name: value for name, value in config.items() if _is_number(value)}
        super().on_message(json.dumps(taken))


class _Video(RequestHandler):
    """Ends when its viewer leaves; only a few for each address, because every one draws its own pictures."""

    _left = False

    async def get(self) -> None:
        here = str(self.request.remote_ip)
        watching: Counter[str] = self.settings.setdefault("aicc_videos", Counter())
        if watching[here] >= _MOST_VIDEOS:
            raise HTTPError(429, reason="too many videos at this address")
        watching[here] += 1
        try:
            await self._send_pictures()
        finally:
            watching[here] -= 1

    async def _send_pictures(self) -> None:
        """donkeycar's own loop never ends, and needs a file that the packages of 5.4 lack."""
        self.set_header("Content-type", "multipart/x-mixed-replace;boundary=--boundarydonotcross")
        while not self._left:
            picture = getattr(self.application, "img_arr", None)
            data = b"" if picture is None else arr_to_binary(picture)
            if data:
                self.write(f"--boundarydonotcross\nContent-type: image/jpeg\r\nContent-length: {len(data)}\r\n\r\n")
                self.write(data)
            with contextlib.suppress(StreamClosedError):
                await self.flush()  # also the head alone, so that a viewer who comes before the first picture is told
            await asyncio.sleep(VIDEO_EVERY_S)

    def on_connection_close(self) -> None:
        self._left = True


def guard_drive_page(app: Application, buttons_need_origin: bool, heard: Callable[[], None] = lambda: None) -> None:
    """Stand before donkeycar's handlers, and serve them with bounds.

    heard: called whenever a page has steered.
    buttons_need_origin: on a real car the page's buttons inject faults, so they count only when they come from a page that
    this very car has served.
    """

    def trusts(request: Any) -> bool:
        if not buttons_need_origin:
            return True
        return "Origin" in request.headers and same_origin(request.headers) and known_host(request.host)

    def allowed(request: Any, message: str | bytes) -> dict[str, Any]:
        """Nothing at all from a page of another site; a program, which names no page, drives as before."""
        found = checked(_parsed(message), trusts(request)) if same_origin(request.headers) else {}
        if "angle" in found or "throttle" in found:
            heard()
        return found

    class GuardedSocket(WebSocketDriveAPI):
        def check_origin(self, origin: str) -> bool:
            return same_origin(self.request.headers)  # another site's page would also hear what donkeycar tells every page

        @property
        def max_message_size(self) -> int:
            return LARGEST_MESSAGE

        def on_message(self, message: str | bytes) -> None:
            super().on_message(json.dumps(allowed(self.request, message)))

    @stream_request_body
    class GuardedDrive(_Unframed, DriveAPI):
        def prepare(self) -> None:
            self._body = b""
            if self.request.method == "POST":
                self.request.connection.set_max_body_size(LARGEST_MESSAGE)  # type: ignore[union-attr]

        def data_received(self, chunk: bytes) -> None:
            self._body += chunk

        def post(self) -> None:
            self.request.body = json.dumps(allowed(self.request, self._body)).encode()
            super().post()

    def listen(port: int, address: str | None = None, **_: Any) -> HTTPServer:
        server = bounded_server(app, _MOST_CONNECTIONS)
        server.listen(port, address)
        return server

    pages: dict[str, type[RequestHandler]] = {"drive": GuardedDrive, "calibrate": _CalibratePage, "video": _Video}
    pages |= {"wsDrive": GuardedSocket, "wsCalibrate": _Calibrate}
    app.add_handlers(".*", [(f"/{name}", handler) for name, handler in pages.items()])
    app.listen = listen  # type: ignore[method-assign]
    app.settings["serve_traceback"] = False  # donkeycar's debug mode would show paths and code to whoever asks for nonsense
