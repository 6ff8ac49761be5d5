"""donkeycar's web page from the browser's side, beside a drive in a process of its own."""

import asyncio
import json
import time

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

BUTTONS = ("w1", "w2", "w3", "w4", "w5")
PATIENCE_S = 120


class Page:
    """The browser: messages over the page's websocket, or posted to /drive as other clients do."""

    def __init__(self, car, port):
        import donkeycar  # noqa: F401  # without it the page would never come up: say so at once

        self.car, self.port = car, port

    def play(self, story):
        """Open the page and run `async def story(page)`."""

        async def whole():
            await self._open()
            await story(self)
            self.socket.close()

        asyncio.run(whole())

    async def _open(self):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                asked = HTTPRequest(f"ws://localhost:{self.port}/wsDrive", headers=self._origin())
                self.socket = await websocket_connect(asked)
                return
            except OSError:
                assert time.monotonic() < end, "the web page never came up"
                await asyncio.sleep(0.05)

    async def send(self, **fields):
        await self.socket.write_message(json.dumps(fields))
        await self.watch()

    async def click(self, button):
        for down in (True, False):
            buttons = {name: down and name == button for name in BUTTONS}
            await self.socket.write_message(json.dumps({"buttons": buttons}))
        await self.watch()

    async def post(self, **fields):
        address = f"http://localhost:{self.port}/drive"
        await AsyncHTTPClient().fetch(address, method="POST", body=json.dumps(fields), headers=self._origin())
        await self.watch()

    def _origin(self):
        return {"Origin": f"http://localhost:{self.port}"}

    async def watch(self, records=6):
        """Until the drive has gone on by so many records."""
        end, wanted = time.monotonic() + PATIENCE_S, self._records() + records
        while self._records() < wanted:
            assert time.monotonic() < end, "the drive does not go on"
            await asyncio.sleep(0.02)

    def _records(self):
        return len(list(self.car.glob("data/**/images/*_cam_image_array_.jpg")))
