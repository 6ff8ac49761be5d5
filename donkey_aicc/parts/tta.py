"""TTA: the safety prediction averaged over slightly altered views of the frame, in one batched pass."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from donkey_aicc.calibration.statistics import FRAME_SCORES, ScoreStatistics
from donkey_aicc.errors import ConfigError
from donkey_aicc.parts.right_of_way import RightOfWay
from donkey_aicc.parts.safety_predictor import SafetyPredictor, finite_list
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.score_table import FEATURE_NAMES
from donkey_aicc.scoring.tta_views import VIEWS, TTAPrediction, predict_tta

NO_FEATURES = np.zeros(len(FEATURE_NAMES))


class TTA:
    """Donkeycar part around a SafetyPredictor, with its inputs -> p_tta, or with `details` (p_tta, p_safe, frame scores).

    p_safe is the unaltered view of the same pass, so the predictor need not run again. Frame scores are those anomaly
    scores of `score_names` that come from this pass; they need the calibrator's statistics. The views depend on the seed
    and on the frame's number in its sequence, as in offline scoring.
    """

    def __init__(
        self,
        predictor: SafetyPredictor,
        views: int = VIEWS,
        seed: int = 0,
        *,
        details: bool = False,
        statistics: ScoreStatistics | None = None,
        score_names: Sequence[str] = (),
        right_of_way: RightOfWay | None = None,
    ) -> None:
        if views < 1:
            raise ConfigError(f"AICC_TTA_VIEWS must be >= 1, got {views}")
        self.predictor = predictor
        self.views = views
        self.details = details
        self._statistics = statistics
        self._score_names = tuple(name for name in score_names if name.removesuffix("_far") in FRAME_SCORES)
        self._randomness = FrameRandomness(seed, samples=1)
        self._right_of_way = right_of_way or RightOfWay()  # without a scorer there is nobody to wait

    def reset(self) -> None:
        """The next frame is the first of a new sequence."""
        self.predictor.reset()

    def run(self, image: Any, steering: Any = None) -> Any:
        """Never raises; without a usable frame the lists are empty."""
        with self._right_of_way:
            try:
                return self._predict(image, steering)
            except Exception as error:  # a net that fails must not end the drive
                self.predictor.complain(error)
                return ([], [], {}) if self.details else []

    def _predict(self, image: Any, steering: Any) -> Any:
        seen = self.predictor.intake.see(image)
        images = self.predictor.to_input(seen, steering)
        if images is None:
            return ([], [], {}) if self.details else []
        found = predict_tta(self.predictor.runtime, images, self._randomness.tta(seen.number), self.views)
        p_tta = finite_list(found.p_tta[0])
        return (p_tta, finite_list(found.p_identity[0]), self._frame_scores(found)) if self.details else p_tta

    def _frame_scores(self, found: TTAPrediction) -> dict[str, float]:
        if self._statistics is None or not self._score_names:
            return {}
        kinds = {name.removesuffix("_far") for name in self._score_names}
        spread = found.spread[0] if "tta_spread" in kinds else None
        features = found.features[0] if kinds & {"density", "dac"} else None
        # The scores of the world model come from elsewhere: what is handed in for them here does not matter.
        scores = self._statistics.frame_scores(1.0, NO_FEATURES, None, spread, features)
        return {name: scores[name] for name in self._score_names if name in scores}

    def shutdown(self) -> None:
        """Nothing of this drive goes into the next."""
        self.predictor.shutdown()
