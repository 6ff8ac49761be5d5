"""All random numbers of scoring: a function of (seed, purpose, frame number) and of nothing else.

So a replay, another number of lanes or workers, a rollout that was left out, or a cold start at the same frame all
meet the very same masks and views. The first samples do not depend on how many there are.
"""

import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.preprocess import BETWEEN_DROPOUT, HIDDEN, LAYERS, RECURRENT_DROPOUT

_RECURRENT, _BETWEEN, _TTA, _PREDICTOR_DROPOUT = range(4)


class FrameRandomness:
    """Generators and dropout masks of one seed. Masks hold the 1 / (1 - p) factor and are shared by all lanes."""

    def __init__(self, seed: int, samples: int) -> None:
        if seed < 0:
            raise ConfigError(f"seed must be >= 0, got {seed}")
        self._seed, self._samples = seed, samples

    def recurrent_masks(self) -> np.ndarray:
        """(layers, S, 128): one mask per sample and layer for a whole sequence."""
        layers = range(LAYERS)
        return np.concatenate([self._mask(self._generator(_RECURRENT, 0, layer), RECURRENT_DROPOUT) for layer in layers])

    def between_masks(self, frame: int, steps: int, first: int = 0) -> np.ndarray:
        """(steps, S, 128) for the steps from number `first` on of a rollout from this frame; step 0 takes the frame in."""
        numbers = range(first, first + steps)
        return np.concatenate([self._mask(self._generator(_BETWEEN, frame, step), BETWEEN_DROPOUT) for step in numbers])

    def tta(self, frame: int) -> np.random.Generator:
        """For the augmented views of this frame."""
        return self._generator(_TTA, frame)

    def predictor_dropout(self, frame: int) -> np.random.Generator:
        """For the safety predictor's own dropout samples at this frame."""
        return self._generator(_PREDICTOR_DROPOUT, frame)

    def _generator(self, *purpose: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64((self._seed, *purpose)))

    def _mask(self, generator: np.random.Generator, drop: float) -> np.ndarray:
        """(1, S, 128)."""
        uniform = generator.random((1, self._samples, HIDDEN), dtype=np.float32)
        return np.where(uniform >= drop, np.float32(1.0 / (1.0 - drop)), np.float32(0.0))
