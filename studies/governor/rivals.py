"""Who may decide in the governor's place: each a score per frame, each with its threshold at the same nominal cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_fit import DANGER_CHANCE, WATCH_CHANCE
from donkey_aicc.alarm.alarm_policy import AlarmPolicy, Threshold, conformal_threshold
from donkey_aicc.alarm.table_alarm import piece_maxima, table_evidence
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable

OFF, OURS = "off", "alarm and hazard"
RAW, SCALED, CONFIDENCE = "raw p", "temperature-scaled p", "confidence"
GOVERNORS = (OFF, RAW, SCALED, CONFIDENCE, OURS)
_SMALLEST = 1e-12


def danger_of(probability: np.ndarray) -> np.ndarray:
    """(N, K) of being safe -> (N,) >= 0: how sure the least safe horizon is of being unsafe, as -log p."""
    return -np.log(np.clip(probability.min(axis=1), _SMALLEST, 1.0))


@dataclass(frozen=True)
class Rival:
    """A governor that acts on a probability instead of on alarm and hazard."""

    name: str
    calibrator: Calibrator | None  # None: the raw probability
    watch: Threshold
    danger: Threshold
    stretch: int

    def policy(self) -> AlarmPolicy:
        return AlarmPolicy(self.watch, self.danger, self.stretch)

    def score(self, p: Mapping[str, list[float]], scores: Mapping[str, float], horizons: list[int]) -> float:
        """Of one frame, with its probabilities and the newest scores by name; without them there is no score yet."""
        if not p["p_safe"]:
            return 0.0
        if self.calibrator is None:
            return float(danger_of(np.array([p["p_safe"]]))[0])
        if any(name not in scores for name in self.calibrator.score_names):
            return 0.0
        known = {name: np.array([scores[name]]) for name in self.calibrator.score_names}
        return float(danger_of(self.calibrator.calibrate_all(np.array([p[self.calibrator.starts_from]]), known, horizons))[0])


def make_rivals(calibrator: Calibrator, nominal: ScoreTable) -> dict[str, Rival]:
    """Thresholds from the same nominal drives and with the same chances as those of the alarm."""
    if calibrator.alarm is None or calibrator.statistics is None:
        raise AiccError("the bundle's calibrator has no alarm; make it with donkey-aicc calibrate --driven --alarm-drives")
    model = calibrator.alarm
    departs = table_evidence(nominal, calibrator.statistics, model.signs, model.scales).departs
    scaled = make_calibrator("temperature").fit(nominal)
    rivals = {}
    for name, kind in ((RAW, None), (SCALED, scaled), (CONFIDENCE, calibrator)):
        largest = piece_maxima(nominal, _table_score(kind, nominal, calibrator), departs, model.piece)
        watch, danger = (conformal_threshold(largest, chance) for chance in (WATCH_CHANCE, DANGER_CHANCE))
        rivals[name] = Rival(name, kind, watch, danger, model.piece.frames)
    return rivals


def _table_score(kind: Calibrator | None, nominal: ScoreTable, ours: Calibrator) -> np.ndarray:
    if kind is None:
        return danger_of(nominal.p_safe)
    score = danger_of(kind.predict(nominal, ours.statistics.scores(nominal) if ours.statistics is not None else {}))
    return np.where(nominal.valid.astype(bool) | (not kind.score_names), score, 0.0)


def about(rivals: Mapping[str, Rival]) -> dict[str, Any]:
    """For the results."""
    return {name: {"watch": rival.watch.value, "danger": rival.danger.value} for name, rival in rivals.items()}
