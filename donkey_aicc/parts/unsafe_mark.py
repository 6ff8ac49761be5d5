"""UnsafeMark: a person's judgement of the driving, recorded with every frame."""

import logging
from collections.abc import Callable, MutableMapping
from typing import Any

from donkey_aicc import channels

logger = logging.getLogger(__name__)


class UnsafeMark:
    """Donkeycar part: web button -> whether the frame of this tick is marked as unsafe.

    donkeycar's page tells that a button was clicked, not how long it is held: one click begins a mark, the next one ends
    it. The button of a game controller (`press`, `release`) marks while it is held, one frame at least.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._switched_on = self._down = self._held = self._tapped = False

    def run(self, clicked: object = None) -> bool:
        """clicked: true while the web page reports a click."""
        if clicked and not self._down:
            self._switched_on = not self._switched_on
            logger.info("unsafe mark %s", "on" if self._switched_on else "off")
        self._down = bool(clicked)
        marked = self._switched_on or self._held or self._tapped
        self._tapped = False
        return marked

    def press(self) -> None:
        """The controller's button went down; called from the controller's thread."""
        self._held = self._tapped = True

    def release(self) -> None:
        """The controller's button went up."""
        self._held = False

    def shutdown(self) -> None:
        """Nothing of this drive goes into the next."""
        self._forget()


class AttendedMark(UnsafeMark):
    """The mark of a page that comes and goes: while nobody is there to mark, a frame has no mark at all.

    Recorded as False it would read as if somebody had watched and found it safe. A part cannot put None into a channel by
    returning it, hence the memory.
    """

    def __init__(self, memory: MutableMapping[str, Any], attended: Callable[[], bool]) -> None:
        super().__init__()
        self._memory, self._attended = memory, attended

    def run(self, clicked: object = None) -> None:  # type: ignore[override]
        """Writes the channel itself."""
        marked = super().run(clicked)
        self._memory[channels.UNSAFE_MARK] = marked if self._attended() else None
