"""A page of ours on a real socket beside a test, and the requests of a browser to it."""

import asyncio
import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

from tornado.testing import bind_unused_port

from donkey_aicc.web.page_server import make_server


@contextmanager
def served(page, token=None):
    """The page in a thread of its own; yields its address."""
    socket, port = bind_unused_port()
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    async def start():
        server = make_server(page, token)
        server.add_sockets([socket])
        ready.set()

    def run():
        asyncio.set_event_loop(loop)
        loop.create_task(start())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10)
    yield f"http://127.0.0.1:{port}"
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    socket.close()


def post(address, name, body, **headers):
    """(status, answer) of POST /api/<name>."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **{key.replace("_", "-"): value for key, value in headers.items()}}
    request = urllib.request.Request(f"{address}/api/{name}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def get(address, path, **headers):
    """(content type, content) of GET <path>."""
    request = urllib.request.Request(address + path, headers={key.replace("_", "-"): value for key, value in headers.items()})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.headers["Content-Type"], answer.read()
