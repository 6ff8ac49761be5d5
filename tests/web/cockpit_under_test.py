"""A cockpit on a real socket beside a test: donkeycar's own web application in a thread, and clients of its web socket."""

import asyncio
import json
import threading
from contextlib import asynccontextmanager, contextmanager

import numpy as np
from tornado.httpclient import HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.websocket import websocket_connect

from donkey_aicc.web.access import Access
from donkey_aicc.web.cockpit_exchange import SHOWN, CockpitFeed, Controls
from donkey_aicc.web.cockpit_hub import CockpitHub
from donkey_aicc.web.cockpit_socket import add_cockpit_handlers

TOKEN = "right-token"
PATIENCE_S = 10.0


def tick(feed, **values):
    """One tick of a drive with these values."""
    noise = np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8)
    given = {"image": noise, "mode": "local", "throttle": 0.4, **values}
    feed.run(*(given.get(name) for name in SHOWN))


class Cockpit:
    """Everything behind the page, and what its buttons were asked to do."""

    def __init__(self, view="open", instruments=None, heat=None):
        self.asked, self.let_go, self.built = [], threading.Event(), 0
        self.feed = CockpitFeed()
        self.hub = CockpitHub(
            self.feed, Access(TOKEN, view), {"actions": []}, {"built": self._count, **(instruments or {})}, heat
        )
        names = ("stop", "arm", "mark", "halt")
        self.controls = Controls(dict.fromkeys(names, self._ask), self.let_go.set)

    def _count(self):
        self.built += 1
        return self.built

    def _ask(self, given):
        self.asked.append(given["do"])
        return "done"


@contextmanager
def running(app):
    """A Tornado application in a thread of its own; yields the port."""
    socket, port = bind_unused_port()
    loop, ready = asyncio.new_event_loop(), threading.Event()

    async def start():
        HTTPServer(app).add_sockets([socket])
        ready.set()

    def run():
        asyncio.set_event_loop(loop)
        loop.create_task(start())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(PATIENCE_S)
    yield port
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    socket.close()


@contextmanager
def served(cockpit):
    from tornado.web import Application

    app = Application([])
    add_cockpit_handlers(app, cockpit.hub, cockpit.controls)
    with running(app) as port:
        yield port


class Client:
    """A browser's side of the web socket."""

    def __init__(self, socket):
        self.socket = socket

    async def send(self, message):
        await self.socket.write_message(message if isinstance(message, str | bytes) else json.dumps(message))

    async def next(self, wanted):
        """The next message of a kind: 'tick' -> (dict, jpeg), else the text message with that key; None when closed."""
        while True:
            message = await asyncio.wait_for(self.socket.read_message(), PATIENCE_S)
            if message is None:
                return None
            if isinstance(message, bytes):
                if wanted == "tick":
                    length = int.from_bytes(message[:4], "big")
                    return json.loads(message[4 : 4 + length]), message[4 + length :]
            elif wanted in (said := json.loads(message)):
                return said


@asynccontextmanager
async def client(port, **headers):
    socket = await websocket_connect(HTTPRequest(f"ws://127.0.0.1:{port}/aicc/socket", headers=headers))
    yield Client(socket)
    socket.close()
