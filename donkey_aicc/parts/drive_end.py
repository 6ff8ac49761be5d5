"""DriveEnd: a drive ends in order when somebody asks for it, or when nobody can steer any more."""

import logging
import signal
import threading
from types import FrameType
from typing import Any

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DriveEnd:
    """Donkeycar part: ends the drive between two loops on Ctrl-C, SIGTERM or SIGHUP, and when the controller's thread has died.

    donkeycar's own way, a KeyboardInterrupt wherever the loop happens to be, may cut a record in half; SIGTERM and SIGHUP would
    leave the motor at its last throttle, as a game controller does that was unplugged. A second signal interrupts at once.
    """

    def __init__(self, vehicle: Any) -> None:
        self._vehicle = vehicle
        self._former: dict[int, Any] = {}
        self._controllers: list[dict[str, Any]] | None = None

    def run(self) -> None:
        """Once a tick."""
        if self._controllers is None:
            self._begin()
        for entry in self._controllers or ():
            if not entry["thread"].is_alive():
                logger.error("%s is lost; the drive ends", type(entry["part"]).__name__)
                self._vehicle.on = False

    def _begin(self) -> None:
        entries = self._vehicle.parts
        self._controllers = [each for each in entries if each.get("thread") and "user/throttle" in each["outputs"]]
        self._controllers = [each for each in self._controllers if each["thread"].ident is not None]  # in a loop that was started
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                ours = getattr(before, "__func__", None) is DriveEnd._on_signal  # of a drive before
                if ours or before in (signal.SIG_DFL, signal.default_int_handler):  # nohup and others keep theirs
                    self._former[number] = signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._vehicle.on = False
        for each in self._former:
            signal.signal(each, signal.default_int_handler)

    def shutdown(self) -> None:
        """Give the signals back."""
        while self._former:
            signal.signal(*self._former.popitem())
        self._controllers = None
