"""MonitorLoop: the car's monitor where there is no car: frames and commands in, what the tub would record out."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from donkey_aicc import channels
from donkey_aicc.car.assembly import ALARM_CHANNELS, MONITOR_CHANNELS, Assembly
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.drive_loop import shorten_profile
from donkey_aicc.car.monitor_loading import load_monitor
from donkey_aicc.car.monitor_wiring import add_governor, add_intake, add_judgement, add_scoring

_PILOT = "local"


class _Given:
    """Stands for camera and pilot."""

    def __init__(self) -> None:
        self.now: tuple[Any, ...] = ()

    def run(self) -> tuple[Any, ...]:
        return self.now


class MonitorLoop:
    """One `run` is one tick of the drive loop with the wiring that a car has, the scorer inside the loop.

    Args:
        bundle: folder of the models, or the name of a shipped bundle.
        governor: what it does at an alarm: off, advise, slow or stop.
        grade: full, half or light; None: the best that the bundle's calibrator has.
        rate_hz: ticks per second of the drive, 20 for ours.

    Example:
        >>> from donkey_aicc import MonitorLoop
        >>> monitor = MonitorLoop("reference", grade="light")
        >>> grey = np.full((120, 160, 3), 128, dtype=np.uint8)
        >>> said = monitor.run(grey, steering=0.0, throttle=0.3)  # channel -> value, as the tub records it
        >>> len(said["aicc/p_safe"]), said["aicc/status"]
        (11, 'warming up, grade light')
    """

    def __init__(self, bundle: str | Path, *, governor: str = "off", grade: str | None = None, rate_hz: float = 20.0) -> None:
        from donkeycar.vehicle import Vehicle

        self._vehicle, self._given = Vehicle(), _Given()
        given = [channels.IMAGE, channels.STEERING, channels.THROTTLE, channels.MODE, channels.HIT, channels.SPEED]
        self._vehicle.add(self._given, outputs=given)
        self._vehicle.mem[channels.CLEAN_IMAGE] = None
        config = AiccConfig(sim=True, bundle=str(bundle), governor=governor, grade=grade, scorer_threaded=False)
        car = Assembly(self._vehicle, SimpleNamespace(DRIVE_LOOP_HZ=rate_hz, DONKEY_GYM=True), config)
        monitor = load_monitor(car)
        intake = add_intake(car, monitor)
        judgement = add_judgement(car, monitor, intake)
        add_governor(car, monitor)
        add_scoring(car, judgement)
        shorten_profile(self._vehicle)
        self._names = [name for name in (*MONITOR_CHANNELS, *ALARM_CHANNELS, channels.ACTION) if name in car.recorded]

    def run(
        self, image: np.ndarray, steering: float, throttle: float, hit: bool = False, speed: float | None = None
    ) -> dict[str, Any]:
        """image: (H, W, 3) uint8 RGB of this tick, and the command for it; returns channel -> value.

        `throttle` is among them: what the governor lets through. hit: the next frame begins a new sequence. speed: m/s, which
        ends the brake of a stop; None: the picture or the time does.
        """
        self._given.now = (image, steering, throttle, _PILOT, hit, speed)
        self._vehicle.update_parts()
        names = [*self._names, channels.THROTTLE]
        return dict(zip(names, self._vehicle.mem.get(names), strict=True))

    def reset(self) -> None:
        """Another drive: nothing of the last one goes into it."""
        self._vehicle.mem.d.clear()
        self._vehicle.mem[channels.CLEAN_IMAGE] = None
        for entry in self._vehicle.parts:
            part = entry["part"]
            begin = getattr(part, "shutdown", None) or getattr(part, "reset", None)
            if begin is not None:
                begin()
