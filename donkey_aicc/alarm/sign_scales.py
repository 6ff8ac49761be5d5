"""The scale of every sign: its nominal middle, and how far a usual nominal lap gets from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_policy import MOST_OF_A_SIGN
from donkey_aicc.alarm.signs import FAST, PICTURE, SIGN_NAMES, SIGNS
from donkey_aicc.errors import DAMAGE, AiccError
from donkey_aicc.scoring.nominal_distance import MahalanobisScore
from donkey_aicc.stored import number, whole

CLOUD_REGULARISATION = 0.02
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
        absent = [name for name in absent if name != "own"]  # few have one
        said = f"scales: from {self.frames} calm frames in {self.pieces} pieces"
        return said + (f"; not measured and not used: {', '.join(absent)}" if absent else "")

    def usual(self, name: str) -> float | None:
        """The nominal middle of a sign; None: it is not used."""
        middle = float(self.middle[SIGN_NAMES.index(name)])
        return middle if np.isfinite(middle) else None

    def lost_detail(self, sharpness: float | None) -> float:
        """0..1: how far the picture is blurrier than any nominal one; 1 at three times the way that those go."""
        place = SIGN_NAMES.index("sharpness")
        if sharpness is None or not np.isfinite(self.middle[place] - sharpness):
            return 0.0
        return float(np.clip(((self.middle[place] - sharpness) / self.below[place] - 1.0) / 2.0, 0.0, 1.0))

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
            frames, pieces = (whole(f"the alarm's {name}", stored[name], 0, 10**9) for name in ("frames", "pieces"))
            # Signs are logarithms, shares or standardised: a larger range would only keep the alarm silent.
            limits = {"middle": -MOST_OF_A_SIGN, "above": 1e-9, "below": 1e-9}
            for name, row in stored["signs"].items():
                place = SIGN_NAMES.index(name)
                scales[:, place] = [number(f"{each} of {name}", row[each], low, MOST_OF_A_SIGN) for each, low in limits.items()]
        except DAMAGE as error:
            raise AiccError(f"the alarm's signs are damaged or of another version: {error!r}") from error
        floors = np.array([sign.floor for sign in SIGNS])
        return cls(scales[0], np.maximum(scales[1], floors), np.maximum(scales[2], floors), cloud, frames, pieces)


def _reach(extremes: np.ndarray) -> float:
    """How far the next piece goes at most in nine of ten cases, judged by the extremes (n,) of these."""
    count = len(extremes)
    if count < 2:
        return float(extremes.max())
    further = student_quantile(COVERED_PIECES, count - 1) * float(extremes.std(ddof=1)) * np.sqrt(1.0 + 1.0 / count)
    return min(float(extremes.mean()) + further, MOST_BEYOND * float(extremes.max()))


def student_quantile(share: float, freedom: int) -> float:
    """Of Student's t, for shares above a half, to six digits: a car that learns has no scipy."""
    angle = np.linspace(0.0, np.pi / 2, 200_001)  # t = sqrt(freedom) tan(angle)
    density = np.cos(angle) ** (freedom - 1)
    mass = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    return float(np.sqrt(freedom) * np.tan(np.interp(2.0 * share - 1.0, mass / mass[-1], angle)))


def _with_picture(signs: np.ndarray, cloud: MahalanobisScore | None, shift: np.ndarray | float = 0.0) -> np.ndarray:
    """(L, S) less the shift, with the distance of the picture's signs from the nominal cloud: it sees what none shows alone."""
    filled = np.array(signs, dtype=np.float64) - shift
    if cloud is not None:
        filled[:, PICTURE] = np.log1p(cloud.distance(filled[:, :PICTURE])) - np.broadcast_to(shift, filled.shape)[:, PICTURE]
    return filled
