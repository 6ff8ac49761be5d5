"""donkeycar's own control socket and POST, with what they take checked first. Its page works on; nothing of it is copied.

donkeycar hands whatever is sent to the drive loop, and asks nobody where a message came from: any site open in the
driver's browser could press the buttons. The guards here stand before its handlers.
"""

import json
import math
from typing import Any

from donkeycar.parts.web_controller.web import DriveAPI, WebSocketDriveAPI
from tornado.web import Application, stream_request_body

from donkey_aicc.web.page_server import known_host, same_origin

LARGEST_MESSAGE = 8192  # bytes
MODES = ("user", "local_angle", "local")
_MOST_BUTTONS = 32


def checked(given: Any, with_buttons: bool) -> dict[str, Any]:
    """The fields that donkeycar knows, each only if it is what it must be: one bad value must not reach the drive loop."""
    if not isinstance(given, dict):
        return {}
    found: dict[str, Any] = {}
    for name in ("angle", "throttle"):
        value = given.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and -1e6 < value < 1e6 and not math.isnan(value):
            found[name] = min(max(float(value), -1.0), 1.0)
    if given.get("drive_mode") in MODES:
        found["drive_mode"] = given["drive_mode"]
    if isinstance(given.get("recording"), bool):
        found["recording"] = given["recording"]
    buttons = given.get("buttons")
    if with_buttons and isinstance(buttons, dict) and len(buttons) <= _MOST_BUTTONS:
        found["buttons"] = {name: down is True for name, down in buttons.items() if len(name) <= 16}
    return found


def _parsed(message: str | bytes) -> Any:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None


def guard_drive_page(app: Application, buttons_need_origin: bool) -> None:
    """Stand before donkeycar's /drive and /wsDrive.

    buttons_need_origin: on a real car the page's buttons inject faults, so they count only when they come from a page that
    this very car has served.
    """

    def trusts(request: Any) -> bool:
        if not buttons_need_origin:
            return True
        return "Origin" in request.headers and same_origin(request.headers) and known_host(request.host)

    def allowed(request: Any, message: str | bytes) -> dict[str, Any]:
        """Nothing at all from a page of another site; a program, which names no page, drives as before."""
        return checked(_parsed(message), trusts(request)) if same_origin(request.headers) else {}

    class GuardedSocket(WebSocketDriveAPI):
        @property
        def max_message_size(self) -> int:
            return LARGEST_MESSAGE

        def on_message(self, message: str | bytes) -> None:
            super().on_message(json.dumps(allowed(self.request, message)))

    @stream_request_body
    class GuardedDrive(DriveAPI):
        def prepare(self) -> None:
            self._body = b""
            if self.request.method == "POST":
                self.request.connection.set_max_body_size(LARGEST_MESSAGE)  # type: ignore[union-attr]

        def data_received(self, chunk: bytes) -> None:
            self._body += chunk

        def post(self) -> None:
            self.request.body = json.dumps(allowed(self.request, self._body)).encode()
            super().post()

    app.add_handlers(".*", [(r"/drive", GuardedDrive), (r"/wsDrive", GuardedSocket)])
