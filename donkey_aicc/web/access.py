"""Who may press and who may look, and how much anybody can make a server hold.

Where a request comes from, and one token, printed where only its person sees it. Sizes, times and connections of a server's
clients are limited.
"""

import hmac
import ipaddress
import re
import secrets
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream
from tornado.web import Application

from donkey_aicc.errors import ConfigError

OPEN, BY_TOKEN = "open", "token"
_FORM = re.compile(r"[A-Za-z0-9_-]{8,128}")
LOCAL_ENDINGS = (".local", ".lan", ".home", ".home.arpa", ".internal", ".localdomain", ".fritz.box")  # no public names


def same_origin(headers: Mapping[str, str]) -> bool:
    """Whether no other site's page sent this: browsers name the page's address in Origin; other programs send none."""
    origin = headers.get("Origin") or headers.get("Sec-Websocket-Origin")
    try:
        return origin is None or (urlsplit(origin).netloc.lower() == headers.get("Host", "").lower() != "")
    except ValueError:  # half of an IPv6 address
        return False


def known_host(host: str) -> bool:
    """Whether the Host header names this machine: a stranger's name that resolves to our address does not."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    own = socket.gethostname().lower().split(".")[0]
    if name == "localhost" or name == own or any(name == own + ending for ending in LOCAL_ENDINGS):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def same_token(given: object, token: str) -> bool:
    """Compared in constant time, so that the time of an answer tells nothing about how much was right."""
    return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


class Access:
    """The token of a drive. The right one always counts, whatever others at the same address have tried.

    Guesses are slowed where they come in: a connection has few of them. Ours have 96 bits, a user's own at least 8 characters.
    """

    def __init__(self, token: str | None = None, view: str = OPEN) -> None:
        if token is not None and not _FORM.fullmatch(token):
            raise ConfigError(f"the token must be 8 to 128 letters, digits, - or _, got {len(token)} characters that are not")
        self.token = token or secrets.token_urlsafe(12)
        self.view = view

    def admits(self, given: object) -> bool:
        """Whether this is the token."""
        return same_token(given, self.token)


class RateLimit:
    """So many a second, with a store for a short rush."""

    def __init__(self, per_s: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._left, self._at = burst, clock()

    def allows(self) -> bool:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


def own_address() -> str:
    """The address under which others in the same network reach this machine. Nothing is sent to find out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))
            return str(probe.getsockname()[0])
        except OSError:
            return "localhost"


def announcement(link: str) -> str:
    """What a drive says at its start."""
    said = (
        f"Cockpit: {link}\n(whoever has this link can inject faults and change modes; without the part after # you can only look)"
    )
    return f"{qr_code(link)}{said}"


def qr_code(link: str) -> str:
    """For a phone; nothing if there is no terminal to show it."""
    if not sys.stdout.isatty():
        return ""
    import io

    import segno

    code = io.StringIO()
    segno.make(link, error="l", micro=False).terminal(out=code, border=2, compact=True)
    return code.getvalue()


def qr_picture(link: str) -> bytes:
    """SVG, dark on light whatever the page's colours are: cameras want it so."""
    import io

    import segno

    code = io.BytesIO()
    segno.make(link, error="l", micro=False).save(code, kind="svg", scale=8, border=2, dark="#000", light="#fff")
    return code.getvalue()


LARGEST_REQUEST = 2_000_000  # bytes
LARGEST_HEADER = 16_384
MOST_CONNECTIONS = 32
IDLE_S = 120.0  # a connection without a request
READ_S = 30.0  # to send a whole request, and to read a whole answer


def trust(stream: IOStream) -> None:
    """Its client has shown the token."""
    stream.shown_the_token = True  # type: ignore[attr-defined]


def is_trusted(stream: IOStream) -> bool:
    """Whether `trust` was called with it."""
    return hasattr(stream, "shown_the_token")


class BoundedServer(HTTPServer):
    """With too many connections, the address that holds most of them loses its oldest, trusted ones last.

    So nobody at one address can keep others out, a phone whose lines broke gets in again at once, and whoever has shown the token
    is not pushed out by strangers who share an address with him.
    """

    most_connections = MOST_CONNECTIONS
    _held: dict[IOStream, Any]  # in the order in which they came

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        held = {each: place for each, place in getattr(self, "_held", {}).items() if not each.closed()}
        held[stream] = address[0] if isinstance(address, tuple) else address
        while len(held) > self.most_connections:
            loudest = Counter(held.values()).most_common(1)[0][0]
            oldest = min((each for each, place in held.items() if place == loudest), key=is_trusted)
            del held[oldest]
            oldest.close()
        self._held = held
        super().handle_stream(stream, address)


def bounded_server(app: Application, most_connections: int = MOST_CONNECTIONS) -> BoundedServer:
    """On no socket yet; needs a running event loop."""
    server = BoundedServer(
        app,
        max_body_size=LARGEST_REQUEST,
        max_buffer_size=LARGEST_REQUEST + LARGEST_HEADER,
        max_header_size=LARGEST_HEADER,
        idle_connection_timeout=IDLE_S,
        body_timeout=READ_S,
    )
    server.most_connections = most_connections
    return server
