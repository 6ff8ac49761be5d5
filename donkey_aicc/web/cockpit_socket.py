"""The cockpit on donkeycar's own web server: page, shared files and the web socket, as added handlers below /aicc."""

import asyncio
import contextlib
import json
import logging
from pathlib import Path
from typing import Any

from tornado.web import Application, RedirectHandler, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from donkey_aicc.errors import AiccError
from donkey_aicc.web.access import BY_TOKEN, RateLimit, qr_picture, same_origin, trust
from donkey_aicc.web.cockpit_exchange import Controls
from donkey_aicc.web.cockpit_hub import CockpitHub
from donkey_aicc.web.page_server import SECURE_HEADERS, OwnFiles
from donkey_aicc.web.whole_page import LOOK, whole_page

FOLDER = Path(__file__).resolve().parent / "cockpit"
LARGEST_MESSAGE = 1024  # bytes that a page may send at once
PER_S, BURST = 20.0, 40.0
MOST_DROPPED = 200  # messages beyond that
MOST_WRONG = 3  # tokens of one connection
HELLO_S = 10.0  # to show the token when viewing needs it
FULL_S = 2.0  # or when there are too many viewers
POLICY = 1008  # close code: against the rules
TOO_MANY_VIEWERS = 4001
# Needs no token: whoever sees the car may stop it, because the one who sees the danger is seldom the one with the token, and a
# car that stands harms nobody. Only the token makes it drive again.
FOR_EVERYBODY = "halt"

logger = logging.getLogger(__name__)


class _Ours(RequestHandler):
    """A browser may run nothing in the page that is not ours, and talk to nobody else."""

    def set_default_headers(self) -> None:
        for name, value in SECURE_HEADERS.items():
            self.set_header(name, value)


class _Index(_Ours):
    def get(self) -> None:
        self.finish(whole_page(FOLDER))


class _File(_Ours, OwnFiles):
    pass


class _Code(_Ours):
    """The link to look, for a class to scan; the token is not in it."""

    def get(self) -> None:
        self.set_header("Content-Type", "image/svg+xml")
        self.finish(qr_picture(f"{self.request.protocol}://{self.request.host}/aicc"))


class CockpitSocket(WebSocketHandler):
    """One open page. It may send {"token": ...}, {"heat": true} and {"do": NAME, ...}; it gets ticks and replies."""

    hub: CockpitHub
    controls: Controls

    def initialize(self, hub: CockpitHub, controls: Controls) -> None:
        self.hub, self.controls = hub, controls
        self.may_control = self.wants_heat = self._sees = False
        self._rate = RateLimit(PER_S, BURST)
        self._dropped = self._wrong = 0

    @property
    def max_message_size(self) -> int:
        return LARGEST_MESSAGE

    def check_origin(self, origin: str) -> bool:
        return same_origin(self.request.headers)

    def open(self, *args: Any, **kwargs: Any) -> None:
        self.set_nodelay(True)
        if self.hub.access.view != BY_TOKEN:
            self._let_see()
            return
        self._say({"ask": "token"})
        asyncio.get_running_loop().call_later(HELLO_S, self._turn_away, POLICY, "viewing needs the token")

    def _turn_away(self, code: int, why: str) -> None:
        if not self._sees and self.ws_connection is not None:
            self.close(code, why)

    def _let_see(self) -> None:
        if self._sees:
            return
        if not self.hub.join(self):
            asyncio.get_running_loop().call_later(FULL_S, self._turn_away, TOO_MANY_VIEWERS, "too many viewers")
            return
        self._sees = True
        self._say({"about": {**self.hub.about, "may_control": self.may_control}, "history": self.hub.feed.history()})

    def on_message(self, message: str | bytes) -> None:
        try:
            given = json.loads(message)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            self.close(POLICY, "messages must be JSON objects")
            return
        if not self._rate.allows():
            self._over_the_limit(given)
            return
        if "token" in given:
            self._take_token(given["token"])
        if self._sees and isinstance(given.get("heat"), bool):
            self.wants_heat = given["heat"]
        if "do" in given:
            self._do(given)

    def _over_the_limit(self, given: dict[str, Any]) -> None:
        """Answered no more: answers cost, too. What stops the car or every fault is done all the same for who may press it."""
        self._dropped += 1
        if self.may_control and given.get("do") in ("stop", FOR_EVERYBODY):
            self._do(given)
            return
        if self._sees and given.get("do") == FOR_EVERYBODY:
            with contextlib.suppress(AiccError):
                self.controls.act(given)
        if self._dropped == 1:
            self._reply(given, False, "too many messages; wait a second")
        elif self._dropped > MOST_DROPPED:
            self.close(POLICY, "too many messages")

    def _take_token(self, token: object) -> None:
        if not self.hub.access.admits(token):
            self._wrong += 1
            self._say({"refused": "this is not the token of this drive; open the link printed at its start"})
            if self._wrong >= MOST_WRONG:
                self.close(POLICY, "too many wrong tokens")
            return
        self.may_control = True
        if stream := getattr(self.ws_connection, "stream", None):
            trust(stream)
        self._let_see()
        self._say({"may_control": True})

    def _do(self, given: dict[str, Any]) -> None:
        if not self.may_control and not (self._sees and given["do"] == FOR_EVERYBODY):
            self._reply(given, False, "only whoever has the token may do this")
            return
        try:
            self._reply(given, True, self.controls.act(given))
        except AiccError as error:
            self._reply(given, False, str(error)[:300])
        except Exception:
            logger.exception("the cockpit could not do %r", given.get("do"))
            self._reply(given, False, "this failed; the car's log says why")

    def _reply(self, given: dict[str, Any], done: bool, said: str) -> None:
        self._say({"reply": str(given.get("do"))[:20], "done": done, "said": said})

    def _say(self, what: dict[str, Any]) -> None:
        with contextlib.suppress(WebSocketClosedError):
            self.write_message(json.dumps(what))

    def send(self, message: bytes) -> "asyncio.Future[Any]":
        """For the hub; done when the message has left this process."""
        return asyncio.ensure_future(self._send(message))

    async def _send(self, message: bytes) -> None:
        try:
            await self.write_message(message, binary=True)
        except WebSocketClosedError:
            self.hub.leave(self)

    def leave(self) -> None:
        """For the hub: this one does not read."""
        stream = getattr(self.ws_connection, "stream", None)
        if stream is not None:
            stream.close()  # not close(): its farewell would wait behind what nobody reads

    def on_close(self) -> None:
        self.hub.leave(self)
        if self.may_control:
            self.controls.let_go()


def add_cockpit_handlers(app: Application, hub: CockpitHub, controls: Controls) -> None:
    """Put the cockpit on a Tornado application; /aicc is its address."""
    shared = {"hub": hub, "controls": controls}
    app.add_handlers(
        ".*",
        [
            (r"/aicc", RedirectHandler, {"url": "/aicc/", "permanent": False}),
            (r"/aicc/socket", CockpitSocket, shared),
            (r"/aicc/look/(.*)", _File, {"path": str(LOOK)}),
            (r"/aicc/link.svg", _Code),
            (r"/aicc/", _Index),
            (r"/aicc/(.*)", _File, {"path": str(FOLDER)}),
        ],
    )
