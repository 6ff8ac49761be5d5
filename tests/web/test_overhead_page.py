"""The calibration page over real HTTP, with a session that needs no video."""

import asyncio
import json
import threading
import urllib.error
import urllib.request

import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port

from donkey_aicc.errors import AiccError
from donkey_aicc.web.overhead_page import FOLDER, make_app, serve


class KnownSession:
    """Answers like a real one, without a video."""

    def state(self):
        return {"video": "v.mp4"}

    def frame_jpeg(self, time_s):
        return f"frame at {time_s}".encode()

    def pick(self, time_s, x, y, inputs):
        return {"at": [time_s, x, y]}

    def estimate_lens(self, inputs):
        return {"lens_k1": -0.01}

    def preview(self, time_s, inputs):
        return {"problems": {}, "seen": inputs}

    def save(self, inputs):
        if not inputs:
            raise AiccError("the centreline needs at least 3 different points, got 0")
        return {"saved": "setup.json"}


@pytest.fixture(scope="module")
def address():
    """The page served by a thread of its own."""
    socket, port = bind_unused_port()
    loop = asyncio.new_event_loop()

    def run():
        asyncio.set_event_loop(loop)
        server = HTTPServer(make_app(KnownSession()))
        server.add_sockets([socket])
        loop.run_forever()
        server.stop()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}"
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)


def post(address, name, body, content_type="application/json"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}/api/{name}", data, {"Content-Type": content_type})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def get(address, path):
    with urllib.request.urlopen(address + path, timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read()


def test_the_page_and_every_file_it_names_are_served(address):
    page = get(address, "/")[1].decode()
    for name in (path.name for path in FOLDER.iterdir() if path.name != "index.html"):
        assert name in page
        assert get(address, f"/{name}")[1] == (FOLDER / name).read_bytes()


def test_state_and_frame(address):
    assert json.loads(get(address, "/api/state")[1]) == {"video": "v.mp4"}
    assert get(address, "/api/frame?t=1.5") == ("image/jpeg", b"frame at 1.5")


def test_actions_reach_the_session(address):
    assert post(address, "preview", {"t": 0, "inputs": {"a": 1}}) == (200, {"problems": {}, "seen": {"a": 1}})
    assert post(address, "pick", {"t": 1, "x": 2, "y": 3, "inputs": {}}) == (200, {"at": [1, 2, 3]})
    assert post(address, "lens", {"inputs": {}}) == (200, {"lens_k1": -0.01})
    assert post(address, "save", {"inputs": {"a": 1}}) == (200, {"saved": "setup.json"})


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("save", {"inputs": {}}, "at least 3 different points"),
        ("preview", {"inputs": {}}, "t must be a number, got None"),
        ("pick", {"t": 0, "x": "left", "y": 1, "inputs": {}}, "x must be a number"),
        ("preview", [1], "must be an object"),
        ("preview", b"{", "not JSON"),
    ],
)
def test_mistakes_come_back_as_messages(address, name, body, said):
    status, answer = post(address, name, body)
    assert status == 400
    assert said in answer["error"]


def test_another_sites_form_cannot_save(address):
    status, answer = post(address, "save", {"inputs": {"a": 1}}, content_type="text/plain")
    assert (status, answer) == (400, {"error": "requests must be application/json"})


def test_files_outside_of_the_page_are_not_served(address):
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(address, "/../overhead_page.py")
    assert refused.value.code in (403, 404)


def test_a_taken_port_is_said(address):
    with pytest.raises(AiccError, match="choose another --port"):
        serve(KnownSession(), "127.0.0.1", int(address.rsplit(":", 1)[1]), print)
