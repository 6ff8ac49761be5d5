"""Perception anomaly: how badly the world model redraws what the camera sees (paper, Section IV)."""

import numpy as np

from donkey_aicc.nets.runtime import Runtime
from donkey_aicc.nets.shapes import LATENT_CHANNELS
from donkey_aicc.scoring.ring import Ring


class PerceptionScore:
    """rho_raw of L lanes: the mean over the context of the per-pixel MSE between y and d(e(y)).

    Each frame is encoded and reconstructed once. The pooled latent mean over the same context is kept beside it, for
    distances in latent space.
    """

    def __init__(self, runtime: Runtime, lanes: int, context: int) -> None:
        self._runtime = runtime
        self._errors = Ring(lanes, context)
        self._pooled = Ring(lanes, context, (LATENT_CHANNELS,))
        self.squared_error: np.ndarray | None = None  # (L, 3, 64, 64) of the newest frame, for whoever wants to see where it is

    def update(self, images: np.ndarray, unseen: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """images (L, 3, 64, 64) -> rho_raw (L,), pooled latent (L, 64), and the frame's latent mean (L, 64, 4, 4).

        unseen: frames since the last one that were not looked at.
        """
        latent = self._runtime.encode(images)
        difference = self._runtime.decode(latent) - images
        self.squared_error = np.square(difference, out=difference)
        self._errors.append(self.squared_error.mean(axis=(1, 2, 3), dtype=np.float64), unseen)
        self._pooled.append(latent.mean(axis=(2, 3), dtype=np.float64), unseen)
        return self._errors.window().mean(axis=1), self._pooled.window().mean(axis=1), latent

    @property
    def last_error(self) -> np.ndarray:
        """(L,) MSE of the newest frame alone."""
        return self._errors.window()[:, -1].copy()

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._errors.keep(lanes)
        self._pooled.keep(lanes)
