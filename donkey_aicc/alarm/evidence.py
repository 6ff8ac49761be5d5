"""From signs to evidence: how far each sign is from nominal, in units of what a usual nominal lap reaches at most."""

from dataclasses import dataclass

import numpy as np

from donkey_aicc.alarm.sign_scales import SignScales
from donkey_aicc.alarm.signs import SIGN_NAMES, known_mean
from donkey_aicc.alarm.timing import WINDOW_S, frames_in
from donkey_aicc.alarm.today import Today
from donkey_aicc.scoring.frame_stats import Ring

UNSAFE_NEAR_STEPS = 10  # horizons up to here are near
# What the hazard looks at, all >= 0 and larger when worse.
PREDICTED = ("unsafe_near", "unsafe_far", "tta_spread")
STRANGENESS = "strangeness"  # the largest of the signs: what is new in kind leaves the lane as often as what was seen
EVIDENCE_NAMES = (*SIGN_NAMES, STRANGENESS, *PREDICTED)
# Times the nominal range: stranger says no more about leaving the lane. In the dark signs are at 30, and half of the cars stay.
MOST_STRANGE = 4.0


@dataclass(frozen=True)
class Evidence:
    """L lanes of one frame."""

    deviations: np.ndarray  # (L, S)
    strangeness: np.ndarray  # (L,) the largest of them
    features: np.ndarray  # (L, len(EVIDENCE_NAMES)) for the hazard


class EvidenceStream:
    """Signs and predictions of L lanes, frame by frame, into evidence. What is unknown counts as none."""

    def __init__(self, scales: SignScales, horizons: tuple[int, ...], lanes: int = 1, rate_hz: float = 20.0) -> None:
        self._scales, self._lanes = scales, lanes
        self._window = frames_in(WINDOW_S, rate_hz)
        self._near = np.array([step <= max(UNSAFE_NEAR_STEPS, min(horizons)) for step in horizons])
        self.today = Today(scales, lanes, rate_hz)
        self.reset()

    def reset(self) -> None:
        """A new sequence starts in every lane; it is still the same day."""
        self._predicted = Ring(self._lanes, self._window, (len(PREDICTED),))

    def update(self, signs: np.ndarray, p: np.ndarray | None = None, tta_spread: np.ndarray | None = None) -> Evidence:
        """signs: (L, S); p: (L, K) probability of safe; tta_spread: (L,) normalised and clipped. None or NaN: not known."""
        away = self._scales.centred(signs, self.today.shift)
        deviations = self._scales.deviations_of(away)
        strangeness = deviations.max(axis=1)
        self.today.follow(away, strangeness)
        unknown = np.full(self._lanes, np.nan)
        near, far = (unknown, unknown) if p is None else self._unsafe(np.asarray(p, dtype=np.float64))
        self._predicted.append(np.column_stack([near, far, unknown if tta_spread is None else tta_spread]))
        predicted = np.nan_to_num(known_mean(self._predicted.window(), self._window))
        strange = np.log1p(np.minimum(np.column_stack([deviations, strangeness]), MOST_STRANGE))
        return Evidence(deviations, strangeness, np.column_stack([strange, predicted]))

    def _unsafe(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        far = p[:, ~self._near] if (~self._near).any() else p
        return 1.0 - p[:, self._near].mean(axis=1), 1.0 - far.mean(axis=1)
