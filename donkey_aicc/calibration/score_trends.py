"""Does an anomaly score rise with severity? The paper assumes that it never falls; here it is measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from donkey_aicc.calibration.statistics import Scores
from donkey_aicc.scoring.score_table import ScoreTable

TREND_SCORES = ("rho", "delta", "rho_two_sided", "latent")


@dataclass(frozen=True)
class ScoreTrend:
    """Mean unclipped score of one family by severity, beside its nominal mean."""

    family: str
    score: str
    nominal: float
    severities: tuple[int, ...]
    means: tuple[float, ...]

    @property
    def lowered(self) -> bool:
        """Some severity looks less anomalous than nominal driving."""
        return min(self.means) < self.nominal

    def warning(self) -> str:
        """A sentence for a person, empty if the score behaves."""
        if not self.lowered:
            return ""
        worst = int(np.argmin(self.means))
        return (
            f"{self.family} lowers {self.score}: mean {self.means[worst]:.2f} at severity {self.severities[worst]}, "
            f"nominal {self.nominal:.2f}; {self.score} cannot warn of it"
        )


def score_trends(
    nominal: ScoreTable,
    nominal_scores: Scores,
    anomalous: ScoreTable,
    anomalous_scores: Scores,
    names: Sequence[str] = TREND_SCORES,
) -> list[ScoreTrend]:
    """One trend per family (or protocol) and score, over valid rows; scores that were not recorded are left out."""
    found = []
    valid = anomalous.valid.astype(bool)
    for family in dict.fromkeys(anomalous.protocol.tolist()):
        rows = valid & (anomalous.protocol == family)
        severities = tuple(int(number) for number in np.unique(anomalous.severity[rows]))
        for name in names:
            if f"{name}_z" not in anomalous_scores or not severities:
                continue
            values = anomalous_scores[f"{name}_z"]
            means = tuple(float(values[rows & (anomalous.severity == number)].mean()) for number in severities)
            calm = float(nominal_scores[f"{name}_z"][nominal.valid.astype(bool)].mean())
            found.append(ScoreTrend(family, name, calm, severities, means))
    return found
