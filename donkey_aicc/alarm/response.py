"""How this car answers: how its last commands let the picture turn, and what of the turning they do not explain.

turn = speed x (offset + the last half second of steering, weighted), with the speed a lag of the throttle: a small linear filter,
fitted on nominal drives. What is left over is signed, and its shape tells what is wrong: a car that pulls to one side, one that
answers too weakly or the wrong way round, one whose pictures come late. Where a sequence begins the car may stand or roll:
two speeds, one from each, come together within seconds, and what lies between them is as expected.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from donkey_aicc.alarm.timing import ANSWERS_S, LONG_S, MIDDLE_S, SHORT_S, STEERING_S, frames_in
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.frame_stats import FRAME_STATS, LARGEST_TURN_PX, Ring
from donkey_aicc.stored import array, number

RESPONSE_SIGNS = ("pull_short", "pull", "pull_long", "gain", "late")
SPEED_LAGS_S = (0.1, 0.2, 0.4, 0.6, 0.8, 1.2)  # of the speed behind the throttle: the best of these is taken
DELAYS_S = (0.1, 0.15, 0.2, 0.3, 0.4)  # by which pictures may be late
PRIOR = 0.25  # of a usual second's turning: so much of it speaks for the usual gain before anything is seen
RIDGE = 1e-3
BETTER = 0.99  # of the error that is left: a longer lag must be worth that much, and is not where the throttle is held
STANDING_THROTTLE = 0.02
MOST_WEIGHT, MOST_ENERGY = 1000.0, LARGEST_TURN_PX**2
_TURN = FRAME_STATS.index("turn_px")


@dataclass(frozen=True)
class Response:
    """Of one car. weights: (1 + lags,) offset and weights of the steering now, one frame ago ... at the usual speed.

    speed_lag_s: of the speed behind the throttle. cruise: the usual throttle. energy: mean square of the expected turn, pixels.
    """

    weights: np.ndarray
    speed_lag_s: float
    cruise: float
    energy: float

    def next_speed(self, speed: np.ndarray, throttle: np.ndarray, rate_hz: float) -> np.ndarray:
        """In shares of the usual one; throttle: as sent with the frame before."""
        keep = np.exp(-1.0 / (self.speed_lag_s * rate_hz))
        return np.asarray(keep * speed + (1.0 - keep) * throttle / self.cruise)

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"weights": self.weights.tolist()}

    @classmethod
    def from_json(cls, stored: Any, rate_hz: float) -> "Response":
        weights = array("the alarm's response", stored["weights"], -MOST_WEIGHT, MOST_WEIGHT)
        lags = frames_in(STEERING_S, rate_hz)
        if weights.shape != (1 + lags,):
            raise AiccError(f"the alarm's response must be {1 + lags} numbers, got {weights.size}")
        lag_s = number("the speed lag of the alarm's response", stored["speed_lag_s"], 0.01, 10.0)
        cruise = number("the cruise of the alarm's response", stored["cruise"], STANDING_THROTTLE, 1.0)
        return cls(weights, lag_s, cruise, number("the energy of the alarm's response", stored["energy"], 0.0, MOST_ENERGY))


class ResponseStream:
    """L lanes, frame by frame: (L, len(RESPONSE_SIGNS)), NaN until the car has rolled for a moment."""

    def __init__(self, lanes: int, response: Response | None, rate_hz: float) -> None:
        self._lanes, self._response, self._rate_hz = lanes, response, rate_hz
        self._windows = [frames_in(seconds, rate_hz) for seconds in (SHORT_S, MIDDLE_S, LONG_S)]
        self._delays = sorted({frames_in(seconds, rate_hz) for seconds in DELAYS_S})
        self.reset()

    def reset(self) -> None:
        """A new sequence starts; whether the car stands or rolls is not known."""
        longest = self._windows[-1]
        self._steering = Ring(self._lanes, frames_in(STEERING_S, self._rate_hz))
        self._speeds: np.ndarray | None = None  # (2, L) from a standstill, and from the speed of the first throttle
        self._last_throttle = np.zeros(self._lanes)
        self._expected = Ring(self._lanes, longest + self._delays[-1])
        self._turn, self._missed = Ring(self._lanes, longest), Ring(self._lanes, longest)
        self._driven = np.zeros(self._lanes, dtype=np.int64)  # frames with throttle in a row

    def update(self, turn_px: np.ndarray, actions: Sequence[np.ndarray], least_speed: np.ndarray) -> np.ndarray:
        """turn_px: (L,) of this frame; actions: (L, 2) of dropped frames and of this one; least_speed: (L,) share of the
        usual speed that a slowed car may have by now, 1 if it is not slowed: what lies in between is as expected."""
        if self._response is None:
            return np.full((self._lanes, len(RESPONSE_SIGNS)), np.nan)
        seen = turn_px if len(actions) == 1 else np.full(self._lanes, np.nan)  # a turn over dropped frames is not one frame's
        for action in actions:
            self._follow(self._response, np.asarray(action, dtype=np.float64), seen, least_speed)
        known = (self._driven >= frames_in(ANSWERS_S, self._rate_hz))[:, None]
        return np.where(known, self._signs(self._response), np.nan)

    def _follow(self, response: Response, action: np.ndarray, turn_px: np.ndarray, least_speed: np.ndarray) -> None:
        steering, throttle = action.T
        if self._speeds is None:
            self._speeds, self._last_throttle = np.stack([np.zeros(self._lanes), throttle / response.cruise]), throttle
        self._speeds = response.next_speed(self._speeds, self._last_throttle, self._rate_hz)
        self._last_throttle = throttle
        self._steering.append(steering)
        self._driven = np.where(throttle > STANDING_THROTTLE, self._driven + 1, 0)
        past = self._steering.window()[:, ::-1]
        turn = response.weights[0] + past @ response.weights[1 : 1 + past.shape[1]]
        slowed = np.where(least_speed < 1.0, least_speed, np.inf)
        slowest, fastest = np.minimum(self._speeds.min(axis=0), slowed) * turn, self._speeds.max(axis=0) * turn
        self._expected.append(self._speeds.mean(axis=0) * turn)
        self._turn.append(turn_px)
        missed = turn_px - np.clip(turn_px, np.minimum(slowest, fastest), np.maximum(slowest, fastest))
        self._missed.append(np.where(self._driven > 0, missed, np.nan))  # who pushes a standing car is not the steering

    def _signs(self, response: Response) -> np.ndarray:
        """What is not known is no evidence: sums go over what is, and are divided by the whole window."""
        window = self._missed.window()
        known = np.isfinite(window)
        missed = np.where(known, window, 0.0)
        pulls, long = [missed[:, -frames:].sum(axis=1) / frames for frames in self._windows], self._windows[-1]
        expected = np.where(known, self._expected.window()[:, -missed.shape[1] :], 0.0)
        gain = (missed * expected).sum(axis=1) / ((expected**2).sum(axis=1) + PRIOR * long * response.energy + 1e-9)
        return np.column_stack([*pulls, gain, np.sqrt(self._late(missed, known) / long)])

    def _late(self, missed: np.ndarray, known: np.ndarray) -> np.ndarray:
        """(L,) by how many square pixels less is missed if the pictures show an earlier moment."""
        frames, expected = missed.shape[1], self._expected.window()
        turn, plain = self._turn.window(), (missed**2).sum(axis=1)
        less = np.zeros(self._lanes)
        for delay in self._delays:
            if frames + delay <= expected.shape[1]:
                then = expected[:, expected.shape[1] - frames - delay : expected.shape[1] - delay]
                less = np.maximum(less, plain - np.square(np.where(known, turn - then, 0.0)).sum(axis=1))
        return less


SETTLED_S = 3.0  # with throttle, after which the speed is known however the sequence began


def fit_response(drives: Sequence[tuple[np.ndarray, np.ndarray]], cruise: float, rate_hz: float) -> Response | None:
    """drives: turn_px (N,) and actions (N, 2) of nominal sequences; least squares. None where they were not recorded."""
    lags = frames_in(STEERING_S, rate_hz)
    best, least = None, np.inf
    for lag_s in SPEED_LAGS_S if cruise > STANDING_THROTTLE else ():
        draft = Response(np.zeros(1 + lags), lag_s, cruise, 0.0)
        pairs = [_settled(draft, turn, actions.astype(np.float64), rate_hz) for turn, actions in drives]
        x, y = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
        if len(y) < 10 * (lags + 1):
            continue
        weights = np.linalg.solve(x.T @ x + RIDGE * len(x) * np.eye(x.shape[1]), x.T @ y)
        loss, energy = (float(np.square(each).mean()) for each in (y - x @ weights, x @ weights))
        if loss < BETTER * least:
            best, least = replace(draft, weights=weights, energy=min(energy, MOST_ENERGY)), loss
    return best


def _settled(draft: Response, turn: np.ndarray, actions: np.ndarray, rate_hz: float) -> tuple[np.ndarray, np.ndarray]:
    """(n, 1 + lags) and (n,) of the rolling frames whose speed and turn are known."""
    steering, throttle = actions.T
    speed = np.full(len(throttle), throttle[0] / draft.cruise)
    for row in range(1, len(throttle)):
        speed[row] = draft.next_speed(speed[row - 1], throttle[row - 1], rate_hz)
    lags = len(draft.weights) - 1
    past = np.stack([np.concatenate([np.full(lag, np.nan), steering])[: len(steering)] for lag in range(lags)], axis=1)
    inputs = np.column_stack([np.ones(len(past)), past]) * speed[:, None]
    frames = frames_in(SETTLED_S, rate_hz)
    settled = np.convolve(throttle > STANDING_THROTTLE, np.ones(frames))[: len(throttle)] >= frames
    known = settled & np.isfinite(turn) & np.isfinite(inputs).all(axis=1)
    return inputs[known], turn[known].astype(np.float64)
