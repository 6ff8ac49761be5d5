"""The shared page server over real sockets: what it serves, and what a client can not make it do or hold."""

import asyncio
import http.cookiejar
import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.web import access, page_server
from donkey_aicc.web.page_server import Blob, Page, number, serve
from tests.served_page import get, post, served


def refuse(given):
    raise AiccError("the value must be small, got " + "9" * 5000)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("<p>hello</p>")
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path / "page"


@pytest.fixture
def page(folder):
    return Page(
        folder,
        get={"frame": lambda query: Blob(str(number(query.get("t"), "t")).encode())},
        post={"echo": lambda given: given, "refuse": refuse, "crash": lambda given: 1 / 0},
    )


@pytest.fixture
def address(page):
    with served(page) as address:
        yield address


def status_of(call, *args, **kwargs):
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(*args, **kwargs)
    return refused.value.code


def test_files_functions_and_the_shared_look(address):
    assert get(address, "/")[1] == b"<p>hello</p>"
    assert get(address, "/look/look.css")[1] == (page_server.LOOK / "look.css").read_bytes()
    assert get(address, "/api/frame?t=1.5") == ("image/jpeg", b"1.5")
    assert post(address, "echo", {"a": [1, None]}) == (200, {"a": [1, None]})


@pytest.mark.parametrize(
    ("name", "body", "status", "said"),
    [
        ("echo", [1], 400, "must be an object"),
        ("echo", b"{", 400, "not usable JSON"),
        ("echo", b'{"a":' + b"[" * 100_000, 400, "nested at most"),
        ("echo", b'{"a":' + b"9" * 100_000 + b"}", 400, "not usable JSON"),
        ("crash", {}, 500, "Internal"),
        ("absent", {}, 404, "no such request"),
    ],
)
def test_bad_requests_get_one_message_and_the_page_lives_on(address, name, body, status, said):
    given, answer = post(address, name, body)
    assert given == status
    assert said in answer["error"]
    assert post(address, "echo", {"still": "there"})[0] == 200


def test_a_long_message_is_cut(address):
    assert len(post(address, "refuse", {})[1]["error"]) == page_server.LONGEST_MESSAGE


@pytest.mark.parametrize("value", ["", "left", "nan", "inf", "1e999"])
def test_a_query_takes_only_numbers(address, value):
    assert status_of(get, address, f"/api/frame?t={value}") == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://[half"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Content_Type": "text/plain"},
    ],
)
def test_another_site_can_not_act(address, headers):
    assert post(address, "echo", {"a": 1}, **headers)[0] in (400, 403)


def test_the_pages_own_origin_may(address):
    assert post(address, "echo", {"a": 1}, Origin=address)[0] == 200


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/look/../page_server.py", "//etc/passwd", "/%00", "/look/%00"]
)
def test_files_outside_are_not_served(address, path):
    assert status_of(get, address, path) in (403, 404)


def test_a_large_body_is_refused_unread(address):
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        status, _ = post(address, "echo", b" " * (access.LARGEST_REQUEST + 1))
        raise ConnectionError(status)  # some systems deliver the refusal before they cut the line


def _asks(address, own="127.0.0.1"):
    """A connection from this address of the same machine that has asked once and stays open."""
    host, port = address.removeprefix("http://").split(":")
    line = socket.create_connection((host, int(port)), timeout=10, source_address=(own, 0))
    line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert line.recv(4096).startswith(b"HTTP/1.1 200")
    return line


def test_with_too_many_connections_the_loudest_loses_its_oldest(address):
    guest = _asks(address, "127.0.0.2")
    loud = [_asks(address) for _ in range(access.MOST_CONNECTIONS + 4)]
    assert [_read(each) for each in loud[:5]] == [b""] * 5
    for each in (guest, loud[5], loud[-1]):
        each.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert _read(each).startswith(b"HTTP/1.1 200")
    for each in (guest, *loud):
        each.close()


def test_a_page_for_others_needs_the_printed_link(page):
    with served(page, "the-token") as address:
        for path in ("/", "/index.html", "/look/look.css", "/api/frame?t=1", "/?token=another", "/?token=%ff%ff"):
            assert status_of(get, address, path) in (400, 403)
        assert post(address, "echo", {"a": 1})[0] == 403
        assert status_of(get, address, "/", Cookie="aicc_page=the-token") == 403
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        with browser.open(f"{address}/?token=the-token", timeout=20) as answer:
            assert (answer.read(), answer.url) == (b"<p>hello</p>", f"{address}/")
        with browser.open(f"{address}/api/frame?t=1.5", timeout=20) as answer:
            assert answer.read() == b"1.5"


@pytest.mark.parametrize(("host", "token"), [("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)])
def test_only_beyond_this_machine_is_a_token_asked_for(folder, host, token):
    program = (
        "from pathlib import Path; from donkey_aicc.web.page_server import Page, serve\n"
        f"serve(Page(Path({str(folder)!r})), {host!r}, 0, lambda link: print(link, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as serving:
        link = serving.stdout.readline().strip()
        place = re.fullmatch(r"http://[^/]+:(\d+)/(\?token=\S{16})?", link)
        bare = f"http://127.0.0.1:{place[1]}"
        assert bool(place[2]) == token
        assert status_of(get, bare, "/") == 403 if token else get(bare, "/")[1] == b"<p>hello</p>"
        serving.terminate()  # no SIGINT: a background job's children ignore it, and this would wait for ever


def test_waiting_requests_are_counted_and_none_is_run_twice_at_once(folder):
    gate, inside, most = threading.Event(), [], []

    def slow(given):
        inside.append(given)
        most.append(len(inside))
        gate.wait(20)
        inside.remove(given)
        return {}

    wanted = page_server.MOST_WAITING + 6
    with served(Page(folder, post={"slow": slow})) as address, ThreadPoolExecutor(wanted) as clients:
        answers = [clients.submit(post, address, "slow", {"n": number}) for number in range(wanted)]
        refused = _first_done(answers, 6)
        gate.set()
        statuses = sorted(each.result()[0] for each in answers)
    assert [each[0] for each in refused] == [503] * 6
    assert statuses == [200] * page_server.MOST_WAITING + [503] * 6
    assert max(most) == 1


def _first_done(futures, count):
    for _ in range(200):
        done = [each.result() for each in futures if each.done()]
        if len(done) >= count:
            return done
        threading.Event().wait(0.05)
    raise AssertionError("nobody was refused")


def test_a_client_that_never_reads_loses_its_line(folder, monkeypatch):
    gave_up, wait_for = threading.Event(), asyncio.wait_for

    async def watched(*arguments):
        try:
            return await wait_for(*arguments)
        finally:
            gave_up.set()

    monkeypatch.setattr(page_server, "READ_S", 0.3)
    monkeypatch.setattr(asyncio, "wait_for", watched)
    big = Page(folder, get={"big": lambda query: Blob(b"x" * 50_000_000, "application/octet-stream")})
    with served(big) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as lazy:
            lazy.sendall(b"GET /api/big HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert gave_up.wait(60)
            got = 0
            while block := _read(lazy):
                got += len(block)
    assert 0 < got < 50_000_000


def _read(connection):
    try:
        return connection.recv(1 << 20)
    except ConnectionResetError:
        return b""


def test_a_taken_port_is_said(page, address):
    with pytest.raises(AiccError, match="choose another --port"):
        serve(page, "127.0.0.1", int(address.rsplit(":", 1)[1]), print)
