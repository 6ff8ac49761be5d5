"""What the cockpit costs: time of its part in the loop and of a message, bytes a second per viewer, memory with a stuck one.

python benchmarks/cockpit_load.py
"""

import asyncio
import resource
import time

import numpy as np
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application
from tornado.websocket import websocket_connect

from donkey_aicc.web.access import Access
from donkey_aicc.web.cockpit_exchange import SHOWN, CockpitFeed, Controls
from donkey_aicc.web.cockpit_hub import RATE_HZ, CockpitHub
from donkey_aicc.web.cockpit_socket import add_cockpit_handlers

TICKS = 20_000
MESSAGES = 200
VIEWERS = 5
WATCH_S = 10.0
HELLO = 4.0  # seconds until the memory of the first messages is there


def a_tick() -> list:
    """What the channels hold with everything switched on."""
    rng = np.random.default_rng(0)
    smooth = np.kron(rng.integers(0, 255, (15, 20, 3)), np.ones((8, 8, 1))).astype(np.uint8)
    image = (smooth // 2 + rng.integers(0, 40, (120, 160, 3))).astype(np.uint8)
    values = {"image": image, "p_safe": [0.5] * 11, "p_tta": [0.5] * 11, "confidence": [0.5] * 11, "hazard": [0.1] * 11}
    return [values.get(name, 0.123456) for name in SHOWN]


def a_hub(feed: CockpitFeed) -> CockpitHub:
    instruments = {"features": lambda: [0.1234] * 12, "parts": lambda: [["WorldModelScorer", 1.23]] * 10}
    return CockpitHub(feed, Access(), {}, instruments)


async def over_sockets(feed: CockpitFeed, tick: list) -> tuple[float, float, int]:
    """(bytes a second per viewer, growth of memory in MB, viewers at the end) with VIEWERS that read and one that does not."""
    hub, app = a_hub(feed), Application([])
    add_cockpit_handlers(app, hub, Controls({}))
    socket, port = bind_unused_port()
    HTTPServer(app).add_sockets([socket])
    received = 0

    async def look() -> None:
        nonlocal received
        line = await websocket_connect(f"ws://127.0.0.1:{port}/aicc/socket")
        while True:
            message = await line.read_message()
            received += len(message or b"")

    looking = [asyncio.create_task(look()) for _ in range(VIEWERS)]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)  # opens a web socket and never reads it
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13"
    lines = f"GET /aicc/socket HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{key}\r\n\r\n"
    writer.write(lines.encode())
    writer.transport.pause_reading()
    before = received_at = 0.0
    for number in range(int((HELLO + WATCH_S) * 20)):
        feed.run(*tick)
        if number == int(HELLO * 20):
            before, received_at, received = _memory_mb(), time.perf_counter(), 0
        await asyncio.sleep(0.05)
    per_viewer = received / (time.perf_counter() - received_at) / VIEWERS
    growth, viewers = _memory_mb() - before, hub.viewers
    for task in looking:
        task.cancel()
    writer.close()
    return per_viewer, growth, viewers


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    feed, tick = CockpitFeed(), a_tick()
    started = time.process_time()
    for _ in range(TICKS):
        feed.run(*tick)
    part_ms = 1000 * (time.process_time() - started) / TICKS
    hub = a_hub(feed)
    started = time.process_time()
    sizes = [len(hub.message()) for _ in range(MESSAGES)]
    message_ms = 1000 * (time.process_time() - started) / MESSAGES
    per_viewer, growth, viewers = asyncio.run(over_sockets(feed, tick))
    print(f"part in the drive loop   {part_ms:.4f} ms a tick, with or without viewers")
    print(f"message, once for all    {message_ms:.2f} ms, {RATE_HZ:g} times a second while somebody looks, off the drive loop")
    print(f"one viewer               {np.mean(sizes) * RATE_HZ / 1000:.0f} kB/s at {RATE_HZ:g} Hz, by the size of a message")
    print(
        f"{VIEWERS} viewers on sockets     {per_viewer / 1000:.0f} kB/s each, beside one that never reads ({viewers} connected)"
    )
    print(f"memory                   grew by {growth:.1f} MB in {WATCH_S:g} s")


if __name__ == "__main__":
    main()
