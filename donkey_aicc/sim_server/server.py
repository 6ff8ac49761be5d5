"""The server: for every client a task that listens and one that ticks, all in one thread; no client waits for another."""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.sim_server.messages import MOST_BYTES, Messages, line
from donkey_aicc.sim_server.served_car import HEAVY, ServedCar
from donkey_aicc.sim_server.server_settings import ServerSettings

logger = logging.getLogger(__name__)

MOST_CLIENTS = 16
MOST_UNSENT = 1 << 18  # bytes that wait for a client; beyond it its frames are left out
STALLED_S = 30.0  # without reading anything
IDLE_S = 120.0  # without a scene and without a message
GREET_AFTER_S, GREET_EVERY_S = 0.1, 1.0  # gym-donkeycar forgets what comes before it listens
REMIND_S = 1.0  # stepped: the same frame again, for a client's own queue may lose a command
_REST_S = 0.005  # after as many bytes as fit: whoever floods us gets no more than its share


class SimServer:
    """`await run()` until it is cancelled."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.port = settings.port
        self._cars: dict[int, ServedCar] = {}

    async def run(self, ready: Callable[["SimServer"], None] = lambda server: None) -> None:
        """ready: called when clients can connect."""
        settings = self.settings
        try:
            server = await asyncio.start_server(self._serve, settings.host, settings.port, limit=MOST_BYTES)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise AiccError(f"port {settings.port} of {settings.host} cannot be used: {reason}; see --port") from error
        self.port = server.sockets[0].getsockname()[1]
        ready(self)
        async with server:
            await server.serve_forever()

    def _others(self, car: ServedCar) -> list[ServedCar]:
        if not self.settings.together:
            return []
        return [other for other in self._cars.values() if other is not car and other.loaded and other.scene == car.scene]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        free = next((number for number in range(MOST_CLIENTS) if number not in self._cars), None)
        client = _Client(reader, writer)
        if free is None:
            logger.warning("a client is turned away: there are %d already", MOST_CLIENTS)
        else:
            car = self._cars[free] = ServedCar(self.settings, free, self._others)
            try:
                await client.run(car, self.settings)
            except (OSError, OverflowError, TimeoutError) as error:
                logger.info("%s: %s", car.name, error)
            except Exception:  # whatever a client brings about, the others drive on
                logger.exception("%s is let go", car.name)
            finally:
                del self._cars[free]
                logger.info("%s has gone", car.name)
        writer.transport.abort()


class _Client:
    """The socket's side of one car."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._writer.transport.set_write_buffer_limits(high=MOST_UNSENT)
        self._busy = asyncio.Lock()  # a scene is being built
        self._last_s = 0.0  # when it was last heard, or reminded

    async def run(self, car: ServedCar, settings: ServerSettings) -> None:
        """Until the client goes, or does what nobody should."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._last_s = _now()
        ticking = self._remind(car) if settings.stepped else self._pace(car, 1.0 / settings.rate_hz)
        beside = [asyncio.ensure_future(self._guard(work)) for work in (self._greet(car), ticking)]
        try:
            await self._listen(car, settings.stepped)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _guard(self, work: Coroutine[None, None, None]) -> None:
        """If it fails the client is let go, which ends `_listen` too."""
        try:
            await work
        except TimeoutError as error:
            logger.info("%s", error)
            self._writer.transport.abort()
        except Exception:
            logger.exception("a client is let go")
            self._writer.transport.abort()

    async def _greet(self, car: ServedCar) -> None:
        """Until it is answered; then let go of whoever holds a place and drives nothing."""
        await asyncio.sleep(GREET_AFTER_S)
        began = self._last_s
        while self._last_s == began and _now() - began < IDLE_S:
            self._send(line("scene_selection_ready", loaded="1"))
            await asyncio.sleep(GREET_EVERY_S)
        while car.loaded or self._busy.locked() or _now() - self._last_s < IDLE_S:
            await asyncio.sleep(IDLE_S / 10)
        raise TimeoutError(f"{car.name} has loaded no scene for {IDLE_S:g} s")

    async def _pace(self, car: ServedCar, period_s: float) -> None:
        """A tick by the clock; time lost is not caught up."""
        due, taken = _now(), _now()
        while True:
            due = max(due + period_s, _now())
            await asyncio.sleep(due - _now())
            if self._writer.transport.get_write_buffer_size() <= MOST_UNSENT:
                taken = _now()
            elif _now() - taken > STALLED_S:
                raise TimeoutError(f"{car.name} has read nothing for {STALLED_S:g} s")
            if not self._busy.locked():
                self._send(*car.tick())

    async def _remind(self, car: ServedCar) -> None:
        while True:
            await asyncio.sleep(REMIND_S)
            if car.loaded and not self._busy.locked() and _now() - self._last_s > REMIND_S:
                self._send(car.telemetry())

    async def _listen(self, car: ServedCar, stepped: bool) -> None:
        messages = Messages()
        while data := await self._reader.read(MOST_BYTES):
            full, self._last_s = len(data) == MOST_BYTES, _now()
            while data is not None:
                try:
                    for message in messages.feed(data):
                        if message.get("msg_type") == "quit_app":
                            return
                        await self._answer(car, message, stepped)
                    data = None
                except AiccError as error:
                    car.say(str(error))
                    data = b""
            await asyncio.sleep(_REST_S if full else 0.0)

    async def _answer(self, car: ServedCar, message: dict[str, Any], stepped: bool) -> None:
        if message.get("msg_type") in HEAVY:
            async with self._busy:
                answers = await asyncio.to_thread(car.handle, message)
        else:
            answers = car.handle(message)
        if stepped and message.get("msg_type") == "control":
            answers = [*answers, *car.tick()]
            await asyncio.wait_for(self._writer.drain(), STALLED_S)
        self._send(*answers)

    def _send(self, *lines: bytes) -> None:
        """What a client does not fetch is left out: its frames are old by then, and memory is not for them."""
        if lines and self._writer.transport.get_write_buffer_size() <= MOST_UNSENT:
            self._writer.write(b"".join(lines))


def _now() -> float:
    return asyncio.get_running_loop().time()
