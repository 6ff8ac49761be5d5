"""donkeycar's own control socket and POST behind our guard, with donkeycar's real web application."""

import asyncio
import json
import socket
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.testing import bind_unused_port
from tornado.websocket import websocket_connect

from tests.web.cockpit_under_test import running


@pytest.fixture(params=[True, False], ids=["real car", "simulator"])
def car(request, monkeypatch):
    import tornado.autoreload
    from donkeycar.parts.web_controller.web import LocalWebController

    from donkey_aicc.web.drive_guard import guard_drive_page

    monkeypatch.setattr(tornado.autoreload, "start", lambda: None)  # debug=True would start these tests anew
    app = LocalWebController(port=0)
    guard_drive_page(app, buttons_need_origin=request.param)
    with running(app) as port:
        yield app, port, request.param


def post(port, body, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/drive", data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except (urllib.error.URLError, ConnectionError):
        return "cut"


def over_socket(port, *messages, path="wsDrive", **headers):
    async def talk():
        socket = await websocket_connect(HTTPRequest(f"ws://127.0.0.1:{port}/{path}", headers=headers))
        for message in messages:
            await socket.write_message(message)
        await asyncio.sleep(0.3)
        socket.close()

    try:
        asyncio.run(talk())
    except HTTPClientError as error:  # another site's page gets no socket at all
        return error.code
    return 101


PRESS = {"buttons": {"w1": True}, "throttle": 0.3}


@pytest.mark.parametrize("way", ["post", "socket"])
@pytest.mark.parametrize("origin", ["own", "evil", "none", "rebound"])
def test_a_real_cars_buttons_count_only_from_its_own_page(car, origin, way):
    app, port, real = car
    headers = {
        "own": {"Origin": f"http://127.0.0.1:{port}"},
        "evil": {"Origin": "http://evil.example"},
        "none": {},
        "rebound": {"Origin": "http://evil.example:80", "Host": "evil.example:80"},
    }[origin]
    if way == "post":
        post(port, PRESS, **headers)
    else:
        over_socket(port, json.dumps(PRESS), **headers)
    assert app.throttle == (0.0 if origin == "evil" else 0.3)  # from a program, driving stays as open as donkeycar leaves it
    assert app.buttons == ({"w1": True} if origin == "own" or not (real or origin == "evil") else {})


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1e999", "1" + "0" * 400, '"fast"', "null", "true", "[1]"])
def test_no_command_that_is_no_number_reaches_the_car(car, value):
    app, port, _ = car
    body = b'{"angle": ' + value.encode() + b', "throttle": 0.2}'
    post(port, body)
    over_socket(port, body.decode())
    assert (app.angle, app.throttle) == (0.0, 0.2)


def test_commands_are_cut_to_their_range_and_modes_are_known_ones(car):
    app, port, _ = car
    post(port, {"angle": -7, "throttle": 3, "drive_mode": "fly", "recording": "yes"})
    assert (app.angle, app.throttle, app.mode, app.recording) == (-1.0, 1.0, "user", False)
    over_socket(port, json.dumps({"drive_mode": "local", "recording": True}))
    assert (app.mode, app.mode_latch, app.recording) == ("local", "local", True)


@pytest.mark.parametrize("message", ["{", "[" * 5000, "[]", "x" * 1_000_000])
def test_nonsense_changes_nothing(car, message):
    app, port, _ = car
    post(port, message.encode())
    over_socket(port, message)
    assert (app.angle, app.throttle, app.mode, app.buttons) == (0.0, 0.0, "user", {})
    assert post(port, {"throttle": 0.1}) == 200


def test_donkeycars_page_is_still_there(car):
    _, port, _ = car
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/drive", timeout=10) as answer:
        assert b"Donkey" in answer.read()


def test_an_error_does_not_tell_about_the_cars_files(car):
    _, port, _ = car
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/static/%00", timeout=10)
    assert b"Traceback" not in refused.value.read()


def test_another_site_can_not_drive_through_the_calibration_page(car):
    app, port, _ = car
    assert over_socket(port, '{"throttle": 0.5}', path="wsCalibrate", Origin="http://evil.example") == 403
    assert app.throttle == 0.0


def test_the_calibration_page_takes_numbers_only(car):
    app, port, _ = car
    over_socket(port, '{"throttle": "fast", "angle": NaN, "config": {"STEERING_LEFT_PWM": 1}}', "[", path="wsCalibrate")
    assert (app.angle, app.throttle) == (0.0, 0.0)
    steering = type("Steering", (), {"left_pulse": 460})()
    app.drive_train_type, app.drive_train = "I2C_SERVO", {"steering": steering}
    own = f"http://127.0.0.1:{port}"
    bad, good = ({"angle": 3, "config": {"STEERING_LEFT_PWM": pulse}} for pulse in ("x", 420))
    over_socket(port, json.dumps(bad), path="wsCalibrate", Origin=own)
    assert (app.angle, steering.left_pulse) == (1.0, 460)
    over_socket(port, json.dumps(good), path="wsCalibrate", Origin=own)
    assert steering.left_pulse == 420


def test_no_picture_is_drawn_for_a_viewer_who_has_left(car, monkeypatch):
    """donkeycar itself draws on for good: every page closed and opened again costs a part of a core."""
    app, port, _ = car
    drawn, frame = [], np.zeros((120, 160, 3), np.uint8)  # donkeycar 5.4 lacks the picture that it shows without one
    monkeypatch.setattr(type(app), "img_arr", property(lambda self: drawn.append(1) or frame), raising=False)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as viewer:
        viewer.sendall(b"GET /video HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"image/jpeg" in b"".join(viewer.recv(4096) for _ in range(3))
    pause = threading.Event()
    pause.wait(0.5)
    seen = len(drawn)
    pause.wait(0.5)
    assert seen > 0 and len(drawn) == seen


def test_donkeycars_server_holds_a_bounded_number_of_connections(car):
    from donkey_aicc.web.drive_guard import _MOST_CONNECTIONS

    app, *_ = car
    unused, app.port = bind_unused_port()
    unused.close()
    threading.Thread(target=app.update, daemon=True).start()
    lines = []
    for _ in range(_MOST_CONNECTIONS + 9):
        lines.append(_connected(app.port))
        lines[-1].sendall(b"GET /wsTest HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert lines[-1].recv(4096).startswith(b"HTTP/1.1 200")
    assert [_is_cut(each) for each in lines[:12]] == [True] * 9 + [False] * 3
    lines[-1].sendall(b"POST /calibrate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000000\r\n\r\n")
    assert _is_cut(lines[-1])
    for each in lines:
        each.close()
    app.loop.add_callback(app.loop.stop)


def _connected(port):
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except ConnectionRefusedError:
            threading.Event().wait(0.05)
    raise AssertionError("the server did not start")


def _is_cut(line):
    """Whether the server has closed it, after whatever it had sent before."""
    line.settimeout(0.2)
    try:
        while line.recv(1 << 20):
            pass
    except TimeoutError:
        return False
    except ConnectionResetError:
        pass
    return True


def test_another_sites_page_gets_no_socket_and_may_not_frame_the_page(car):
    """It heard how many records there are, and could lay its own buttons over the page's."""
    _, port, _ = car
    assert over_socket(port, {"throttle": 0.5}, Origin="http://evil.example") == 403
    for name in ("drive", "calibrate"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=10) as page:
            assert page.headers["Content-Security-Policy"] == "frame-ancestors 'none'"


def test_whoever_steers_is_heard_and_nobody_else(monkeypatch):
    import tornado.autoreload
    from donkeycar.parts.web_controller.web import LocalWebController

    from donkey_aicc.web.drive_guard import guard_drive_page

    monkeypatch.setattr(tornado.autoreload, "start", lambda: None)
    app, heard = LocalWebController(port=0), []
    guard_drive_page(app, buttons_need_origin=False, heard=lambda: heard.append(1))
    with running(app) as port:
        post(port, {"drive_mode": "local"})
        assert not heard
        post(port, {"angle": 0.0, "throttle": 0.4})
        over_socket(port, {"throttle": 0.4})
        assert len(heard) == 2 and app.throttle == 0.4


def test_a_few_videos_of_one_address_and_no_more(car):
    """110 of them delayed another's picture by 8 s."""
    app, port, _ = car
    app.img_arr = None
    open_ones = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
    answers = []
    for each in open_ones:
        each.settimeout(10)
        each.sendall(b"GET /video HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    for each in open_ones:
        answers.append(each.recv(64).split(b"\r\n")[0])
    for each in open_ones:
        each.close()
    assert sum(b"429" in answer for answer in answers) == 4, answers
