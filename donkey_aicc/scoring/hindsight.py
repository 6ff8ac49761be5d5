"""Hindsight: what the predictor said k frames ago, against what it believes now. It needs no label and no world model.

For each frame i the forecast p_k(i - k) meets the belief q = p_1(i). Its surprise beyond what it announced itself,

    cross-entropy of (p_k(i - k) against q) - entropy of p_k(i - k) = (p_k(i - k) - q) * logit(p_k(i - k)),

is 0 on average as long as forecasts come true as often as they say, and positive when the car does not do what was foreseen.
The score is its mean over the context.
"""

from collections.abc import Sequence

import numpy as np

from donkey_aicc.scoring.frame_stats import Ring

STEPS = 15  # frames between forecast and belief: the horizon nearest to it is compared
CERTAIN = 0.01  # forecasts count as surer than this by no more: one look at a wrong world must not rule the whole context


class Hindsight:
    """L lanes that start together, one frame at a time."""

    def __init__(self, horizons: Sequence[int], lanes: int, context: int) -> None:
        steps = np.asarray(horizons)
        self._far, self._near = int(np.argmin(np.abs(steps - STEPS))), int(np.argmin(steps))
        self._delay = int(steps[self._far])
        self._context = context
        self.reset(lanes)

    def reset(self, lanes: int) -> None:
        """New sequences: nothing was foreseen yet."""
        self._forecasts = Ring(lanes, self._delay + 1)
        self._surprise = Ring(lanes, self._context)
        self._seen = 0

    def update(self, p: np.ndarray) -> np.ndarray:
        """p: (L, K) probability of safe of the new frame -> (L,), 0 before a forecast came due."""
        forecast, belief = (np.asarray(p[:, column], dtype=np.float64) for column in (self._far, self._near))
        self._forecasts.append(np.clip(forecast, CERTAIN, 1.0 - CERTAIN))
        self._seen += 1
        if self._seen <= self._delay:
            return np.zeros(len(p))
        due = self._forecasts.window()[:, 0]
        self._surprise.append((due - belief) * (np.log(due) - np.log1p(-due)))
        return self._surprise.window().mean(axis=1)

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        for ring in (self._forecasts, self._surprise):
            ring.keep(lanes)
