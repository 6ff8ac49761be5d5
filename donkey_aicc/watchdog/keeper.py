"""The watchdog's own process: `python -m donkey_aicc.watchdog.keeper SOCKET PARENT LIMIT_S ORDERS`. Imports no numpy.

It hears a byte per tick of the drive loop and answers each. Without one for `LIMIT_S` the motor is brought to neutral, and again
every few milliseconds until the loop is back. The end of the line means that the car's process is dead. Signals to that process
are heard at once, even while it hangs: if it does not end by itself it is ended.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from donkey_aicc.watchdog.neutral import Device, make_neutral, open_devices

BEAT, OWN_NEUTRAL, BYE, READY, HELD, FREE = b"b", b"n", b"q", b"r", b"h", b"f"
ENDING = tuple(bytes([number]) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))  # as a wake-up line tells them
REPEAT_S = 0.02  # a motor thread of a hung loop may still write: neutral is written as often
OWN_S = 0.08  # for the hanging process to make its motor neutral itself
END_S, END_AGAIN_S = 10.0, 1.0  # for a drive to end after a first signal (threads are waited for), and after a second
AFTER_DEATH_S = 2.0  # of neutral: a motor driver that was switched on again, or a child that still writes, hears it too


def is_stopped(process: int) -> bool:
    """By SIGSTOP or a debugger. Only Linux tells."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "Tt"
    except (OSError, IndexError):
        return False


class Keeper:
    """One drive's watch."""

    def __init__(self, line: socket.socket, parent: int, limit_s: float, devices: list[Device]) -> None:
        self._line, self._parent, self._limit_s, self._devices = line, parent, limit_s, devices
        self._beat_s: float | None = None  # None: the loop has not begun
        self._holds = self._own = False
        self._end_s = float("inf")  # the process must be gone by then

    def watch(self) -> None:
        """Until the drive ends."""
        while True:
            wait_s = REPEAT_S if self._holds or self._beat_s is None else self._beat_s + self._limit_s - time.monotonic()
            ready, _, _ = select.select([self._line], [], [], min(max(wait_s, 0.0), REPEAT_S * 5))
            said = self._hear() if ready else b""
            now = time.monotonic()
            if said is None or BYE in said or os.getppid() != self._parent:
                self._last(dead=said is None or BYE not in said)
                return
            self._note_signals(said, now)
            if OWN_NEUTRAL in said:
                self._own = True
            if BEAT in said:
                self._beat_s = now
                self._let_go()
            elif self._beat_s is not None and now - self._beat_s >= self._limit_s:
                self._hold(now - self._beat_s)
            if now >= self._end_s:
                self._kill()

    def _hear(self) -> bytes | None:
        try:
            said = self._line.recv(4096)
            if BEAT in said:
                self._line.send(BEAT)
        except BlockingIOError:
            return b""
        except OSError:
            return None
        return said or None

    def _note_signals(self, said: bytes, now: float) -> None:
        for _ in range(sum(said.count(each) for each in ENDING)):
            self._end_s = min(self._end_s, now + (END_S if self._end_s == float("inf") else END_AGAIN_S))

    def _hold(self, silent_s: float) -> None:
        """The loop is silent."""
        if not self._holds:
            self._holds = True
            with contextlib.suppress(OSError):
                self._line.send(HELD)
        for device in self._devices:
            if not device.in_process or is_stopped(self._parent):
                make_neutral([device])
            elif not self._own and silent_s >= self._limit_s + OWN_S:
                self._kill()  # it hangs so deep that its own threads cannot act: only its end ends its pulses

    def _let_go(self) -> None:
        self._own = False
        if self._holds:
            self._holds = False
            for device in self._devices:
                device.release()
            with contextlib.suppress(OSError):
                self._line.send(FREE)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._parent, signal.SIGKILL)

    def _last(self, dead: bool) -> None:
        """The car's process has ended, or says goodbye: neutral once more, for drivers that would keep their last value."""
        until = time.monotonic() + (AFTER_DEATH_S if dead else 0.0)
        while True:
            make_neutral(self._devices if dead else [each for each in self._devices if not each.in_process])
            if time.monotonic() >= until:
                return
            time.sleep(REPEAT_S)


def main(arguments: list[str]) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # whoever ends the car ends us too early otherwise
        signal.signal(number, signal.SIG_IGN)
    line = socket.socket(fileno=int(arguments[0]))
    orders: list[dict[str, Any]] = json.loads(arguments[3])
    try:
        devices = open_devices(orders)
    except Exception as error:  # a library that is not installed, a port that is gone
        line.sendall(f"{type(error).__name__}: {error}"[:300].encode())
        return 1
    line.sendall(READY)
    line.setblocking(False)
    with contextlib.suppress(OSError):
        os.nice(-10)  # only root may
    Keeper(line, int(arguments[1]), float(arguments[2]), devices).watch()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
