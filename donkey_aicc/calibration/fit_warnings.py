"""What a person should know about a fit before trusting it."""

from typing import TYPE_CHECKING

from donkey_aicc.calibration.next_drive import too_few_drives
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.score_trends import score_trends
from donkey_aicc.faults.severity_ladder import FamilyLadder

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle


def fit_warnings(bundle: "Bundle", pool: Pool, ladders: dict[str, FamilyLadder]) -> list[str]:
    """Sentences, none when all is well."""
    trends = score_trends(pool.nominal, pool.nominal_scores, pool.augmented, pool.augmented_scores, ("rho",))
    few = too_few_drives(len(pool.nominal.sequences()))
    said = ([few] if few else []) + [trend.warning() for trend in trends if trend.lowered]
    for family, ladder in ladders.items():
        if not all(ladder.reached):
            lowest = min(ladder.accuracies)
            said.append(
                f"{family} at full strength leaves an accuracy of {lowest:.2f}, above the {min(ladder.targets):.2f} aimed at"
            )
    if not bundle.manifest.gate_passed:
        said.append(
            "the dynamics rollout is no better than guessing (see donkey-aicc info): delta's rollout features mean little"
        )
    return said
