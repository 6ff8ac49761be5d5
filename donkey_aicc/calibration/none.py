"""The raw probability, as a row to compare with."""

from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator, ScoreMap
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.probability import checked_probability
from donkey_aicc.scoring.score_table import ScoreTable


class Uncalibrated(Calibrator):
    """confidence = p."""

    kind = "none"

    def __init__(self, name: str = "none", label: str = "Uncalibrated", uses_tta: bool = False) -> None:
        super().__init__(name, label, uses_tta)

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "Uncalibrated":
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return checked_probability(p).copy()

    def parameters(self) -> dict[str, Any]:
        return {}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        """Nothing was fitted."""
