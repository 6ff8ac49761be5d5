"""What a fault that is over leaves in the scores: rho and delta look back five seconds, the confidence need not.

The scores themselves stay as the paper defines them. Only what the confidence is made from forgets: when the frames are nominal
again, and until the fault has left the context, the scores from before it count where they are lower.
"""

from collections import deque
from collections.abc import Mapping

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel
from donkey_aicc.alarm.signs import FAST, table_signs
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import PREDICTED_SCORES, Scores, ScoreStatistics


class PastFaults:
    """Signs and scores of one frame after the other -> the scores that the confidence is made from."""

    def __init__(self, alarm: AlarmModel, context: int) -> None:
        self._alarm, self._context = alarm, context
        self._calm = alarm.signs.window  # frames in a row in which no fast sign is worth a watch: the fault is over
        self.reset()

    def reset(self) -> None:
        """A new sequence: nothing to forget."""
        self._calm_frames = self._context  # since the last odd one
        self._before: deque[Mapping[str, float]] = deque(maxlen=2 * self._calm)  # it shows in the scores before it is odd

    def step(self, signs: np.ndarray, scores: Mapping[str, float]) -> Mapping[str, float]:
        """signs: (S,) with NaN for unknown; scores: by name, larger is stranger."""
        odd = bool((self._alarm.scales.deviations(signs[None])[0, FAST] > self._alarm.watch.value).any())
        self._calm_frames = 0 if odd else self._calm_frames + 1
        if self._calm_frames >= self._context:
            self._before.append(dict(scores))
        if not self._calm <= self._calm_frames < self._context or not self._before:
            return scores
        before = self._before[0]
        return {name: min(value, before.get(name, value)) for name, value in scores.items()}


def scores_without_past(table: ScoreTable, statistics: ScoreStatistics, alarm: AlarmModel, context: int) -> Scores:
    """name -> (N,) as the car's confidence sees the rows of a table."""
    scores = {name: values.copy() for name, values in statistics.scores(table).items()}
    signs = table_signs(table, statistics, alarm.signs)
    remembered = [name for name in scores if name.removesuffix("_z") not in PREDICTED_SCORES]
    for drive in table.sequences():
        past = PastFaults(alarm, context)
        for row in np.flatnonzero((table.sequence == drive) & table.valid.astype(bool)):
            found = past.step(signs[row], {name: float(scores[name][row]) for name in remembered})
            for name, value in found.items():
                scores[name][row] = value
    return scores
