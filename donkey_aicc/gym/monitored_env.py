"""MonitoredEnv: any gymnasium environment with a camera, steering and throttle, and the car's monitor beside it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from donkey_aicc import channels
from donkey_aicc.car.monitor_loop import MonitorLoop
from donkey_aicc.errors import AiccError

Command = Callable[[Any], tuple[float, float]]


class MonitoredEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """After each step `info` holds the channels that a tub would: aicc/confidence, aicc/hazard, aicc/alarm, aicc/rho and so on.

    They are what the car's monitor says in the tick in which the agent acts: of the frame before the action, and of the action.
    With a governor other than off the throttle that reaches the environment is the governor's; actions must then be its pair.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        bundle: str | Path,
        *,
        frame: Callable[[Any], np.ndarray] | None = None,
        command: Command | None = None,
        governor: str = "off",
        grade: str | None = None,
        rate_hz: float = 20.0,
    ) -> None:
        """bundle: a folder, or the name of a shipped one. frame: observation -> (H, W, 3) uint8 RGB. command: action ->
        (steering, throttle) in [-1, 1], +1 right. rate_hz: frames per second of the environment's world."""
        super().__init__(env)
        shape, actions = getattr(env.observation_space, "shape", None), getattr(env.action_space, "shape", None)
        if frame is None and (shape is None or len(shape) != 3 or shape[2] != 3 or env.observation_space.dtype != np.uint8):
            raise AiccError(
                f"MonitoredEnv needs observations of (height, width, 3) uint8, got {env.observation_space}; "
                "give frame=, a function from observation to picture"
            )
        if actions != (2,) and (command is None or governor != "off"):
            raise AiccError(
                f"MonitoredEnv needs actions of (steering, throttle), got {env.action_space}; give command=, a function from "
                "action to that pair, and no governor"
            )
        self._frame = frame or (lambda observation: observation)
        self._command = command or (lambda action: (float(action[0]), float(action[1])))
        self._governs = governor != "off"
        self._monitor = MonitorLoop(bundle, governor=governor, grade=grade, rate_hz=rate_hz)
        self._seen: Any = None
        self._hit = False
        self._speed: float | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """The monitor begins a new sequence; it says nothing before the first action."""
        self._seen, info = self.env.reset(seed=seed, options=options)
        self._monitor.reset()
        self._hit, self._speed = False, _speed(info)
        return self._seen, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        judged = self._monitor.run(self._frame(self._seen), *self._command(action), self._hit, self._speed)
        throttle = judged.pop(channels.THROTTLE)
        if self._governs:
            space: Any = self.env.action_space
            given = np.array([action[0], throttle], dtype=space.dtype)
            action = np.clip(given, space.low, space.high)  # not every car can brake
        self._seen, reward, terminated, truncated, info = self.env.step(action)
        self._hit, self._speed = _is_hit(info), _speed(info)
        return self._seen, reward, terminated, truncated, {**info, **judged}


def _speed(info: Mapping[str, Any]) -> float | None:
    value = info.get("speed")
    return float(value) if isinstance(value, int | float) else None


def _is_hit(info: Mapping[str, Any]) -> bool:
    return info.get("hit", "none") != "none"
