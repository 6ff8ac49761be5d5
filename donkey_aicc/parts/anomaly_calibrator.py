"""AnomalyCalibrator: probability and anomaly scores in, confidence and a status for a person out."""

import itertools
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.past_faults import PastFaults
from donkey_aicc.errors import ConfigError
from donkey_aicc.parts import states

logger = logging.getLogger(__name__)

UNKNOWN = 0.0
UNCALIBRATED_CAP = 0.5


class AnomalyCalibrator:
    """Donkeycar part: (p, rho, delta, age, valid[, state, scores, frame scores, signs]) -> (confidence, its minimum, status).

    p is the channel `calibrator.starts_from` names: one probability per horizon, an empty list when there is none.

    What it reports when something is wrong is never higher than what it would report if all were well:
    - scores missing, stale, warming up or not finite: the cautious bound, the lowest confidence with every score at 0 or at
      its maximum. No calibrator has a dip in between as a score grows, so all valid scores give at least that.
    - no calibrator: the raw probability, but at most 0.5, since nobody has measured how far it can be trusted.
    - no image or no usable probability: 0, the only value that is never too high.

    With signs and an alarm that knows their range, a fault that is over is forgotten (`PastFaults`).

    Args:
        calibrator: a fitted one, such as `load_calibrator` gives; None: the raw probability, at most 0.5.
        horizons: of the bundle, K frame counts.
        max_age_s: seconds; older scores count as missing.

    Example:
        >>> from donkey_aicc import AnomalyCalibrator, Bundle, load_calibrator
        >>> bundle = Bundle.load("reference")
        >>> part = AnomalyCalibrator(load_calibrator(bundle, "light"), bundle.horizons)
        >>> confidence, least, status = part.run([0.99] * 11, rho=1.0, delta=1.0, age_s=0.05, valid=False, state="warming up")
        >>> len(confidence), least == min(confidence), status
        (11, True, 'warming up')
    """

    def __init__(self, calibrator: Calibrator | None, horizons: Sequence[int], *, max_age_s: float = 1.5) -> None:
        if not max_age_s > 0.0:
            raise ConfigError(f"max_age_s must be > 0, got {max_age_s!r}")
        self.calibrator = calibrator
        self.horizons = tuple(int(horizon) for horizon in horizons)
        self.max_age_s = max_age_s
        alarm = None if calibrator is None else calibrator.alarm
        self._past = None if calibrator is None or alarm is None else PastFaults(alarm, calibrator.settings.context)
        if calibrator is not None:  # a calibrator of another bundle shows itself here, not while driving
            self._calibrated(np.full(len(self.horizons), 0.5), [dict.fromkeys(calibrator.score_names, 0.0)])

    def run(
        self,
        p: Any,
        rho: Any,
        delta: Any,
        age_s: Any,
        valid: Any,
        state: str | None = None,
        scores: Mapping[str, float] | None = None,
        frame_scores: Mapping[str, float] | None = None,
        signs: Any = None,
    ) -> tuple[list[float], float, str]:
        """Never raises. `scores` and `frame_scores` carry what a calibrator needs beyond rho and delta."""
        try:
            past = self._without_past({**(scores or {}), "rho": rho, "delta": delta}, signs, valid)
            confidence, status = self._confidence(p, {**(frame_scores or {}), **past}, age_s, valid, state)
        except Exception:  # an exception here would stop the car
            logger.exception("no confidence could be computed")
            confidence, status = self._unknown(), states.FAILED
        return confidence, min(confidence), status

    def _confidence(
        self, p: Any, scores: Mapping[str, Any], age_s: Any, valid: Any, state: str | None
    ) -> tuple[list[float], str]:
        if p is None or not len(p):
            return self._unknown(), _why_no_probability(state)
        probability = np.array([value if value is not None else math.nan for value in p], dtype=np.float64)
        if probability.shape != (len(self.horizons),) or not _in_unit_interval(probability):
            return self._unknown(), states.NOT_FINITE
        if self.calibrator is None:
            return np.minimum(probability, UNCALIBRATED_CAP).tolist(), states.NO_CALIBRATOR
        status = self._status_of_scores(scores, age_s, valid, state)
        names = self.calibrator.score_names
        if status == states.OK:
            confidence = self._calibrated(probability, [{name: float(scores[name]) for name in names}])[0].tolist()
            return confidence, states.of_scores(scores["rho"], scores["delta"], scores.get("hindsight", 0.0))
        extremes = [dict(zip(names, corner, strict=True)) for corner in itertools.product((0.0, 1.0), repeat=len(names))]
        return self._calibrated(probability, extremes).min(axis=0).tolist(), status

    def _without_past(self, scores: Mapping[str, Any], signs: Any, valid: Any) -> Mapping[str, Any]:
        """Only numbers can be forgotten: everything else goes on to be refused."""
        if self._past is None:
            return scores
        if not valid or not signs or not all(isinstance(value, int | float) for value in scores.values()):
            self._past.reset()
            return scores
        return self._past.step(np.array([math.nan if value is None else value for value in signs]), scores)

    def _status_of_scores(self, scores: Mapping[str, Any], age_s: Any, valid: Any, state: str | None) -> str:
        if state is not None and state != states.OK:
            return state
        needed = ("rho", "delta", *self.calibrator.score_names) if self.calibrator is not None else ("rho", "delta")
        numbers = [scores.get(name) for name in needed] + [age_s]
        if any(number is None for number in numbers):
            return states.NO_SCORES
        if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
            return states.NOT_FINITE
        if age_s > self.max_age_s:
            return states.STALE
        return states.OK if valid else states.WARMING_UP

    def _calibrated(self, probability: np.ndarray, readings: Sequence[Mapping[str, float]]) -> np.ndarray:
        """(R, K) confidence of the probabilities (K,) at each of R sets of scores."""
        assert self.calibrator is not None
        columns = {name: np.clip([reading[name] for reading in readings], 0.0, 1.0) for name in self.calibrator.score_names}
        repeated = np.broadcast_to(probability, (len(readings), len(probability)))
        confidence = self.calibrator.calibrate_all(repeated, columns, self.horizons)
        if not _in_unit_interval(confidence):
            raise ConfigError(f"calibrator {self.calibrator.name} gave a confidence outside [0, 1]: {confidence.tolist()}")
        return confidence

    def _unknown(self) -> list[float]:
        return [UNKNOWN] * len(self.horizons)

    def shutdown(self) -> None:
        """Nothing to close."""


def _why_no_probability(state: str | None) -> str:
    """The scorer looks at the same frame: if it has no complaint about it, it is the predictor that failed."""
    if state is None:
        return states.NO_IMAGE
    return state if state in states.NO_FRAME else states.NOT_FINITE


def _in_unit_interval(values: np.ndarray) -> bool:
    return bool(((values >= 0.0) & (values <= 1.0)).all())  # False for NaN too
