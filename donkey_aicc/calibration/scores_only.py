"""What is nominal, for a bundle trained without labels: the statistics of the scores, and no confidence."""

from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator, ScoreMap
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable


class ScoresOnly(Calibrator):
    """rho, delta and the alarm have their scale from it; asking it for a confidence is refused."""

    kind, shown_as = "scores_only", "Scores without confidence"

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "ScoresOnly":
        self.statistics = ScoreStatistics.fit(table)
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        raise AiccError("this bundle was trained without labels: it has no safety predictor and gives no confidence")

    def parameters(self) -> dict[str, Any]:
        return {}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        """Nothing but the statistics was fitted."""
