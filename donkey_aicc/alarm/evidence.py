"""From signs to evidence, and from evidence to hazard.

Evidence: how far each sign is from nominal, in units of what a usual nominal lap reaches at most.

Hazard: the probability that the car leaves its lane within the next k steps, for every horizon k at once.

P_k = sigmoid(a_k + w . x), a proportional-odds survival model: a_k grows with k and w >= 0, so that the hazard never falls with
k or with any evidence x >= 0. Fitted on departures that happened: nominal calibration drives and drives under D_aug faults.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.signs import FAST, PICTURE, SIGN_NAMES, SIGNS, WINDOW, known_mean
from donkey_aicc.alarm.today import Today
from donkey_aicc.errors import DAMAGE, AiccError
from donkey_aicc.scoring.frame_stats import Ring
from donkey_aicc.scoring.nominal_distance import MahalanobisScore

CLOUD_REGULARISATION = 0.02
RISE_FRAMES = 10  # how fast something rises is its growth over half a second
NEAR_STEPS = 10  # horizons up to here are near
# What the hazard looks at, all >= 0 and larger when worse.
PREDICTED = ("unsafe_near", "unsafe_far", "tta_spread")
RISES = ("strangeness_rise", "unsafe_near_rise")
EVIDENCE_NAMES = (*SIGN_NAMES, *PREDICTED, *RISES)
MOST_OF_A_SIGN = 1000.0
COVERED_PIECES = 0.9  # share of further nominal pieces that stay within the unit of a sign
MOST_BEYOND = 2.0  # times what was seen: two or three pieces must not blind a sign
LEAST_CALM_FRAMES = 300  # of nominal driving: fifteen seconds at 20 Hz. What a sign does in less says nothing about a lap


@dataclass(frozen=True)
class SignScales:
    """Per sign: the nominal middle, and how far above and below it a usual nominal lap gets. NaN: the sign is not used.

    frames, pieces: of the calm nominal driving that this rests on.
    """

    middle: np.ndarray  # (S,)
    above: np.ndarray  # (S,) > 0
    below: np.ndarray  # (S,) > 0
    cloud: MahalanobisScore | None = None  # how the signs of the picture before `picture` go together in nominal drives
    frames: int = 0
    pieces: int = 0

    @classmethod
    def fit(cls, signs: np.ndarray, piece: np.ndarray) -> "SignScales":
        """signs: (N, S) of nominal driving; piece: (N,) numbers. A unit covers the extreme of most further pieces."""
        calm = np.isfinite(signs).any(axis=1)
        frames, pieces = int(calm.sum()), len(np.unique(piece[calm]))
        if frames < LEAST_CALM_FRAMES:
            raise AiccError(
                f"the alarm's scales need at least {LEAST_CALM_FRAMES} calm nominal frames, got {frames} in {pieces} pieces: "
                "frames around a departure do not count; record more laps"
            )
        middle, above, below = np.full((3, len(SIGNS)), np.nan)
        whole = np.isfinite(signs[:, :PICTURE]).all(axis=1)
        cloud = MahalanobisScore.fit(signs[whole, :PICTURE], CLOUD_REGULARISATION) if whole.sum() > PICTURE else None
        signs = _with_picture(signs, cloud)
        for column, sign in enumerate(SIGNS):
            known = np.isfinite(signs[:, column])
            if not known.any():
                continue
            values, names = signs[known, column], piece[known]
            middle[column] = np.median(values)
            away = values - middle[column]
            extremes = np.array([(away[names == name].max(), -away[names == name].min()) for name in np.unique(names)])
            above[column], below[column] = (max(_reach(each), sign.floor) for each in extremes.T)
        return cls(middle, above, below, cloud, frames, pieces)

    def statement(self) -> str:
        """What the scales rest on, in words."""
        absent = [sign.name for sign, value in zip(SIGNS, self.middle, strict=True) if not np.isfinite(value)]
        said = f"scales: from {self.frames} calm frames in {self.pieces} pieces"
        return said + (f"; not measured and not used: {', '.join(absent)}" if absent else "")

    def usual(self, name: str) -> float | None:
        """The nominal middle of a sign; None: it is not used."""
        middle = float(self.middle[SIGN_NAMES.index(name)])
        return middle if np.isfinite(middle) else None

    def centred(self, signs: np.ndarray, shift: np.ndarray | float = 0.0) -> np.ndarray:
        """(L, S) relative to the nominal middle of today. shift: how far today has moved it."""
        return _with_picture(signs, self.cloud, shift) - self.middle

    def deviations(self, signs: np.ndarray, shift: np.ndarray | float = 0.0) -> np.ndarray:
        """(L, S) -> (L, S) >= 0; 1 is the most that a usual nominal lap showed, 0 also stands for unknown."""
        return self.deviations_of(self.centred(signs, shift))

    def deviations_of(self, away: np.ndarray) -> np.ndarray:
        """The same from what `centred` gave."""
        down = np.where([sign.two_sided for sign in SIGNS], -away / self.below, 0.0)
        found = np.maximum(np.where(away >= 0.0, away / self.above, down), 0.0)
        found = np.where(np.isfinite(found), found, 0.0)
        # Slow evidence counts only while the last half second is not nominal: forgotten when the frames are nominal again.
        support = np.clip(2.0 * (found[:, FAST].max(axis=1, keepdims=True) - 1.0), 0.0, 1.0)
        return np.where(FAST, found, found * support)

    def to_json(self) -> dict[str, Any]:
        columns = {"middle": self.middle, "above": self.above, "below": self.below}
        signs = {
            sign.name: {name: float(values[number]) for name, values in columns.items()}
            for number, sign in enumerate(SIGNS)
            if np.isfinite(self.middle[number])
        }
        cloud = None if self.cloud is None else self.cloud.to_json()
        return {"signs": signs, "cloud": cloud, "frames": self.frames, "pieces": self.pieces}

    @classmethod
    def from_json(cls, stored: Any) -> "SignScales":
        scales = np.full((3, len(SIGNS)), np.nan)
        try:
            cloud = None if stored["cloud"] is None else MahalanobisScore.from_json(stored["cloud"])
            frames, pieces = int(stored["frames"]), int(stored["pieces"])
            for name, row in stored["signs"].items():
                scales[:, SIGN_NAMES.index(name)] = float(row["middle"]), float(row["above"]), float(row["below"])
        except DAMAGE as error:
            raise AiccError(f"the alarm's signs are damaged or of another version: {error!r}") from error
        used = scales[:, np.isfinite(scales).any(axis=0)]
        # Signs are logarithms, shares or standardised: a larger range would only keep the alarm silent. False for NaN.
        if not (np.abs(used) <= MOST_OF_A_SIGN).all() or not (used[1:] > 0.0).all():
            raise AiccError(f"the alarm's signs need a middle and ranges above 0, all up to {MOST_OF_A_SIGN:g}")
        return cls(scales[0], scales[1], scales[2], cloud, frames, pieces)


def _reach(extremes: np.ndarray) -> float:
    """How far the next piece goes at most in nine of ten cases, judged by the extremes (n,) of these."""
    from scipy.stats import t  # heavy, and only fits need it

    count = len(extremes)
    if count < 2:
        return float(extremes.max())
    further = float(t.ppf(COVERED_PIECES, count - 1)) * float(extremes.std(ddof=1)) * np.sqrt(1.0 + 1.0 / count)
    return min(float(extremes.mean()) + further, MOST_BEYOND * float(extremes.max()))


def _with_picture(signs: np.ndarray, cloud: MahalanobisScore | None, shift: np.ndarray | float = 0.0) -> np.ndarray:
    """(L, S) less the shift, with the distance of the picture's signs from the nominal cloud: it sees what none shows alone."""
    filled = np.array(signs, dtype=np.float64) - shift
    if cloud is not None:
        filled[:, PICTURE] = cloud.distance(filled[:, :PICTURE]) - np.broadcast_to(shift, filled.shape)[:, PICTURE]
    return filled


@dataclass(frozen=True)
class Evidence:
    """L lanes of one frame."""

    deviations: np.ndarray  # (L, S)
    strangeness: np.ndarray  # (L,) the largest of them
    features: np.ndarray  # (L, len(EVIDENCE_NAMES)) for the hazard


class EvidenceStream:
    """Signs and predictions of L lanes, frame by frame, into evidence. What is unknown counts as none."""

    def __init__(self, scales: SignScales, horizons: tuple[int, ...], lanes: int = 1, window: int = WINDOW) -> None:
        self._scales, self._lanes, self._window = scales, lanes, window
        self._near = np.array([step <= max(NEAR_STEPS, min(horizons)) for step in horizons])
        self.today = Today(scales, lanes)
        self.reset()

    def reset(self) -> None:
        """A new sequence starts in every lane; it is still the same day."""
        self._predicted = Ring(self._lanes, self._window, (len(PREDICTED),))
        self._rising = Ring(self._lanes, RISE_FRAMES + 1, (len(RISES),))

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
        self._rising.append(np.column_stack([np.log1p(strangeness), predicted[:, 0]]))
        window = self._rising.window()
        rises = np.maximum(window[:, -1] - window[:, 0], 0.0)
        return Evidence(deviations, strangeness, np.column_stack([np.log1p(deviations), predicted, rises]))

    def _unsafe(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        far = p[:, ~self._near] if (~self._near).any() else p
        return 1.0 - p[:, self._near].mean(axis=1), 1.0 - far.mean(axis=1)


LEAST_DEPARTURES = 5  # separate ones; fewer say nothing about the next
RIDGE = 1e-3
_MOST = 30.0  # of a logit: beyond it a double knows no difference


@dataclass(frozen=True)
class HazardModel:
    """Plain numbers; `hazard` needs nothing but numpy."""

    horizons: tuple[int, ...]
    offsets: np.ndarray  # (K,) a_k, never falling
    weights: np.ndarray  # (len(EVIDENCE_NAMES),) >= 0

    def logit(self, features: np.ndarray) -> np.ndarray:
        """(L, E) -> (L,): w . x, the same for all horizons; larger is worse."""
        return np.minimum(features @ self.weights, _MOST)

    def hazard(self, features: np.ndarray) -> np.ndarray:
        """(L, E) -> (L, K) probability of a departure within each horizon."""
        return 1.0 / (1.0 + np.exp(-np.clip(self.offsets + self.logit(features)[:, None], -_MOST, _MOST)))

    def check(self) -> None:
        """Refuse a model that would turn the meaning round."""
        if not (np.isfinite(self.offsets).all() and np.isfinite(self.weights).all()):
            raise AiccError("the hazard's numbers must be finite")
        if (np.diff(self.offsets) < 0.0).any():
            raise AiccError("the hazard must not fall with the horizon")
        if (self.weights < 0.0).any():
            name = EVIDENCE_NAMES[int(self.weights.argmin())]
            raise AiccError(f"the hazard must not fall as {name} rises, got the weight {self.weights.min():.3g}")

    def to_json(self) -> dict[str, Any]:
        return {
            "horizons": list(self.horizons),
            "offsets": self.offsets.tolist(),
            "weights": dict(zip(EVIDENCE_NAMES, self.weights.tolist(), strict=True)),
        }

    @classmethod
    def from_json(cls, stored: Any) -> "HazardModel":
        try:
            offsets = np.array(stored["offsets"], dtype=np.float64)
            weights = np.array([stored["weights"][name] for name in EVIDENCE_NAMES], dtype=np.float64)
            model = cls(tuple(int(step) for step in stored["horizons"]), offsets, weights)
        except DAMAGE as error:
            raise AiccError(f"the hazard is damaged or of another version: {error!r}") from error
        if model.offsets.shape != (len(model.horizons),):
            raise AiccError(f"the hazard has {len(model.horizons)} horizons and offsets of shape {model.offsets.shape}")
        model.check()
        return model


def fit_hazard(features: np.ndarray, labels: np.ndarray, horizons: tuple[int, ...]) -> HazardModel:
    """features: (N, E); labels: (N, K) 1 a departure within k, 0 none, NaN unknown. Least mean NLL with a little ridge."""
    from scipy.optimize import minimize

    count, width = labels.shape[1], features.shape[1]
    known = np.isfinite(labels)
    y, total = np.nan_to_num(labels), max(int(known.sum()), 1)
    rate = np.clip([labels[known[:, k], k].mean() if known[:, k].any() else 0.0 for k in range(count)], 1e-4, 1 - 1e-4)
    first = np.maximum.accumulate(np.log(rate / (1 - rate)))

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        offsets, weights = np.cumsum(theta[:count]), theta[count:]
        logits = offsets + (features @ weights)[:, None]
        nll = np.where(known, np.logaddexp(0.0, logits) - y * logits, 0.0).sum() / total
        slope = np.where(known, 1.0 / (1.0 + np.exp(-np.clip(logits, -_MOST, _MOST))) - y, 0.0) / total
        by_offset = np.cumsum(slope.sum(axis=0)[::-1])[::-1]
        by_weight = features.T @ slope.sum(axis=1) + 2 * RIDGE * weights
        return float(nll + RIDGE * weights @ weights), np.concatenate([by_offset, by_weight])

    start = np.concatenate([[first[0]], np.diff(first), np.full(width, 0.1)])
    bounds = [(-_MOST, _MOST)] + [(0.0, _MOST)] * (count - 1 + width)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    model = HazardModel(tuple(horizons), np.cumsum(found[:count]), found[count:])
    model.check()
    return model
