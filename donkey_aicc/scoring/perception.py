"""Perception anomaly: how badly the world model redraws what the camera sees (paper, Section IV)."""

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.nets.vae import LATENT_CHANNELS, VAE
from donkey_aicc.scoring.ring import Ring


class PerceptionScore:
    """rho_raw of L lanes: the mean over the context of the per-pixel MSE between y and d(e(y)).

    Each frame is encoded and reconstructed once. The pooled latent mean over the same context is kept beside it, for
    distances in latent space.
    """

    def __init__(self, vae: VAE, lanes: int, context: int) -> None:
        self._vae = vae
        self._errors = Ring(lanes, context)
        self._pooled = Ring(lanes, context, (LATENT_CHANNELS,))
        self.squared_error: Tensor | None = None  # (L, 3, 64, 64) of the newest frame, for whoever wants to see where it is

    @torch.inference_mode()
    def update(self, images: Tensor, unseen: int = 0) -> tuple[np.ndarray, np.ndarray, Tensor]:
        """images (L, 3, 64, 64) -> rho_raw (L,), pooled latent (L, 64), and the frame's latent mean (L, 64, 4, 4).

        unseen: frames since the last one that were not looked at.
        """
        latent, _ = self._vae.encode(images)
        self.squared_error = (self._vae.decode(latent) - images).square_()
        error = self.squared_error.mean(dim=(1, 2, 3))
        self._errors.append(error.double().cpu().numpy(), unseen)
        self._pooled.append(latent.mean(dim=(2, 3)).double().cpu().numpy(), unseen)
        return self._errors.window().mean(axis=1), self._pooled.window().mean(axis=1), latent

    @property
    def last_error(self) -> np.ndarray:
        """(L,) MSE of the newest frame alone."""
        return self._errors.window()[:, -1].copy()

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._errors.keep(lanes)
        self._pooled.keep(lanes)
