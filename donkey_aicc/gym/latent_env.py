"""LatentEnv: what an agent learns from instead of pixels: the latents of a bundle's world model and its own last commands."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from donkey_aicc.car.bundles import bundle_path
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.latent_pilot import HISTORY, LatentView


class LatentEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """For environments with RGB frames and actions of (steering, throttle)."""

    def __init__(self, env: gymnasium.Env[Any, Any], bundle: str | Path = "reference", history: int = HISTORY) -> None:
        """history: how many of its commands the agent sees."""
        super().__init__(env)
        self._view = LatentView(Bundle.load(bundle_path(str(bundle))), history)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (self._view.size,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        image, info = self.env.reset(seed=seed, options=options)
        self._view.reset()
        return self._view.see(image), info

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        image, reward, terminated, truncated, info = self.env.step(action)
        self._view.sent(float(action[0]), float(action[1]))
        return self._view.see(image), reward, terminated, truncated, info
