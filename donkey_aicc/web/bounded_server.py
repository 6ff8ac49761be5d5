"""A web server whose clients cannot make it hold more than so much: sizes, times and connections are limited."""

from collections import Counter
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream
from tornado.web import Application

LARGEST_REQUEST = 2_000_000  # bytes
LARGEST_HEADER = 16_384
MOST_CONNECTIONS = 32
IDLE_S = 120.0  # a connection without a request
READ_S = 30.0  # to send a whole request, and to read a whole answer


class BoundedServer(HTTPServer):
    """With too many connections, the address that holds most of them loses its oldest.

    So nobody at one address can keep others out, and a phone whose lines broke gets in again at once.
    """

    most_connections = MOST_CONNECTIONS
    _held: dict[IOStream, Any]  # in the order in which they came

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        held = {each: place for each, place in getattr(self, "_held", {}).items() if not each.closed()}
        held[stream] = address[0] if isinstance(address, tuple) else address
        while len(held) > self.most_connections:
            loudest = Counter(held.values()).most_common(1)[0][0]
            oldest = next(each for each, place in held.items() if place == loudest)
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
