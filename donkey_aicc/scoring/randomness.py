"""All random numbers of scoring: a function of (seed, purpose, frame number) and of nothing else.

So a replay, another number of lanes or workers, a rollout that was left out, or a cold start at the same frame all
meet the very same masks and views.
"""

import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.dynamics import BETWEEN_DROPOUT, HIDDEN, LAYERS, RECURRENT_DROPOUT

_RECURRENT, _BETWEEN, _TTA, _PREDICTOR_DROPOUT = range(4)


class FrameRandomness:
    """Generators and dropout masks of one seed. Masks hold the 1 / (1 - p) factor and are shared by all lanes."""

    def __init__(self, seed: int, samples: int) -> None:
        if seed < 0:
            raise ConfigError(f"seed must be >= 0, got {seed}")
        self._seed, self._samples = seed, samples

    def recurrent_masks(self) -> np.ndarray:
        """(layers, S, 128): one mask per sample and layer for a whole sequence."""
        return self._masks(_RECURRENT, 0, LAYERS, RECURRENT_DROPOUT)

    def between_masks(self, frame: int, steps: int) -> np.ndarray:
        """(steps, S, 128) for the steps that start at this frame; the first rows do not depend on `steps`."""
        return self._masks(_BETWEEN, frame, steps, BETWEEN_DROPOUT)

    def tta(self, frame: int) -> np.random.Generator:
        """For the augmented views of this frame."""
        return self._generator(_TTA, frame)

    def predictor_dropout(self, frame: int) -> np.random.Generator:
        """For the safety predictor's own dropout samples at this frame."""
        return self._generator(_PREDICTOR_DROPOUT, frame)

    def _generator(self, purpose: int, frame: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64((self._seed, purpose, frame)))

    def _masks(self, purpose: int, frame: int, count: int, drop: float) -> np.ndarray:
        uniform = self._generator(purpose, frame).random((count, self._samples, HIDDEN), dtype=np.float32)
        return np.where(uniform >= drop, np.float32(1.0 / (1.0 - drop)), np.float32(0.0))
