"""Density-aware calibration (Tomani et al., 2023): hotter where the predictor's features are far from known ones.

It is read in two ways. The paper's appendix divides the distance by mu + 2 sigma, which heats nominal frames too; the authors'
code takes clip((d - mu) / (2 sigma)). Both are rows; a third (`dac_fitted` in the catalogue) fits the weight.
"""

import numpy as np

from donkey_aicc.calibration.base import ScoreMap
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.calibration.temperature import TemperatureScaling, heated
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable

DAC_WEIGHT = 2.0
APPENDIX, AUTHORS = "dac", "density"  # scores: d / (mu + 2 sigma) and (d - mu) / (2 sigma), clipped to [0, 1]


class DensityAwareCalibration(TemperatureScaling):
    """T_eff = T_k exp(2 s), s = normalised mean distance to the 10 nearest calibration features."""

    kind = "dac"

    def __init__(
        self, name: str = "dac", label: str = "DAC (appendix)", uses_tta: bool = False, normalised: str = APPENDIX
    ) -> None:
        super().__init__(name, label, uses_tta)
        self.score_names = (normalised,)

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "DensityAwareCalibration":
        super().fit(table)
        self.statistics = pool.statistics if pool is not None else ScoreStatistics.fit(table)
        if self.statistics.density is None:
            raise AiccError(f"calibrator {self.name} needs the column cnn_features, which this score table does not have")
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        distance = self.required_scores(scores, len(p))[:, 0]
        return heated(p, self.of_horizon(self.temperatures, horizon) * np.exp(DAC_WEIGHT * distance))
