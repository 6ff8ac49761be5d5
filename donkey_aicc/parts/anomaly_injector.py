"""AnomalyInjector: puts the faults that the control allows into the camera's frames or into the commands."""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from donkey_aicc.errors import ConfigError, one_of
from donkey_aicc.faults.fault import Fault
from donkey_aicc.faults.protocols import Body, all_at_once
from donkey_aicc.limits import drive_command
from donkey_aicc.parts.injection_control import InjectionControl

logger = logging.getLogger(__name__)


class AnomalyInjector:
    """Donkeycar part, added twice with one control.

    side='sensor', after the camera: (image, mode, lap) -> image, or (image, clean image) with `clean_too`. It moves the
    control on by one tick, so it belongs into every loop, even if only commands are to be disturbed.
    side='command', before the drive train: (steering, throttle, mode) -> (steering, throttle, protocol, severity, episode).
    The last three say what was really done in this tick, '', 0 and -1 for nothing; they are for the tub. Faults of the car
    itself go to `suffer`, which a simulated car brings along.
    """

    def __init__(
        self,
        control: InjectionControl,
        side: str,
        *,
        clean_too: bool = False,
        max_throttle: float = 1.0,
        suffer: Callable[[Body], None] | None = None,
    ) -> None:
        one_of("side", side, ("sensor", "command"))
        if not 0.0 < max_throttle <= 1.0:
            raise ConfigError(f"max_throttle must be in (0, 1], got {max_throttle!r}")
        self.control = control
        self.side = side
        self.clean_too = clean_too
        self.max_throttle = max_throttle
        self._suffer = suffer
        self._clean: np.ndarray | None = None
        self._handed_on: np.ndarray | None = None

    def run(self, *inputs: Any) -> Any:
        """See the class; which inputs depends on the side, and all after the first or the first two may be left out."""
        return self._run_sensor(*inputs) if self.side == "sensor" else self._run_command(*inputs)

    def _run_sensor(self, image: np.ndarray | None, mode: str | None = None, lap: float | None = None) -> Any:
        if image is self._handed_on:  # the camera gave nothing: donkeycar's memory still holds what we made of its last frame
            image = self._clean
        seen, applied = image, []
        try:
            for fault in self.control.advance(mode, lap):
                if fault.sensor is not None and seen is not None:
                    seen = fault.sensor.run(seen)
                    applied.append(fault)
        except Exception:  # whatever the frame is, a test tool must not stop the car
            logger.exception("injection ended: the frame could not be changed")
            self.control.stop()
            seen, applied = image, []
        self.control.on_frame = tuple(applied)
        self._clean, self._handed_on = image, seen
        return (seen, image) if self.clean_too else seen

    def _run_command(self, steering: Any, throttle: Any, mode: str | None = None) -> tuple[float, float, str, int, int]:
        applied = list(self.control.on_frame)
        given = sent = (drive_command(steering), drive_command(throttle))
        try:
            active = self.control.active(mode)
            applied += self._break(active)
            for fault in active:
                if fault.command is not None and steering is not None and throttle is not None:
                    steered, driven = fault.command.run(*sent)
                    sent = (drive_command(steered), drive_command(driven, self.max_throttle))
                    applied.append(fault)
        except Exception:
            logger.exception("injection ended: the command could not be changed")
            self.control.stop()
            sent, applied = given, list(self.control.on_frame)
        return (*sent, *self._describe(applied))

    def _break(self, active: tuple[Fault, ...]) -> list[Fault]:
        """Hand faults of the car itself to the simulated car, and soundness when there are none."""
        if self._suffer is None:
            return []
        self._suffer(all_at_once(fault.body for fault in active))
        return [fault for fault in active if fault.body is not None]

    def _describe(self, applied: list[Fault]) -> tuple[str, int, int]:
        if not applied:
            return "", 0, -1
        names = "+".join(sorted({fault.protocol for fault in applied}))
        return names, max(fault.severity for fault in applied), self.control.episode

    def shutdown(self) -> None:
        """Give the clean path back."""
        self._clean = self._handed_on = None
        self.control.shutdown()
        self._break(())
