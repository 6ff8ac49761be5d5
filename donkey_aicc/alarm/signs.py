"""Signs: what the alarm looks at. Each is a number per frame that says how the last second went, or the last context.

Fast signs are means over half a second of things measured on single frames, so that what they tell of a fault is over half a
second after the fault is. Slow signs are the paper's scores, which look back over the whole context.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from donkey_aicc.alarm.response import RESPONSE_SIGNS, STANDING_THROTTLE, Response, ResponseStream
from donkey_aicc.alarm.timing import MOVING_S, WINDOW_S, frames_in
from donkey_aicc.scoring.frame_stats import FRAME_STATS, Ring
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import CONTROL_FEATURES, ScoreStatistics, own_columns

SLOWED_SHARE = 0.7  # of the usual throttle: below it the car is slowed, by a governor or a person


@dataclass(frozen=True)
class Sign:
    """two_sided: too little is as strange as too much. floor: the smallest difference that counts as any.

    day: the most that another day's light, lens or tyres may shift what is nominal (`today.py`); 0: nothing of the day moves it.
    """

    name: str
    floor: float
    two_sided: bool = False
    slow: bool = False
    day: float = 0.0


SIGNS = (
    # Logarithms, so 0.2 is a fifth. Another day at the same window moves light and contrast of a self-exposing camera by that.
    Sign("log_error", 0.2, two_sided=True, day=0.7),
    Sign("light", 0.15, two_sided=True, day=0.5),
    Sign("contrast", 0.15, two_sided=True, day=0.4),
    Sign("sharpness", 0.15, two_sided=True, day=0.4),
    Sign("colour", 0.2, two_sided=True, day=0.6),
    Sign("picture", 0.2, day=0.7),  # the five above together: filled in by SignScales, which knows how they go together
    Sign("motion", 0.2, two_sided=True, day=0.3),
    Sign("repeated", 0.25),  # of half a second: one frame is nothing, an eighth of a second is something
    Sign("jerk", 0.01),
    # How the picture answers the steering (response.py): pixels a frame, `gain` a share of the usual answer.
    Sign("pull_short", 0.2, two_sided=True, day=0.2),
    Sign("pull", 0.2, two_sided=True, day=0.2),
    Sign("pull_long", 0.2, two_sided=True, day=0.2),
    Sign("gain", 0.25, two_sided=True, day=0.1),
    Sign("late", 0.5),
    # The drives that set the scale also set what is nominal for these four, and look too good to themselves: hence high floors,
    # in units of two nominal deviations. The latent distance carries over to other drives worst of all. The look ahead is not
    # among them: it told the hazard nothing (its weight was 0.05), and without it the alarm is the same at every grade.
    Sign("log_rho", 1.0, slow=True, day=4.0),
    Sign("control", 1.0, slow=True, day=1.0),
    Sign("latent", 2.0, slow=True, day=4.0),
    Sign("own", 1.0),  # the strangest of the user's own anomaly scores, if there are any; what they look back on is theirs
)
SIGN_NAMES = tuple(sign.name for sign in SIGNS)
PICTURE = SIGN_NAMES.index("picture")
FAST = np.array([not sign.slow for sign in SIGNS])
FROM_SCORES = 4  # the last of them
_MEANS = ("log_error", "light", "contrast", "sharpness", "colour", "motion", "repeated")
_STATS = [FRAME_STATS.index(name) for name in _MEANS]
_MOTION = _MEANS.index("motion")
assert SIGN_NAMES[len(_MEANS) + 2 : -FROM_SCORES] == RESPONSE_SIGNS
_TURN = FRAME_STATS.index("turn_px")


@dataclass(frozen=True)
class SignSettings:
    """How signs are computed; part of the fitted alarm.

    response: of this car; None leaves its signs out. rate_hz: of the loop. cruise, motion: usual throttle and usual `motion` of
    nominal drives, from which follows how much less the picture of a slowed car may move; 0 and None leave that out.
    """

    response: Response | None = None
    rate_hz: float = 20.0
    cruise: float = 0.0
    motion: float | None = None

    @property
    def window(self) -> int:
        """Frames of the fast signs' means."""
        return frames_in(WINDOW_S, self.rate_hz)


class SignStream:
    """Signs of L lanes, frame by frame: (L, len(SIGNS)), NaN where nothing is known yet."""

    def __init__(self, lanes: int = 1, settings: SignSettings | None = None) -> None:
        self._lanes, self._settings = lanes, settings or SignSettings()
        self._moving = frames_in(MOVING_S, self._settings.rate_hz)
        self.reset()

    def reset(self) -> None:
        """A new sequence starts in every lane."""
        settings = self._settings
        self._stats = Ring(self._lanes, settings.window, (len(_MEANS),))
        self._steering = Ring(self._lanes, settings.window)
        self._throttle = Ring(self._lanes, self._moving)
        self._driven = np.zeros(self._lanes, dtype=np.int64)  # frames with throttle in a row
        self._response = ResponseStream(self._lanes, settings.response, settings.rate_hz)

    def update(
        self, frame_stats: np.ndarray, actions: np.ndarray, slow: np.ndarray, unseen: Sequence[np.ndarray] = ()
    ) -> np.ndarray:
        """frame_stats: (L, 8); actions: (L, 2) as sent; slow: (L, 4) of `slow_signs`; unseen: actions of dropped frames."""
        for action in (*unseen, actions):
            steering, throttle = np.asarray(action, dtype=np.float64).T
            self._steering.append(steering)
            self._throttle.append(throttle)
            self._driven = np.where(throttle > STANDING_THROTTLE, self._driven + 1, 0)
        # A change since the frame before means nothing when frames between the two were dropped.
        stats = np.asarray(frame_stats, dtype=np.float64)
        readings, speed = stats[:, _STATS], self._least_speed()
        readings[:, _MOTION] = np.nan if unseen else self._motion(readings[:, _MOTION], speed)
        self._stats.append(readings)
        means = known_mean(self._stats.window(), self._settings.window)
        means[self._driven < self._moving, _MOTION] = np.nan
        answers = self._response.update(stats[:, _TURN], (*unseen, actions), speed)
        picture = np.full(self._lanes, np.nan)
        return np.column_stack([means[:, :PICTURE], picture, means[:, PICTURE:], self._jerk(), answers, slow])

    def _jerk(self) -> np.ndarray:
        steering = self._steering.window()
        if steering.shape[1] < self._settings.window:
            return np.full(self._lanes, np.nan)
        # Root mean square, so that the first big jerk of a fault already counts.
        return np.sqrt(((steering[:, 2:] - 2 * steering[:, 1:-1] + steering[:, :-2]) ** 2).mean(axis=1))

    def _least_speed(self) -> np.ndarray:
        """(L,) share of the usual speed that a slowed car may have by now; 1: it is not slowed.

        How fast a car follows its throttle is not known: it may still have, or have again, any speed between this and the usual.
        """
        if self._settings.cruise <= 0.0:
            return np.ones(self._lanes)
        share = self._throttle.window().min(axis=1) / self._settings.cruise
        return np.where(share < SLOWED_SHARE, np.maximum(share, STANDING_THROTTLE), 1.0)

    def _motion(self, motion: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """A slowed car's picture moves less: else a crawl would keep up the alarm that it came from."""
        usual = self._settings.motion
        return motion if usual is None else np.where(motion < usual, np.minimum(motion - np.log(speed), usual), motion)


def known_mean(window: np.ndarray, full: int) -> np.ndarray:
    """(L, n, ...) -> (L, ...): mean of what is known; NaN until n is `full`, and where less than half of it is known."""
    known = np.isfinite(window)
    count = known.sum(axis=1) if window.shape[1] == full else np.zeros(1)
    total = np.where(known, window, 0.0).sum(axis=1)
    return np.where(count >= full // 2, total / np.maximum(count, 1), np.nan)


def slow_signs(
    statistics: ScoreStatistics, rho_raw: np.ndarray, features: np.ndarray, latent: np.ndarray, own: Mapping[str, np.ndarray]
) -> np.ndarray:
    """(N, 4) unclipped normalised log_rho, control, latent and the strangest of `own`; NaN for what was not measured."""
    with np.errstate(invalid="ignore"):
        log_rho = statistics.log_rho.normalised(np.log(np.maximum(rho_raw, 1e-12))[:, None])
        unknown = np.full(len(rho_raw), np.nan)
        control = unknown if statistics.control is None else statistics.control.normalised(features[:, CONTROL_FEATURES])
        far = unknown if statistics.latent_mean is None else statistics.latent_mean.normalised(latent)
    found = np.column_stack([log_rho, control, far, np.max([*statistics.of_own(own).values()] or [unknown], axis=0)])
    return np.where(np.isfinite(found), found, np.nan)


def table_signs(table: ScoreTable, statistics: ScoreStatistics, settings: SignSettings) -> np.ndarray:
    """(N, len(SIGNS)) of every row, by the very code that runs on the car; rows of a sequence must stand in driving order."""
    slow = slow_signs(statistics, table.rho_raw, table.features, table.latent, own_columns(table))
    slow[~table.valid.astype(bool)] = np.nan  # as on the car: no context, no slow sign
    found = np.full((len(table), len(SIGNS)), np.nan)
    rows, going = lanes_of(table)
    stream = SignStream(len(rows), settings)
    for column, alive in zip(rows.T, going.T, strict=True):
        signs = stream.update(table.frame_stats[column], table.actions[column], slow[column])
        found[column[alive]] = signs[alive]
    return found


def lanes_of(table: ScoreTable) -> tuple[np.ndarray, np.ndarray]:
    """(sequences, longest) numbers of the rows and whether they count: shorter sequences repeat their last row."""
    numbers = [np.flatnonzero(table.sequence == name) for name in table.sequences()]
    longest = max(len(each) for each in numbers)
    going = np.stack([np.arange(longest) < len(each) for each in numbers])
    return np.stack([np.pad(each, (0, longest - len(each)), mode="edge") for each in numbers]), going
