"""Control and latent features: nine descriptors of the steering and of how the scene answers to it.

Definitions (paper, appendix "Dynamics Feature Vector"), over the last n <= 100 frames with steering u and latent norm
l = ||z||. Step j leads from frame j-1 to frame j: du_j = u_j - u_{j-1}, dl_j = l_j - l_{j-1}. A step is held if
|du_j| < 0.02 and turning if it starts off-centre, |u_{j-1}| > 0.15. What has no steps yet is 0.
"""

from collections.abc import Sequence

import numpy as np

from donkey_aicc.scoring.frame_stats import Ring
from donkey_aicc.scoring.score_table import FEATURE_NAMES

HELD_BELOW = 0.02
TURNING_ABOVE = 0.15
MIN_TURNING_STEPS = 3
MAX_LAG = 10

CONTROL_FEATURES = FEATURE_NAMES[3:]

# Below these spreads a signal counts as constant: what is left is rounding, and its shape means nothing.
STEERING_SPREAD_FLOOR = 1e-6
LATENT_SPREAD_FLOOR = 1e-5  # of the mean latent norm, which comes from float32 nets


class ControlFeatures:
    """Features 4 to 12 of L lanes, one frame at a time.

    What a step contributes is computed once, when it arrives (changes, run lengths, reversals); per frame only
    reductions over the window are left. Run lengths are clipped at the window's first step, which makes them exact.
    """

    def __init__(self, lanes: int, context: int) -> None:
        self._steering = Ring(lanes, context)
        self._latent_norm = Ring(lanes, context)
        steps = context - 1
        self._hold_run = Ring(lanes, steps, dtype=np.int64)
        self._turning_hold_run = Ring(lanes, steps, dtype=np.int64)
        self._turning = Ring(lanes, steps, dtype=bool)
        self._changed = Ring(lanes, steps, dtype=bool)
        self._reversed = Ring(lanes, steps, dtype=bool)
        self._last_sign = np.zeros(lanes)
        self._frames = 0

    def update(self, steering: np.ndarray, latent_norm: np.ndarray, unseen: Sequence[np.ndarray] = ()) -> np.ndarray:
        """steering, latent_norm: (L,) of the new frame -> (L, 9) in the order of CONTROL_FEATURES.

        unseen: the steering of frames since the last one whose pictures were not looked at.
        """
        for each in (*unseen, steering):
            if self._frames:
                self._add_step(each)
            self._steering.append(each)
            self._frames += 1
        self._latent_norm.append(latent_norm, len(unseen))
        return self._features()

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        for ring in vars(self).values():
            if isinstance(ring, Ring):
                ring.keep(lanes)
        self._last_sign = self._last_sign[lanes]

    def _add_step(self, steering: np.ndarray) -> None:
        start = self._steering.window()[:, -1]
        change = steering - start
        held, turning = np.abs(change) < HELD_BELOW, np.abs(start) > TURNING_ABOVE
        for ring, going in ((self._hold_run, held), (self._turning_hold_run, held & turning)):
            runs = ring.window()
            ring.append(np.where(going, (runs[:, -1] if runs.shape[1] else 0) + 1, 0))
        sign = np.sign(change)
        self._turning.append(turning)
        self._changed.append(sign != 0)
        self._reversed.append(sign * self._last_sign < 0)
        self._last_sign = np.where(sign != 0, sign, self._last_sign)

    def _features(self) -> np.ndarray:
        steering = self._steering.window()
        peak, lag = cross_correlation_peak(steering, self._latent_norm.window())
        columns = (
            _longest(self._hold_run.window()),
            _longest(self._turning_hold_run.window()),
            self._held_fraction_turning(),
            self._reversal_rate(),
            _jerk(steering),
            steering.mean(axis=1),
            peak,
            high_frequency_ratio(steering),
            lag,
        )
        return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)

    def _held_fraction_turning(self) -> np.ndarray:
        turning = self._turning.window().sum(axis=1)
        held = (self._turning_hold_run.window() > 0).sum(axis=1)
        return np.where(turning >= MIN_TURNING_STEPS, held / np.maximum(turning, 1), 0.0)

    def _reversal_rate(self) -> np.ndarray:
        changed, reversed_ = self._changed.window(), self._reversed.window()
        if not changed.shape[1]:
            return np.zeros(len(changed))
        # The first change of the window has its predecessor outside: it opens no pair.
        first = np.argmax(changed, axis=1)[:, None]
        reversals = reversed_.sum(axis=1) - np.take_along_axis(reversed_, first, axis=1)[:, 0]
        pairs = changed.sum(axis=1) - 1
        return np.where(pairs > 0, reversals / np.maximum(pairs, 1), 0.0)


def _longest(runs: np.ndarray) -> np.ndarray:
    """runs: (L, n) run length up to each step -> (L,) longest run that lies within the window."""
    steps = runs.shape[1]
    return np.minimum(runs, np.arange(1, steps + 1)).max(axis=1, initial=0)


def _jerk(steering: np.ndarray) -> np.ndarray:
    if steering.shape[1] < 3:
        return np.zeros(len(steering))
    return np.abs(steering[:, 2:] - 2 * steering[:, 1:-1] + steering[:, :-2]).mean(axis=1)


def high_frequency_ratio(steering: np.ndarray) -> np.ndarray:
    """(L, n) -> (L,): share of |rfft(u - mean)|^2 in the bins from half of their number upwards; 0 if u is constant."""
    centred = steering - steering.mean(axis=1, keepdims=True)
    energy = np.abs(np.fft.rfft(centred, axis=1)) ** 2
    upper = energy[:, energy.shape[1] // 2 :].sum(axis=1)
    varies = np.sqrt((centred**2).mean(axis=1)) > STEERING_SPREAD_FLOOR
    return np.where(varies, upper / np.where(varies, energy.sum(axis=1), 1.0), 0.0)


def cross_correlation_peak(steering: np.ndarray, latent_norm: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(L, n) each -> signed value and lag, (L,) each, of the largest |c(k)|, k = 0..10; the smallest such lag.

    c(k) = sum_j a_j b_{j+k} / (|a| |b|) with a and b the mean-removed du and dl: the scene answers k frames later.
    Both are 0 where one of the signals is constant.
    """
    lanes, frames = steering.shape
    steps = frames - 1
    if steps < 2:
        return np.zeros(lanes), np.zeros(lanes)
    a, b = np.diff(steering, axis=1), np.diff(latent_norm, axis=1)
    a -= a.mean(axis=1, keepdims=True)
    b -= b.mean(axis=1, keepdims=True)
    norm_a, norm_b = np.sqrt((a**2).sum(axis=1)), np.sqrt((b**2).sum(axis=1))
    latent_floor = LATENT_SPREAD_FLOOR * latent_norm.mean(axis=1)
    varies = (norm_a > STEERING_SPREAD_FLOOR * np.sqrt(steps)) & (norm_b > latent_floor * np.sqrt(steps))
    lags = min(MAX_LAG, steps - 1) + 1
    sums = np.stack([(a[:, : steps - k] * b[:, k:]).sum(axis=1) for k in range(lags)], axis=1)
    lag = np.argmax(np.abs(sums), axis=1)
    peak = np.take_along_axis(sums, lag[:, None], axis=1)[:, 0] / np.where(varies, norm_a * norm_b, 1.0)
    return np.where(varies, peak, 0.0), np.where(varies, lag, 0)
