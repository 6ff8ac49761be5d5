"""Clients that are broken or mean: the server stays up, its memory flat, and the others drive on."""

import contextlib
import json
import random
import socket
import time

import psutil
import pytest

from donkey_aicc.cli import main
from donkey_aicc.errors import AiccError
from donkey_aicc.sim_server.messages import MOST_BYTES, Messages
from donkey_aicc.sim_server.server import MOST_CLIENTS
from donkey_aicc.sim_server.server_settings import ServerSettings
from tests.sim_server.client_under_test import Client, Served, picture

WRONG = [
    {"msg_type": 5},
    {"msg_type": "control"},
    {"msg_type": "control", "steering": "nan", "throttle": [], "brake": {}},
    {"msg_type": "control", "steering": "1e999", "throttle": "9" * 5000, "brake": True},
    {"msg_type": "cam_config", "img_w": "-3", "img_h": "1e9", "img_d": "x"},
    {"msg_type": "cam_config", "img_w": "1200", "img_h": "1200"},
    {"msg_type": "cam_config", "fov": "179", "img_enc": "TGA", "rot_y": "5", "fish_eye_x": "1"},
    {"msg_type": "cam_config_b"},
    {"msg_type": "lidar_config", "degPerSweepInc": "2"},
    {"msg_type": "car_config", "body_r": "red", "car_name": ["\x1b[2J"]},
    {"msg_type": "set_position", "pos_x": "1e6", "pos_z": "0"},
    {"msg_type": "load_scene", "scene_name": {"a": 1}},
    {"msg_type": "__class__"},
    {"msg_type": "telemetry"},
    {},
]


@pytest.fixture(scope="module")
def port():
    with Served(ServerSettings(port=0, rate_hz=50.0)) as port:
        yield port


@pytest.fixture
def honest(port):
    """A client that drives; afterwards it drives on, in its own world."""
    client = Client(port).load("loop", {"img_w": 32, "img_h": 32, "img_d": 3, "rot_x": 0})
    before = client.drive(0.0, 0.2)
    yield client
    for _ in range(10):
        after = client.drive(0.0, 0.2)
    assert after["time"] > before["time"]
    client.close()


def test_wrong_types_and_unknown_words_change_nothing(port, honest):
    rude = Client(port).load("loop")
    for message in WRONG:
        rude.socket.sendall(json.dumps(message).encode())
    assert rude.drive(0.0, 0.1)["throttle"] >= 0.0
    rude.close()


@pytest.mark.parametrize("bytes_", [b"\x00\xff" * 3000, b"}" * 5000, b"{" * 9000, b'{"msg_type": "con', b"\xf0{}{}[]{]}" * 400])
def test_garbage_and_halves(port, honest, bytes_):
    rude = socket.create_connection(("127.0.0.1", port))
    rude.sendall(bytes_)
    time.sleep(0.05)
    rude.close()


def test_a_huge_message_ends_the_connection(port, honest):
    rude = Client(port)
    with pytest.raises((ConnectionError, OSError)):
        rude.socket.sendall(b'{"msg_type": "control", "steering": "' + b"1" * (8 << 20))
        while True:
            rude.wait_for("telemetry")


def test_who_never_reads_takes_no_memory_and_who_floods_takes_no_time(port, honest):
    deaf = Client(port).load("loop", {"img_w": 640, "img_h": 480, "img_d": 3, "rot_x": 0})
    loud = Client(port).load("loop")
    command = b'{"msg_type":"control","steering":"0","throttle":"0","brake":"0"}'
    loud.socket.settimeout(0.2)
    while picture(deaf.wait_for("telemetry")).shape[1] != 640:
        pass  # its camera is being built
    for each in (loud, honest):
        each.wait_for("telemetry")
    used = psutil.Process().memory_info().rss
    for _ in range(30):
        with contextlib.suppress(TimeoutError):
            loud.socket.sendall(command * 2000)
        honest.drive(0.0, 0.1)
    assert psutil.Process().memory_info().rss - used < 64 << 20
    deaf.socket.close(), loud.socket.close()


def test_there_is_a_last_place_and_it_becomes_free(port, honest):
    crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(MOST_CLIENTS + 3)]
    crowd[-1].settimeout(30)
    assert crowd[-1].recv(1) == b""
    for each in crowd:
        each.close()
    time.sleep(0.3)
    late = Client(port).load("loop")
    late.drive()
    late.close()


def test_messages_are_found_however_they_are_cut():
    rng, sent = random.Random(4), [{"msg_type": "a", "text": 'with } and { and \\" and \\\\'}, {"b": {"c": "}"}}, {"d": "ä"}]
    data = (b" garbage " + b"".join(json.dumps(each, ensure_ascii=False).encode() for each in sent)) * 20
    messages, found = Messages(), []
    while data:
        count = rng.randint(1, 7)
        found += messages.feed(data[:count])
        data = data[count:]
    assert found == sent * 20
    with pytest.raises(AiccError):
        list(messages.feed(b'{"a": NaN}{"b": 1}'))
    assert list(messages.feed(b"")) == [{"b": 1}], "it goes on behind the mistake"
    with pytest.raises(OverflowError):
        list(messages.feed(b'{"' + b"x" * MOST_BYTES))


def test_a_port_in_use_and_a_wrong_word_are_one_line(port, capsys):
    assert main(["sim-server", "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"port {port} of 127.0.0.1 cannot be used" in said
    assert main(["sim-server", "--faults", "smoke:1"]) == 2
    assert "fault must be one of" in capsys.readouterr().err
