"""One small server for the pages that run beside a command (overhead, label, replay): static files and a JSON interface.

What a client can make it hold is bounded: see access.py, and the requests that wait here. A session's functions run one
after the other in one thread of their own, so they need no locks. Served at the loopback address unless the user says
otherwise; then only whoever has the printed link gets in. Requests that come from another site's page are refused.
"""

import asyncio
import ipaddress
import json
import math
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler, StaticFileHandler

from donkey_aicc.errors import AiccError
from donkey_aicc.untrusted import parse_json
from donkey_aicc.web.access import (
    READ_S,
    BoundedServer,
    bounded_server,
    known_host,
    own_address,
    qr_code,
    same_origin,
    same_token,
)
from donkey_aicc.web.whole_page import LOOK, whole_page

MOST_WAITING = 16  # requests in line for the session's thread
LONGEST_MESSAGE = 400
SECURE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

Query = Mapping[str, str]


@dataclass(frozen=True)
class Blob:
    """An answer that is no JSON: a picture, a file."""

    content: bytes
    content_type: str = "image/jpeg"


@dataclass(frozen=True)
class Page:
    """What to serve: files of a folder (index.html first) and functions by name, all below /api/.

    A function gets the query (GET) or the JSON object (POST) and returns something JSON can hold, or a Blob. An AiccError
    becomes status 400 with {"error": message}.
    """

    folder: Path
    get: Mapping[str, Callable[[Query], Any]] = field(default_factory=dict)
    post: Mapping[str, Callable[[dict[str, Any]], Any]] = field(default_factory=dict)


def number(value: Any, name: str) -> float:
    """A finite number out of a query or a JSON object."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise AiccError(f"{name} must be a number, got {repr(value)[:80]}")
    return found


class _Guarded(RequestHandler):
    """Refuses what comes from elsewhere, before anything else is looked at."""

    def set_default_headers(self) -> None:
        for name, value in SECURE_HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        if not known_host(self.request.host) or not same_origin(self.request.headers):
            raise HTTPError(403, reason="this page is for this machine only")
        token: str | None = self.settings["token"]
        if token is None:
            return
        cookie, given = self.settings["cookie"], self.get_query_argument("token", None)
        if not any(same_token(each, token) for each in (given, self.get_cookie(cookie))):
            raise HTTPError(403, reason="open the link that was printed when this page was started")
        if given is not None:  # from now on the browser shows it by itself, and the address bar does not
            self.set_cookie(cookie, token, httponly=True, samesite="Lax")
            self.redirect("/")

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps({"error": self._reason}))


class _Index(_Guarded):
    def initialize(self, folder: Path) -> None:
        self.folder = folder

    def get(self) -> None:
        self.finish(whole_page(self.folder))


class OwnFiles(StaticFileHandler):
    """The styles, scripts and pictures of a page of ours."""

    def parse_url_path(self, url_path: str) -> str:
        if "\0" in url_path:  # would be an error inside Python
            raise HTTPError(404)
        return super().parse_url_path(url_path)

    def set_extra_headers(self, path: str) -> None:
        self.set_default_headers()


class _Static(_Guarded, OwnFiles):
    pass


class _Api(_Guarded):
    """GET and POST of /api/<name>."""

    def initialize(self, page: Page, line: "_Line") -> None:
        self.page, self.line = page, line

    async def get(self, name: str) -> None:
        query = {key: values[-1].decode("utf-8", "replace") for key, values in self.request.query_arguments.items()}
        await self._answer(self.page.get.get(name), lambda: query)

    async def post(self, name: str) -> None:
        await self._answer(self.page.post.get(name), self._object)

    def _object(self) -> dict[str, Any]:
        # Only JSON: another site's page cannot send it here without asking the browser first, which it refuses.
        if self.request.headers.get("Content-Type", "").split(";")[0].strip() != "application/json":
            raise AiccError("requests must be application/json")
        given = parse_json(self.request.body, "the request")
        if not isinstance(given, dict):
            raise AiccError("the request must be an object")
        return given

    async def _answer(self, function: Callable[[Any], Any] | None, given: Callable[[], Any]) -> None:
        if function is None:
            raise HTTPError(404, reason="no such request")
        try:
            answer = await self.line.run(function, given())
        except AiccError as error:
            self.set_status(400)
            answer = {"error": _short(str(error))}
        if not isinstance(answer, Blob):
            answer = Blob(json.dumps(answer).encode(), "application/json")
        self.set_header("Content-Type", answer.content_type)
        try:
            await asyncio.wait_for(self.finish(answer.content), READ_S)
        except (TimeoutError, StreamClosedError):  # reads too slowly: its answer is not kept for it
            stream = getattr(self.request.connection, "stream", None)
            if stream is not None:
                stream.close()


class _Line:
    """The session's thread and how many requests wait for it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "aicc-page")
        self._waiting = 0

    async def run(self, function: Callable[[Any], Any], given: Any) -> Any:
        if self._waiting >= MOST_WAITING:
            raise HTTPError(503, reason="busy with earlier requests")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, function, given)
        finally:
            self._waiting -= 1


def make_server(page: Page, token: str | None = None) -> BoundedServer:
    """The page on no socket yet; needs a running event loop. token: what a browser must show to get in."""
    shared = {"page": page, "line": _Line()}
    app = Application(
        [
            (r"/api/([a-z_]+)", _Api, shared),
            (r"/look/(.*)", _Static, {"path": str(LOOK)}),
            (r"/", _Index, {"folder": page.folder}),
            (r"/(.*)", _Static, {"path": str(page.folder)}),
        ],
        compress_response=True,
        log_function=lambda handler: None,
        token=token,
        cookie=f"aicc_{page.folder.parent.name}",  # of its own: browsers do not tell two ports apart
    )
    return bounded_server(app)


def serve(page: Page, host: str, port: int, started: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `started` gets the link. Beyond this machine it has a token in it."""
    asyncio.run(_serve(page, host, port, started))


async def _serve(page: Page, host: str, port: int, started: Callable[[str], None]) -> None:
    try:
        sockets = bind_sockets(port, host)
    except (OSError, OverflowError) as error:
        raise AiccError(f"cannot serve the page at {host}:{port}: {error}; choose another --port") from error
    places = [ipaddress.ip_address(each.getsockname()[0].partition("%")[0]) for each in sockets]
    token = None if all(place.is_loopback for place in places) else secrets.token_urlsafe(12)
    make_server(page, token).add_sockets(sockets)
    shown = own_address() if any(place.is_unspecified for place in places) else host
    link = f"http://{f'[{shown}]' if ':' in shown else shown}:{sockets[0].getsockname()[1]}/"
    if token is not None:
        link += f"?token={token}"
        print(qr_code(link), end="")
    started(link)
    await asyncio.Event().wait()


def _short(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 3] + "..."
