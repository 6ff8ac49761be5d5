"""The live cockpit over real sockets: who sees what, who may press, and what a bad client can not do."""

import asyncio
import socket
import time
from contextlib import AsyncExitStack
from functools import partial

import cv2
import numpy as np
import pytest
from tornado.httpclient import HTTPClientError

from donkey_aicc.errors import ConfigError
from donkey_aicc.web import cockpit_hub, cockpit_socket
from donkey_aicc.web.access import Access, RateLimit, bounded_server
from donkey_aicc.web.cockpit_exchange import LARGEST_JPEG, Hold, heat_of, jpeg_of, plain
from tests.web import cockpit_under_test
from tests.web.cockpit_under_test import TOKEN, Cockpit, client, served, tick


def play(story, **settings):
    """Serve a cockpit whose car has made one tick, and run the story."""
    cockpit = Cockpit(**settings)
    tick(cockpit.feed, confidence=[0.9, 0.4], rho=np.float32(0.25), delta=float("nan"), status="ok")
    with served(cockpit) as port:
        asyncio.run(asyncio.wait_for(story(cockpit, port), 60))
    return cockpit


def test_a_viewer_gets_what_the_tick_held():
    async def story(cockpit, port):
        async with client(port) as viewer:
            assert (await viewer.next("about"))["about"]["may_control"] is False
            said, jpeg = await viewer.next("tick")
            assert said["confidence"] == [0.9, 0.4]
            assert said["rho"] == 0.25
            assert "delta" not in said  # not finite: not known
            assert cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR).shape == (120, 160, 3)

    play(story)


def test_before_the_first_frame_the_page_hears_that_there_is_none():
    async def story(cockpit, port):
        cockpit.feed.latest = None
        async with client(port) as viewer:
            said, jpeg = await viewer.next("tick")
            assert (said["age_s"], jpeg) == (None, b"")

    play(story)


def test_nothing_is_built_while_nobody_looks():
    async def story(cockpit, port):
        await asyncio.sleep(0.4)
        assert cockpit.built == 0
        async with client(port) as viewer:
            await viewer.next("tick")
        for _ in range(100):
            await asyncio.sleep(0.02)
            if cockpit.hub.viewers == 0:
                break
        await asyncio.sleep(0.3)
        built = cockpit.built
        await asyncio.sleep(0.4)
        assert cockpit.built == built > 0

    play(story)


def test_heat_is_computed_only_for_who_asks():
    asked = []

    async def story(cockpit, port):
        async with client(port) as viewer:
            assert "heat" not in (await viewer.next("tick"))[0]
            assert asked == []
            await viewer.send({"heat": True})
            while "heat" not in (said := (await viewer.next("tick"))[0]):
                pass
            assert said["heat"] == "map"

    play(story, heat=lambda: asked.append(1) or "map")


def test_a_broken_instrument_darkens_only_itself():
    async def story(cockpit, port):
        async with client(port) as viewer:
            said, _ = await viewer.next("tick")
            assert said["broken"] is None
            assert said["rho"] == 0.25

    play(story, instruments={"broken": lambda: 1 / 0})


def test_the_token_opens_the_controls_and_they_are_let_go_with_the_page():
    async def story(cockpit, port):
        async with client(port, Origin=f"http://127.0.0.1:{port}") as page:
            await page.send({"do": "arm"})
            assert (await page.next("reply"))["done"] is False
            await page.send({"token": "wrong-token"})
            assert "not the token" in (await page.next("refused"))["refused"]
            await page.send({"token": TOKEN})
            assert (await page.next("may_control"))["may_control"] is True
            assert cockpit.hub.attended
            await page.send({"do": "arm"})
            assert (await page.next("reply")) == {"reply": "arm", "done": True, "said": "done"}
            await page.send({"do": "fly"})
            assert "no action 'fly'" in (await page.next("reply"))["said"]
        assert cockpit.asked == ["arm"]
        assert await asyncio.to_thread(cockpit.let_go.wait, 5)

    play(story)


def test_viewing_can_need_the_token_too(monkeypatch):
    monkeypatch.setattr(cockpit_socket, "HELLO_S", 0.5)

    async def story(cockpit, port):
        async with client(port) as stranger:
            assert await stranger.next("tick") is None  # closed, and no tick before
        async with client(port) as friend:
            await friend.send({"token": TOKEN})
            assert (await friend.next("tick"))[0]["rho"] == 0.25

    play(story, view="token")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_another_sites_page_gets_no_socket(origin):
    async def story(cockpit, port):
        with pytest.raises(HTTPClientError, match="403"):
            async with client(port, Origin=origin):
                pass

    play(story)


@pytest.mark.parametrize("message", ["{", "[" * 900, '"text"', "[1]", b"\xff\xfe", "x" * 100_000])
def test_nonsense_closes_the_line_and_the_others_see_on(message):
    async def story(cockpit, port):
        async with client(port) as good, client(port) as bad:
            await bad.send(message)
            assert await bad.next("never") is None
            assert (await good.next("tick"))[0]["rho"] == 0.25

    play(story)


def test_a_flood_is_told_to_wait_but_the_stop_button_never():
    async def story(cockpit, port):
        async with client(port) as page:
            await page.send({"token": TOKEN})
            for _ in range(100):
                await page.send({"do": "arm"})
            await page.send({"do": "stop"})
            while (reply := await page.next("reply"))["reply"] != "stop":
                pass
            assert reply["done"] is True
        assert 10 <= cockpit.asked.count("arm") < 70
        assert cockpit.asked[-1] == "stop"

    play(story)


def test_many_viewers_share_and_one_too_many_is_told():
    async def story(cockpit, port):
        viewers = [client(port) for _ in range(cockpit_hub.MOST_VIEWERS)]
        opened = [await each.__aenter__() for each in viewers]
        for each in opened:
            message, jpeg = await each.next("tick")
            assert len(str(message)) + len(jpeg) < 15_000  # at 10 Hz under 150 kB/s
        async with client(port) as late:
            assert await late.next("tick") is None
            assert late.socket.close_code == cockpit_socket.TOO_MANY_VIEWERS
        async with client(port) as driver:  # a dozen strangers kept him out
            await driver.send({"token": TOKEN})
            assert await driver.next("may_control") and await driver.next("tick")
            while await opened[0].next("tick"):
                pass
        for each in viewers:
            await each.__aexit__(None, None, None)

    play(story)


def test_a_viewer_that_stops_reading_neither_blocks_nor_piles_up(monkeypatch):
    monkeypatch.setattr(cockpit_hub, "STUCK_S", 1.0)
    monkeypatch.setattr(cockpit_hub, "RATE_HZ", 200.0)
    hello = "GET /aicc/socket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    hello += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

    async def story(cockpit, port):
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.connect(("127.0.0.1", port))
            lazy.sendall(hello.encode())
            async with client(port) as good:
                seen, end = 0, time.monotonic() + 30
                while time.monotonic() < end and (cockpit.hub.viewers != 1 or seen < 50):
                    assert await good.next("tick")
                    seen += 1
                assert cockpit.hub.viewers == 1, "the lazy one was never let go"

    play(story, instruments={"bulk": lambda: "x" * 200_000})


def test_wrong_tokens_cost_their_own_connection_and_never_the_right_one():
    """Ten of them locked out the right one from the same address, which was then told that it is wrong."""

    async def story(cockpit, port):
        for _ in range(5):
            async with client(port) as thief:
                for _ in range(cockpit_socket.MOST_WRONG):
                    await thief.send({"token": "guessed1"})
                while await thief.next("never"):
                    pass
                assert thief.socket.close_code == cockpit_socket.POLICY
        async with client(port) as driver:
            await driver.send({"token": 10**400})
            await driver.send({"token": TOKEN})
            await driver.send({"do": "arm"})
            assert (await driver.next("reply"))["done"] is True

    play(story)


def test_a_crowd_at_the_same_address_does_not_push_out_whoever_has_the_token(monkeypatch):
    """Everybody behind one router has one address: its oldest connection went, which was the driver's."""
    monkeypatch.setattr(cockpit_under_test, "HTTPServer", partial(bounded_server, most_connections=6))

    async def story(cockpit, port):
        async with client(port) as driver, AsyncExitStack() as crowd:
            await driver.send({"token": TOKEN})
            await driver.next("may_control")
            for _ in range(20):
                await crowd.enter_async_context(client(port))
            await driver.send({"do": "stop"})
            assert (await driver.next("reply"))["done"] is True

    play(story)


def test_a_flood_without_the_token_is_neither_answered_nor_kept():
    """A stop was exempt from the limit: 20 sockets sent 12,482 of them in 6 s, and the page was 4.5 s late."""

    async def story(cockpit, port):
        async with client(port) as flood:
            for _ in range(600):
                await flood.send({"do": "stop"})
            replies = 0
            while reply := await flood.next("reply"):
                replies += 1
                assert reply["done"] is False
            assert flood.socket.close_code == cockpit_socket.POLICY and replies < 100 and cockpit.asked == []

    play(story)


def test_whoever_looks_may_stop_the_car_at_any_time_but_a_flood_of_stops_is_not_answered():
    async def story(cockpit, port):
        async with client(port) as stranger:
            for _ in range(150):
                await stranger.send({"do": "arm"})
            await stranger.send({"do": "halt"})
            while not cockpit.asked:
                await asyncio.sleep(0.01)
            assert cockpit.asked == ["halt"]
            for _ in range(600):
                await stranger.send({"do": "halt"})
            replies = 0
            while await stranger.next("reply"):
                replies += 1
            assert stranger.socket.close_code == cockpit_socket.POLICY and replies < 100

    play(story)


@pytest.mark.parametrize("token", ["short", "has a space in it", "", "é" * 10])
def test_a_fixed_token_must_fit_into_a_link(token):
    with pytest.raises(ConfigError, match="the token must be 8 to 128"):
        Access(token)


def test_every_start_has_another_token():
    assert Access().token != Access().token


def test_silence_lets_go_of_a_held_button():
    now, events = [0.0], []
    hold = Hold(lambda: events.append("press"), lambda: events.append("release"), clock=lambda: now[0])
    hold.set(True)
    now[0] = 0.9
    hold.set(True)
    now[0] = 1.8
    hold.check()
    assert events == ["press"]
    now[0] = 2.0
    hold.check()
    hold.set(False)
    assert events == ["press", "release"]


def test_a_rate_limit_fills_up_again():
    now = [0.0]
    limit = RateLimit(2.0, 3.0, clock=lambda: now[0])
    assert [limit.allows() for _ in range(4)] == [True, True, True, False]
    now[0] = 1.0
    assert [limit.allows() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, {"a": 1}, object(), np.zeros((2, 2)), None])
def test_what_json_can_not_hold_is_not_known(value):
    assert plain(value) is None


@pytest.mark.parametrize("shape", [(120, 160, 3), (480, 640, 3), (1080, 1920, 3), (64, 64), (64, 64, 1)])
def test_a_picture_of_pure_noise_stays_small(shape):
    noise = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    assert 0 < len(jpeg_of(noise)) <= LARGEST_JPEG


@pytest.mark.parametrize("bad", [None, np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8), "x"])
def test_what_is_no_picture_is_left_out(bad):
    assert jpeg_of(bad) == b""


def test_the_heat_is_where_the_error_is():
    import base64

    error = np.full((3, 64, 64), 1e-3, np.float32)
    error[:, :8, :8] = 4e-2
    error[:, 8:, 8:] = 4e-3  # what edges of nominal frames have
    heat = np.frombuffer(base64.b64decode(heat_of(error, 1e-3)), np.uint8).reshape(16, 16)
    assert (heat[:2, :2] == 255).all()
    assert (heat == 128).sum() == 256 - 4  # as usual
