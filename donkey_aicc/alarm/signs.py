"""Signs: what the alarm looks at. Each is a number per frame that says how the last second went, or the last context.

Fast signs are means over half a second of things measured on single frames, so that what they tell of a fault is over half a
second after the fault is. Slow signs are the paper's scores, which look back over the whole context.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from donkey_aicc.scoring.frame_stats import FRAME_STATS, Ring
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import CONTROL_FEATURES, ScoreStatistics, own_columns

WINDOW = 10  # frames: half a second at 20 Hz. Twice as long, an alarm comes later and ends later, and is no surer
ROLLING_FRAMES = 40  # with throttle before the car counts as rolling: a standing start takes that long
STANDING_THROTTLE = 0.02
REACTION_LAGS = 10  # frames of steering that the sideways movement of the picture may follow
REACTION_RIDGE = 1e-3
SLOWED_SHARE = 0.7  # of the usual throttle: below it the car is slowed, by a governor or a person


@dataclass(frozen=True)
class Sign:
    """two_sided: too little is as strange as too much. floor: the smallest difference that counts as any.

    day: the most that another day's light, lens or tyres may shift what is nominal (`today.py`); 0: nothing of the day moves it.
    """

    name: str
    floor: float
    two_sided: bool = False
    rolling: bool = False  # means something only while the car rolls
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
    Sign("motion", 0.2, two_sided=True, rolling=True, day=0.3),
    Sign("repeated", 0.25),  # one frame of a window is nothing
    Sign("jerk", 0.01),
    Sign("reaction", 0.05, rolling=True, day=0.2),
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
_TURN = FRAME_STATS.index("turn_px")


@dataclass(frozen=True)
class SignSettings:
    """How signs are computed; part of the fitted alarm.

    reaction: (1 + REACTION_LAGS,) offset and weights of the steering now, one frame ago ... that predict turn_px; None leaves
    the sign out. window: frames of the fast signs' means. cruise, motion: usual throttle and usual `motion` of nominal drives,
    from which follows how much less the picture of a slowed car may move; 0 and None leave that out.
    """

    reaction: np.ndarray | None = None
    window: int = WINDOW
    cruise: float = 0.0
    motion: float | None = None


class SignStream:
    """Signs of L lanes, frame by frame: (L, len(SIGNS)), NaN where nothing is known yet."""

    def __init__(self, lanes: int = 1, settings: SignSettings | None = None) -> None:
        self._lanes, self._settings = lanes, settings or SignSettings()
        self.reset()

    def reset(self) -> None:
        """A new sequence starts in every lane."""
        window = self._settings.window
        self._stats = Ring(self._lanes, window, (len(_MEANS),))
        self._missed = Ring(self._lanes, window)  # |turn_px - what the steering let expect|
        self._steering = Ring(self._lanes, max(window, REACTION_LAGS))
        self._throttle = Ring(self._lanes, ROLLING_FRAMES)
        self._rolling = np.zeros(self._lanes, dtype=np.int64)  # frames with throttle in a row

    def update(
        self, frame_stats: np.ndarray, actions: np.ndarray, slow: np.ndarray, unseen: Sequence[np.ndarray] = ()
    ) -> np.ndarray:
        """frame_stats: (L, 8); actions: (L, 2) as sent; slow: (L, 4) of `slow_signs`; unseen: actions of dropped frames."""
        for action in (*unseen, actions):
            steering, throttle = np.asarray(action, dtype=np.float64).T
            self._steering.append(steering)
            self._throttle.append(throttle)
            self._rolling = np.where(throttle > STANDING_THROTTLE, self._rolling + 1, 0)
        # A change since the frame before means nothing when frames between the two were dropped.
        stats = np.asarray(frame_stats, dtype=np.float64)
        readings, speed = stats[:, _STATS], self._least_speed()
        readings[:, _MOTION] = np.nan if unseen else self._motion(readings[:, _MOTION], speed)
        self._stats.append(readings)
        self._missed.append(np.full(self._lanes, np.nan) if unseen else self._turn_missed(stats[:, _TURN], speed))
        means = known_mean(self._stats.window(), self._settings.window)
        found = np.column_stack(
            [
                means[:, :PICTURE],
                np.full(self._lanes, np.nan),
                means[:, PICTURE:],
                self._jerk(),
                known_mean(self._missed.window(), self._settings.window),
                slow,
            ]
        )
        rolling = self._rolling >= ROLLING_FRAMES
        needs = np.array([sign.rolling for sign in SIGNS])
        return np.where(needs & ~rolling[:, None], np.nan, found)

    def _jerk(self) -> np.ndarray:
        steering = self._steering.window()[:, -self._settings.window :]
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

    def _turn_missed(self, turn_px: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """How far the turn is from all that the steering lets expect at speeds from `speed` to the usual one."""
        steering, weights = self._steering.window(), self._settings.reaction
        if weights is None or steering.shape[1] < REACTION_LAGS:
            return np.full(self._lanes, np.nan)
        usual = weights[0] + steering[:, : -REACTION_LAGS - 1 : -1] @ weights[1:]
        slow = speed * usual
        return np.abs(turn_px - np.clip(turn_px, np.minimum(slow, usual), np.maximum(slow, usual)))


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


def fit_reaction(table: ScoreTable) -> np.ndarray | None:
    """Weights of `SignStream`, least squares on rolling nominal frames; None where pictures or commands were not recorded."""
    inputs, turns = [], []
    for name in table.sequences():
        own = table.sequence == name
        steering, throttle = table.actions[own].T.astype(np.float64)
        turn = table.frame_stats[own][:, _TURN]
        for row in range(ROLLING_FRAMES, len(steering)):
            if np.isfinite(turn[row]) and (throttle[row - ROLLING_FRAMES : row + 1] > STANDING_THROTTLE).all():
                inputs.append(np.concatenate([[1.0], steering[row - REACTION_LAGS + 1 : row + 1][::-1]]))
                turns.append(turn[row])
    if len(turns) < 10 * (REACTION_LAGS + 1):
        return None
    x, y = np.array(inputs), np.array(turns)
    return np.linalg.solve(x.T @ x + REACTION_RIDGE * len(x) * np.eye(x.shape[1]), x.T @ y)
