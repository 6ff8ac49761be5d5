"""Density-aware calibration (Tomani et al., 2023): hotter where the predictor's features are far from known ones."""

import numpy as np

from donkey_aicc.calibration.base import ScoreMap
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.calibration.temperature import TemperatureScaling, heated
from donkey_aicc.errors import AiccError
from donkey_aicc.score_table import ScoreTable

DAC_WEIGHT = 2.0


class DensityAwareCalibration(TemperatureScaling):
    """T_eff = T_k exp(2 d), d = mean distance to 10 calibration neighbours over (mu + 2 sigma), clipped to [0, 1]."""

    kind = "dac"

    def __init__(self, name: str = "dac", label: str = "DAC", uses_tta: bool = False) -> None:
        super().__init__(name, label, uses_tta)
        self.score_names = ("dac",)

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "DensityAwareCalibration":
        super().fit(table)
        self.statistics = pool.statistics if pool is not None else ScoreStatistics.fit(table)
        if self.statistics.density is None:
            raise AiccError("calibrator dac needs the column cnn_features, which this score table does not have (all NaN)")
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        distance = self.required_scores(scores, len(p))[:, 0]
        return heated(p, self.of_horizon(self.temperatures, horizon) * np.exp(DAC_WEIGHT * distance))
