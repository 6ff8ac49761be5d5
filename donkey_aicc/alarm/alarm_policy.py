"""When the alarm speaks: persistence, levels, hysteresis, a threshold with a promise. Pure: a score per frame in, a level out.

The promise, how often it may be wrong, comes from nominal pieces (laps) by split conformal prediction. The pieces are the
exchangeable units: with n of them, the chance that the next one goes beyond the k-th smallest of their largest scores is at most
1 - k / (n + 1), whatever the scores are. Nothing better than 1 / (n + 1) can be promised. A threshold may lie higher than the
promise needs: it aims at a smaller chance by the tail of what was seen, which is a good guess and no promise.
"""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.timing import GONE_S, HELD_S, frames_in
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.stored import number

MOST_OF_A_SIGN = 1000.0  # a larger one only keeps an alarm silent
STEP = 0.5  # of the logarithm of a threshold, per false alarm that the driver reports
MOST_CALMED = math.log(3.0)  # of that logarithm, by any number of reports: what they cannot silence stays an alarm
MOST_TAIL = 2.5  # times the largest score seen: so far may the tail of few pieces raise a threshold


@dataclass(frozen=True)
class Threshold:
    """A score above `value` is an alarm; a nominal piece has one with a chance of at most `promise`, and by the tail of `aim`.

    pieces: how many independent pieces of nominal driving the promise is worth.
    """

    value: float
    promise: float
    pieces: float
    aim: float

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Threshold":
        pieces = number("the pieces of an alarm's threshold", stored["pieces"], 0.0, 1e6)
        least = 1.0 / (pieces + 1.0) - 1e-9  # nothing better can be promised
        value = number("an alarm's threshold", stored["value"], 1e-9, MOST_OF_A_SIGN)
        promise = number("the promise of an alarm's threshold", stored["promise"], least, 1.0)
        return cls(value, promise, pieces, number("the aim of an alarm's threshold", stored["aim"], 0.0, 1.0))

    def statement(self, unit: str, minutes: float) -> str:
        """The promise in words. unit: what a piece is, such as `laps of 15 s`; minutes: of a piece."""
        ten = 10.0 * self.promise  # however false alarms cluster: the sum bounds the chance of any
        drive = f"or in 1 of {1.0 / ten:.3g} drives of ten" if ten < 1.0 else "nothing for a drive of ten"
        said = f"at most 1 false alarm in {1.0 / self.promise:.3g} {unit} (worth {self.pieces:.3g} independent ones), {drive}"
        return said + (f"; aims at 1 in {minutes / self.aim:.2g} min" if self.aim < self.promise else "")


def conformal_threshold(largest: np.ndarray, alpha: float, worth: float | None = None, *, tail: bool = False) -> Threshold:
    """largest: (n,) of each nominal piece's scores; alpha: wanted chance of a false alarm per piece.

    worth: of how many independent pieces they are worth, n if not given. Fewer pieces than the wish needs: the largest value of
    all, and the promise 1 / (worth + 1) that it allows. With `tail` that value is raised to where the tail aims at alpha.
    """
    if not 0.0 < alpha < 1.0:
        raise ConfigError(f"the chance of a false alarm must be within (0, 1), got {alpha}")
    values = np.sort(np.asarray(largest, dtype=np.float64))
    count = len(values)
    if not count or not np.isfinite(values).all():
        raise AiccError(f"the alarm needs at least one nominal piece with finite scores, got {count}")
    worth = float(count) if worth is None else min(worth, float(count))
    promise = max(alpha, 1.0 / (worth + 1.0))
    rank = min(math.ceil((count + 1) * (1.0 - promise) - 1e-9), count)
    value = float(values[rank - 1])
    enough = count + 1 >= 1.0 / alpha
    if not tail or enough:
        return Threshold(value, max(promise, 1.0 - rank / (count + 1)), worth, promise)
    return Threshold(max(value, _tail(values, alpha, worth)), promise, worth, alpha)


def _tail(values: np.ndarray, alpha: float, worth: float) -> float:
    """What the next value passes with the chance alpha, if logarithms are normal and `worth` of them are independent."""
    from scipy.stats import t  # heavy, and only fits need it

    logs = np.log(values)
    reach = math.inf
    if len(logs) > 2:
        reach = float(t.ppf(1.0 - alpha, max(worth - 1.0, 1.0))) * float(logs.std(ddof=1)) * math.sqrt(1.0 + 1.0 / worth)
    return min(math.exp(min(float(logs.mean()) + reach, 50.0)), MOST_TAIL * float(values[-1]))


class AdaptiveThreshold:
    """Holds the rate of false alarms when nominal driving changes, from the driver's word alone (adaptive conformal).

    Every reported false alarm raises the threshold, every piece without one lowers it a little, so that
    the two balance at the promised rate: after T stretches the share of those with a false alarm is at most
    promise + (ln(needed / fitted) + STEP) / (STEP T), with `needed` the threshold that no nominal score passes any more. It never
    goes below the fitted threshold, nor above three times it: the driver can make the alarm calmer, not more nervous than it was
    promised to be, and not deaf.
    """

    def __init__(self, fitted: Threshold) -> None:
        self._fitted, self._raised = fitted, 0.0

    @property
    def value(self) -> float:
        return self._fitted.value * math.exp(self._raised)

    @property
    def raised(self) -> float:
        """By how much the logarithm of the threshold stands above the fitted one: what the next drive starts from."""
        return self._raised

    @raised.setter
    def raised(self, value: float) -> None:
        self._raised = min(max(value, 0.0), MOST_CALMED) if math.isfinite(value) else 0.0

    def false_alarm(self) -> None:
        """The driver says that there was nothing."""
        self._raised = min(self._raised + STEP * (1.0 - self._fitted.promise), MOST_CALMED)

    def quiet(self) -> None:
        """A stretch as long as a piece has passed without such a report."""
        self._raised = max(0.0, self._raised - STEP * self._fitted.promise)


NONE, WATCH, DANGER = LEVELS = ("none", "watch", "danger")


class AlarmPolicy:
    """Scores in [0, inf) -> none, watch or danger.

    A level begins when the score has been above its threshold for HELD_S, and ends when it has not been for GONE_S. `stretch`:
    frames of a nominal piece, after which the promise counts anew.
    """

    def __init__(self, watch: Threshold, danger: Threshold, stretch: int, rate_hz: float = 20.0) -> None:
        self._thresholds = {WATCH: AdaptiveThreshold(watch), DANGER: AdaptiveThreshold(danger)}
        self._stretch, self._held, self._gone = stretch, frames_in(HELD_S, rate_hz), frames_in(GONE_S, rate_hz)
        self._quiet_frames = 0
        self.reset()

    def reset(self) -> None:
        """A new sequence: no level, but what the driver said stays."""
        self._recent: deque[float] = deque(maxlen=self._held)
        self._calm = dict.fromkeys(self._thresholds, 0)
        self._on = dict.fromkeys(self._thresholds, False)

    @property
    def level(self) -> str:
        return DANGER if self._on[DANGER] else WATCH if self._on[WATCH] else NONE

    def threshold(self, level: str) -> float:
        """The score above which that level begins."""
        return self._thresholds[level].value

    def calmed(self) -> dict[str, float]:
        """Level -> how much calmer the driver's word has made it; `calm_again` starts from there."""
        return {level: threshold.raised for level, threshold in self._thresholds.items()}

    def calm_again(self, calmed: Mapping[str, float]) -> None:
        for level, threshold in self._thresholds.items():
            threshold.raised = float(calmed.get(level, 0.0))

    def step(self, score: float) -> str:
        """The next frame's score; an unknown one counts as 0."""
        self._recent.append(score if score == score else 0.0)
        held = min(self._recent) if len(self._recent) == self._held else 0.0
        for level, threshold in self._thresholds.items():
            if held > threshold.value:
                self._on[level], self._calm[level] = True, 0
                continue
            self._calm[level] = self._calm[level] + 1 if self._recent[-1] <= threshold.value else 0
            if self._calm[level] >= self._gone:
                self._on[level] = False
        self._count_stretch()
        return self.level

    def _count_stretch(self) -> None:
        self._quiet_frames += 1
        if self._quiet_frames >= self._stretch:
            self._quiet_frames = 0
            for threshold in self._thresholds.values():
                threshold.quiet()

    def false_alarm(self) -> str:
        """The driver says that the present level, or the last one, means nothing: returns the level it was about.

        A press without any level is no report. The level ends at once.
        """
        level = self.level
        if level == NONE:
            return NONE
        self._quiet_frames = 0
        self._thresholds[WATCH].false_alarm()
        if level == DANGER:
            self._thresholds[DANGER].false_alarm()
        self.reset()
        return level
