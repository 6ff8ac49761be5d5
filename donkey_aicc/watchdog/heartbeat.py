"""The drive loop's side of the watchdog: starts the process, beats in every tick, ends a drive that has lost its watchdog."""

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from donkey_aicc.watchdog.keeper import BEAT, BYE, HELD, OWN_NEUTRAL, READY
from donkey_aicc.watchdog.orders import Orders

logger = logging.getLogger(__name__)

LIMIT_S, LIMIT_TICKS = 0.2, 2.5  # of silence: with the rest of the way the motor is neutral within 0.3 s
START_S = 20.0  # for the process to say that it is ready; a Raspberry Pi needs two seconds
SILENCE_S = 2.0  # of a watchdog that is there and does not answer


def limit_s(rate_hz: float) -> float:
    """Silence of the loop after which the motor is made neutral; a slow loop is waited for."""
    return max(LIMIT_S, LIMIT_TICKS / rate_hz)


class NoWatchdog(Exception):
    """The process could not begin its watch; says why."""


class Heartbeat:
    """Donkeycar part, last in the loop: nothing in, nothing out.

    While the loop hangs, a thread of its own makes the motors neutral, because only this process can stop pulses that its own
    threads still make. The other process is for when this one cannot.
    """

    def __init__(self, vehicle: Any, orders: Orders, rate_hz: float) -> None:
        """Raises NoWatchdog where the process cannot watch."""
        self._vehicle, self._motors, self._limit_s = vehicle, orders.motors, limit_s(rate_hz)
        self._line, theirs = socket.socketpair()
        command = [sys.executable, "-m", "donkey_aicc.watchdog.keeper", str(theirs.fileno()), str(os.getpid())]
        command += [str(self._limit_s), json.dumps(orders.orders)]
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        )
        theirs.close()
        self._line.settimeout(START_S)
        said = b""
        with contextlib.suppress(OSError):
            said = self._line.recv(512)
        if said != READY:
            self._process.kill()
            self._process.wait()
            self._line.close()
            raise NoWatchdog(said.decode("utf-8", "replace") or "its process did not begin")
        self._line.setblocking(False)
        self._beat_s: float | None = None
        self._heard_s = 0.0
        self._over = threading.Event()
        self._wakeup: int | None = None

    def run(self) -> None:
        """Once a tick. Never raises."""
        now = time.monotonic()
        if self._beat_s is None:
            self._begin(now)
        said = self._exchange()
        if said:
            self._heard_s = now
        if said and HELD in said and self._beat_s is not None:
            logger.warning("the drive loop was silent for %.2f s; the motor was neutral meanwhile", now - self._beat_s)
        self._beat_s = now
        if said is None or now - self._heard_s > SILENCE_S:
            logger.error("the watchdog is gone; the drive ends, because nobody would stop the motor if this loop died")
            self._vehicle.on = False

    def _begin(self, now: float) -> None:
        self._heard_s = now
        threading.Thread(target=self._guard, name="aicc-neutral", daemon=True).start()
        with contextlib.suppress(ValueError):  # not the main thread: its signals are somebody else's
            self._wakeup = signal.set_wakeup_fd(self._line.fileno(), warn_on_full_buffer=False)

    def _exchange(self) -> bytes | None:
        """What the watchdog has said; None: it is dead."""
        try:
            self._line.send(BEAT)
        except BlockingIOError:
            return b""
        except OSError:
            return None
        try:
            return self._line.recv(4096) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def _guard(self) -> None:
        """Where the loop hangs in something that lets other threads run: a camera that waits, a full card."""
        told = False
        while not self._over.wait(self._limit_s / 10):
            if self._beat_s is None or time.monotonic() - self._beat_s < self._limit_s:
                told = False
                continue
            self._make_neutral()
            if not told:
                told = True
                with contextlib.suppress(OSError):
                    self._line.send(OWN_NEUTRAL)

    def _make_neutral(self) -> None:
        for part, inputs in self._motors:
            values = [0.0] * inputs
            with contextlib.suppress(Exception):  # a motor whose line is gone; the watchdog tries as well
                (part.run_threaded if hasattr(part, "run_threaded") else part.run)(*values)

    def shutdown(self) -> None:
        """Neutral, and the watch ends. donkeycar's own shutdown leaves some motors at their last throttle."""
        self._over.set()
        self._make_neutral()
        if self._wakeup is not None:
            with contextlib.suppress(ValueError):
                signal.set_wakeup_fd(self._wakeup)
        with contextlib.suppress(OSError):
            self._line.send(BYE)
        try:
            self._process.wait(timeout=3.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._line.close()
