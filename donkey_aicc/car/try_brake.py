"""How a car brakes, found by trying: the kind of its speed controller, and how long to push from its usual speed to standstill.

A car that measures its speed, forwards and backwards, answers for itself; else a person looks and answers.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from donkey_aicc import channels
from donkey_aicc.alarm.brake import WALKING_MPS, Brake, BrakeSettings
from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.monitor_wiring import speed_channel
from donkey_aicc.car.watchdog_wiring import add_watchdog
from donkey_aicc.errors import AiccError
from donkey_aicc.limits import DIRECT, DOUBLE_TAP, NEUTRAL_FIRST

STANDS, BACKWARDS, ROLLS = "s", "b", "r"
RUN_UP_S, HELD_S, PAUSE_S = 2.0, 1.5, 0.3
LAGS_S = (0.0, 0.04, 0.08, 0.12, 0.16, 0.2)
PUSHES_S = tuple(step / 20 for step in range(2, 31))  # 0.1 s to 1.5 s
BACK_MPS = 0.03  # slower backwards is none
HOLD_ON = 1.5  # times the time found, for a controller that stands still while it is braked

Ask = Callable[[str], str]


class TestedCar(Protocol):
    """What is driven here."""

    tick_s: float
    measures: bool  # its speed, with a sign

    def send(self, throttle: float) -> float | None:
        """One tick straight ahead; the speed in m/s behind it."""

    def put_back(self) -> None:
        """To where the run begins."""


class BenchCar:
    """The car's own motor parts, without pilot and camera; or the simulated car."""

    def __init__(self, cfg: Any, config: AiccConfig) -> None:
        from donkeycar.templates.complete import add_drivetrain, add_odometry, add_simulator
        from donkeycar.vehicle import Vehicle

        from donkey_aicc.car.template import add_embedded_simulator

        self._vehicle, self._simulator = Vehicle(), None
        if config.sim:
            self._simulator = add_embedded_simulator(self._vehicle, cfg, config)
        else:
            add_simulator(self._vehicle, cfg)
            add_odometry(self._vehicle, cfg)
            add_drivetrain(self._vehicle, cfg)
            add_watchdog(Assembly(self._vehicle, cfg, config))
        if not self._vehicle.parts:
            raise AiccError("this car has no motor that donkeycar knows: DRIVE_TRAIN_TYPE in myconfig.py")
        self.tick_s, self.measures = 1.0 / cfg.DRIVE_LOOP_HZ, config.sim
        self._speed = speed_channel(self._vehicle)
        for entry in self._vehicle.parts:
            if entry.get("thread"):
                entry["thread"].start()

    def send(self, throttle: float) -> float | None:
        began = time.monotonic()
        self._vehicle.mem.put([channels.STEERING, channels.THROTTLE], [0.0, throttle])
        self._vehicle.update_parts()
        if self._simulator is None:
            time.sleep(max(0.0, self.tick_s - (time.monotonic() - began)))
        speed = self._vehicle.mem.get([self._speed])[0]
        return float(speed) if isinstance(speed, int | float) else None

    def put_back(self) -> None:
        if self._simulator is not None:
            self._simulator.world.reset()

    def close(self) -> None:
        self.send(0.0)
        for entry in self._vehicle.parts:
            if hasattr(entry["part"], "shutdown"):
                entry["part"].shutdown()


@dataclass(frozen=True)
class Found:
    """What the test says of a car; metres: of the stop that it chose, where its speed is measured."""

    settings: BrakeSettings
    metres: float | None = None


class BrakeTest:
    """Wheels up: what a push back does. On the floor: for how long to push."""

    def __init__(self, car: TestedCar, cruise: float, push: float, ask: Ask) -> None:
        """cruise: usual throttle; push: of the brake, > 0; ask: a question -> an answer, for a car that measures no speed."""
        self._car, self._cruise, self._push, self._ask = car, cruise, push, ask

    def run(self) -> Found:
        kind = self.kind()
        if kind is None:
            return Found(BrakeSettings())
        return self._measured(kind) if self._car.measures else self._asked(kind)

    def kind(self) -> str | None:
        """None: a push back does not brake."""
        self._ready("Put the car on a block: its wheels must turn freely.")
        self._go(self._cruise, RUN_UP_S)
        held = self._look(self._go(-self._push, HELD_S), "The wheels were driven, then pushed back. At the end of the push they")
        if held == ROLLS:
            return None
        if held == BACKWARDS:
            return DIRECT
        self._go(0.0, PAUSE_S)
        second = self._look(self._go(-self._push, HELD_S), "After neutral they were pushed back once more. Now they")
        if second == BACKWARDS and self._first_push_reverses():
            return NEUTRAL_FIRST
        return DOUBLE_TAP

    def _first_push_reverses(self) -> bool:
        """Out of neutral without a push before."""
        self._go(0.0, PAUSE_S)
        self._go(self._cruise, RUN_UP_S)
        self._go(0.0, PAUSE_S)
        return self._look(self._go(-self._push, HELD_S), "Driven, neutral, pushed back. At the end they") == BACKWARDS

    def _measured(self, kind: str) -> Found:
        """The shortest stop that does not end in reverse."""
        runs = []
        for lag_s in LAGS_S if kind == DIRECT else (LAGS_S[0],):
            settings = BrakeSettings(-self._push, max(PUSHES_S), lag_s, kind)
            metres, slowest, pushed_s = self._stop(settings)
            if slowest > -BACK_MPS:
                runs.append((metres, lag_s, pushed_s))
        if not runs:
            raise AiccError(f"every stop ended in reverse: try a softer brake, --brake {self._push / 2:g}")
        metres, lag_s, pushed_s = min(runs)
        seconds = round(pushed_s * (1.0 if kind == DIRECT else HOLD_ON), 3)
        return Found(BrakeSettings(-self._push, seconds, lag_s, kind), metres)

    def _stop(self, settings: BrakeSettings) -> tuple[float, float, float]:
        """(metres, slowest speed, seconds of pushing) of a run-up and a stop."""
        self._ready("Put the car on the floor with 4 m free in front of it.")
        brake, speed, now, sent = Brake(settings, self._cruise), 0.0, 0.0, []
        speeds: list[float] = []
        while not speeds or now < RUN_UP_S + 2 * HELD_S:
            throttle = self._cruise if now < RUN_UP_S else brake.step(now, speed)
            brake.note(now, throttle)
            speed = self._car.send(throttle) or 0.0
            if now >= RUN_UP_S:
                speeds.append(speed)
                sent.append(throttle)
            now += self._car.tick_s
        self._go(0.0, PAUSE_S)
        return sum(speeds) * self._car.tick_s, min(speeds), sum(throttle < 0.0 for throttle in sent) * self._car.tick_s

    def _asked(self, kind: str) -> Found:
        """A little longer from run to run, until a person says that it stood."""
        good = None
        for seconds in PUSHES_S:
            self._ready(f"Put the car on the floor with 4 m free in front of it. It is braked for {seconds:g} s.")
            self._go(self._cruise, RUN_UP_S)
            self._go(-self._push, seconds)
            self._go(0.0, HELD_S)
            said = self._look([], "It drove and braked. When the brake ended it")
            if said == BACKWARDS:
                break
            good = seconds
            if said == STANDS:
                break
        if good is None:
            raise AiccError(f"the shortest brake ended in reverse: try a softer one, --brake {self._push / 2:g}")
        return Found(BrakeSettings(-self._push, good * (1.0 if kind == DIRECT else HOLD_ON), 0.0, kind))

    def _go(self, throttle: float, seconds: float) -> list[float | None]:
        return [self._car.send(throttle) for _ in range(max(1, round(seconds / self._car.tick_s)))]

    def _ready(self, what: str) -> None:
        self._car.put_back()
        if not self._car.measures:
            self._ask(f"{what} Enter starts the motor for some seconds: ")

    def _look(self, speeds: Sequence[float | None], what: str) -> str:
        """How it moved at the end of what was just sent."""
        if self._car.measures:
            last = speeds[-1] or 0.0
            return BACKWARDS if last < -BACK_MPS else ROLLS if last > WALKING_MPS else STANDS
        while True:
            said = self._ask(f"{what} stood (s), turned backwards (b) or went on forwards (r)? ").strip().lower()
            if said in (STANDS, BACKWARDS, ROLLS):
                return said
