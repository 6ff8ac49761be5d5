"""All viewers of one drive: each gets the newest message ten times a second, or as often as it can read."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from donkey_aicc.web.access import Access
from donkey_aicc.web.cockpit_exchange import CockpitFeed, jpeg_of, pack, plain

RATE_HZ = 10.0
MOST_VIEWERS = 12
STUCK_S = 10.0  # a viewer that reads nothing for so long is let go

logger = logging.getLogger(__name__)
Instrument = Callable[[], Any]


class Viewer(Protocol):
    """One open page; see donkey_aicc.web.cockpit_socket."""

    may_control: bool
    wants_heat: bool

    def send(self, message: bytes) -> "asyncio.Future[Any]": ...

    def leave(self) -> None: ...


class CockpitHub:
    """Runs in the web server's thread only. Builds nothing while nobody looks, and one message for all who do.

    A message is handed to a viewer only when it has taken the one before: what a slow one misses is not kept for it.
    instruments: what the page shows beside the channels, by name; called for each message, and never in the drive loop.
    """

    def __init__(
        self,
        feed: CockpitFeed,
        access: Access,
        about: Mapping[str, Any],
        instruments: Mapping[str, Instrument],
        heat: Instrument | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.feed, self.access, self.about = feed, access, about
        self._instruments, self._heat, self._clock = instruments, heat, clock
        self._viewers: dict[Viewer, tuple[asyncio.Future[Any] | None, float]] = {}  # what is on its way, since when
        self._pump: asyncio.Task[None] | None = None
        self._complained: set[str] = set()
        self.on_beat: list[Callable[[], None]] = []

    @property
    def viewers(self) -> int:
        return len(self._viewers)

    @property
    def attended(self) -> bool:
        """Whether somebody who may control is there. Read by the drive loop."""
        return any(viewer.may_control for viewer in tuple(self._viewers))

    def join(self, viewer: Viewer) -> bool:
        """False when there are too many already. Whoever may control takes the place of the oldest who only looks."""
        if len(self._viewers) >= MOST_VIEWERS:
            guest = next((each for each in self._viewers if not each.may_control), None)
            if guest is None or not viewer.may_control:
                return False
            self.leave(guest)
            guest.leave()
        self._viewers[viewer] = (None, self._clock())
        if self._pump is None or self._pump.done():
            self._pump = asyncio.get_running_loop().create_task(self._run())
        return True

    def leave(self, viewer: Viewer) -> None:
        self._viewers.pop(viewer, None)

    async def _run(self) -> None:
        while self._viewers:
            try:
                self._beat()
            except Exception:  # the page must live on
                logger.exception("a message for the cockpit failed")
            await asyncio.sleep(1.0 / RATE_HZ)
        for each in self.on_beat:
            each()

    def _beat(self) -> None:
        for each in self.on_beat:
            each()
        now = self._clock()
        ready = []
        for viewer, (sending, since) in list(self._viewers.items()):
            if sending is None or sending.done():
                ready.append(viewer)
            elif now - since > STUCK_S:
                self.leave(viewer)
                viewer.leave()
        if ready:
            message = self.message(any(viewer.wants_heat for viewer in ready))
            for viewer in ready:
                self._viewers[viewer] = (viewer.send(message), now)

    def message(self, with_heat: bool = False) -> bytes:
        """The newest tick as it goes over the line."""
        tick = self.feed.latest
        said: dict[str, Any] = {"age_s": plain(self.feed.age_s())}
        jpeg = b""
        if tick is not None:
            values = tick.named()
            jpeg = jpeg_of(values.pop("image"))
            said |= {"tick": tick.number, "t": plain(tick.time_s)}
            said |= {name: value for name, each in values.items() if (value := plain(each)) is not None}
        for name, instrument in self._instruments.items():
            said[name] = self._read(name, instrument)
        if with_heat and self._heat is not None:
            said["heat"] = self._read("heat", self._heat)
        return pack(said, jpeg)

    def _read(self, name: str, instrument: Instrument) -> Any:
        try:
            return instrument()
        except Exception:  # one broken instrument must not darken the others
            if name not in self._complained:
                self._complained.add(name)
                logger.exception("the cockpit cannot read %s", name)
            return None
