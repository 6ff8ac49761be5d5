"""Whether a fault may be injected now, and which: one state machine shared by the sensor and the command side."""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.faults.fault import Episode, Fault, WaitingFaults, make_fault
from donkey_aicc.faults.protocols import FAULTS, PROTOCOLS, in_software, parameters, refuse_physical

logger = logging.getLogger(__name__)

STOP = "stop"
USER_MODE = "user"
WEB_BUTTONS = dict(zip(("w1", "w2", "w3", "w4", "w5"), (*PROTOCOLS, STOP), strict=True))  # of donkeycar's web page


class InjectionControl:
    """Disarmed -> armed for `arm_s` seconds -> disarmed again, by itself, by `stop`, or by shutdown.

    With `arm_s=None` (a simulator) it is armed from the start and without limit; after `stop` the schedule is over and buttons
    work on. Faults are due while armed and
    while the mode permits it: those of the schedule, whose seconds and ticks count from the arming, and those switched on by
    hand. A protocol plays once at a time; later entries of the schedule win, and the hand wins over the schedule.
    """

    def __init__(
        self,
        schedule: Sequence[Episode] = (),
        *,
        rate_hz: float = 20.0,
        seed: int = 0,
        overrides: Mapping[str, Mapping[str, Any]] | None = None,
        arm_s: float | None = None,
        in_user_mode: bool = False,
        button_severity: int = 3,
        physical: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if arm_s is not None and not 0.0 < arm_s < math.inf:
            raise ConfigError(f"arm_s must be > 0 seconds, got {arm_s!r}")
        self.schedule = tuple(schedule)
        self.rate_hz = rate_hz
        self.seed = seed
        self.overrides = dict(overrides or {})
        self.arm_s = arm_s
        self.in_user_mode = in_user_mode
        self.button_severity = button_severity
        self.faults = tuple(FAULTS if physical else in_software())  # by name; a real car cannot be broken by software
        self._clock = clock
        self._lock = threading.Lock()  # buttons arrive from the threads of joystick and web server
        self._waiting = WaitingFaults(clock)
        self._check_parameters()
        self.reset()

    def _check_parameters(self) -> None:
        """Every fault that this drive can play, so that nothing is left to fail on the track."""
        for protocol, changes in self.overrides.items():
            if not isinstance(changes, Mapping):
                raise ConfigError(f"overrides[{protocol!r}] must be a dictionary of parameters, got {changes!r}")
            parameters(protocol, self.button_severity, changes)
        by_hand = [Episode(protocol, self.button_severity) for protocol in PROTOCOLS]
        for episode in (*self.schedule, *by_hand):
            self._check(episode.protocol, episode.severity)

    def _check(self, fault: str, severity: int) -> None:
        if fault not in self.faults:
            refuse_physical(fault)
        make_fault(fault, severity, rate_hz=self.rate_hz, overrides=self.overrides.get(fault))  # says what is wrong with it

    def reset(self) -> None:
        """As before the first tick of a drive: nothing active, counters at zero."""
        self._closed = False
        self._by_hand: dict[str, Episode] = {}
        self._playing: dict[Episode, Fault] = {}
        self._faults_started = 0
        self._episode = -1
        self._tick = -1
        self.on_frame: tuple[Fault, ...] = ()  # what the sensor side did to the frame of this tick
        self._disarm()
        if self.arm_s is None:
            self._arm()

    def _arm(self, with_schedule: bool = True) -> None:
        self._armed_until = math.inf if self.arm_s is None else self._clock() + self.arm_s
        self._scheduled = with_schedule
        self._tick = -1

    def _disarm(self) -> None:
        self._armed_until = -math.inf
        self._by_hand = {}
        self._playing = {}

    @property
    def armed(self) -> bool:
        """Whether a fault may start now."""
        return not self._closed and self._clock() < self._armed_until

    def arm(self) -> None:
        """Allow injection for `arm_s` seconds from now; the schedule starts to count."""
        with self._lock:
            if not self._closed:
                self._arm()
                logger.info("injection armed%s", "" if self.arm_s is None else f" for {self.arm_s:g} s")

    def stop(self) -> None:
        """End every fault at once and disarm."""
        with self._lock:
            self._disarm()
        logger.info("injection stopped")

    def shutdown(self) -> None:
        """The clean path for good: nothing can be injected until `reset`."""
        with self._lock:
            self._disarm()
            self._closed = True

    def press(self, name: str) -> None:
        """A button named after a fault, or `stop`. A disarmed real car takes two: the first press only arms."""
        if name == STOP:
            self.stop()
        elif self._ready_for_buttons():
            with self._lock:
                if self._by_hand.pop(name, None) is None:
                    self._by_hand[name] = Episode(name, self.button_severity)

    def inject(self, protocol: str, severity: int) -> None:
        """Switch one fault on by hand, at this severity, until `stop` or the end of the arming."""
        self._check(protocol, severity)
        if not self.armed and self.arm_s is not None:
            raise AiccError("the car is not armed: arm it first")
        if self._ready_for_buttons():
            with self._lock:
                self._by_hand[protocol] = Episode(protocol, severity)

    @property
    def armed_left_s(self) -> float:
        """Seconds until the arming ends by itself: 0 when disarmed, infinite in a simulator."""
        return 0.0 if self._closed else max(0.0, self._armed_until - self._clock())

    @property
    def asked_for(self) -> tuple[str, ...]:
        """Faults switched on by hand, whether they act now or wait for the pilot."""
        return tuple(self._by_hand)

    def cycle(self) -> None:
        """One joystick button for all: arm, then dark, blur, bias, latency one after another, then none."""
        if not self._ready_for_buttons():
            return
        with self._lock:
            names = [*PROTOCOLS]
            current = next(iter(self._by_hand), None)
            following = names[0] if current is None else dict(zip(names, names[1:], strict=False)).get(current)
            self._by_hand = {following: Episode(following, self.button_severity)} if following else {}

    def _ready_for_buttons(self) -> bool:
        """Whether a press may switch a fault. If not, it has armed a real car; a simulator needs no second press."""
        if self.armed:
            return True
        if self.arm_s is not None:
            self.arm()
            return False
        with self._lock:
            self._arm(with_schedule=False)
        return not self._closed

    def permits(self, mode: str | None) -> bool:
        """Whether faults may act in this mode. An unknown mode counts as the user's."""
        return self.armed and (self.in_user_mode or mode not in (None, USER_MODE))

    def advance(self, mode: str | None, lap: float | None = None) -> tuple[Fault, ...]:
        """Go on by one tick; the faults that are active in it."""
        with self._lock:
            if not self.armed:
                self._disarm()
                return ()
            self._tick += 1
            if self._waiting.lapsed(self._by_hand, self.permits(mode)):
                self._by_hand = {}
            before = set(self._playing)
            wanted = self._wanted(lap) if self.permits(mode) else []
            self._playing = {episode: self._playing.get(episode) or self._start(episode) for episode in wanted}
            if self._playing and set(self._playing) != before:
                self._episode += 1
            return tuple(self._playing.values())

    def active(self, mode: str | None) -> tuple[Fault, ...]:
        """The faults of the current tick, none if the mode or a button has ended them since it began."""
        with self._lock:
            return tuple(self._playing.values()) if self.permits(mode) else ()

    @property
    def episode(self) -> int:
        """Number of the current combination of faults, from 0; it stays the same until the combination changes."""
        return self._episode

    def _wanted(self, lap: float | None) -> list[Episode]:
        schedule = self.schedule if self._scheduled else ()
        due = [episode for episode in schedule if episode.is_due(self._tick / self.rate_hz, self._tick, lap)]
        return list({episode.protocol: episode for episode in (*due, *self._by_hand.values())}.values())

    def _start(self, episode: Episode) -> Fault:
        fault = make_fault(
            episode.protocol,
            episode.severity,
            rate_hz=self.rate_hz,
            seed=self.seed,
            episode=self._faults_started,
            overrides=self.overrides.get(episode.protocol),
        )
        self._faults_started += 1
        logger.info("injecting %s:%d", episode.protocol, episode.severity)
        return fault


class InjectionButtons:
    """Donkeycar part: web buttons -> control. Each input is one button, true while it is held down."""

    def __init__(self, control: InjectionControl, buttons: Sequence[str] = (*PROTOCOLS, STOP)) -> None:
        unknown = [name for name in buttons if name not in (*control.faults, STOP)]
        if unknown:
            raise ConfigError(f"injection buttons must be among {', '.join((*control.faults, STOP))}; got {unknown[0]!r}")
        self.control = control
        self.buttons = tuple(buttons)
        self._down = [False] * len(self.buttons)

    def run(self, *pressed: object) -> None:
        """One press per push, however many ticks it lasts."""
        for number, (name, now) in enumerate(zip(self.buttons, pressed, strict=False)):
            if now and not self._down[number]:
                self.control.press(name)
            self._down[number] = bool(now)

    def shutdown(self) -> None:
        """Nothing to close; the injector ends what plays."""
