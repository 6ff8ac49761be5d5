"""What a person should know about a fit: numbers, and warnings before trusting it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator, mean_nll
from donkey_aicc.calibration.nominal_distance import too_few_drives
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.faults.severity_ladder import FamilyLadder

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle


def fit_warnings(bundle: "Bundle", pool: Pool, ladders: dict[str, FamilyLadder]) -> list[str]:
    """Sentences, none when all is well."""
    few = too_few_drives(len(pool.nominal.sequences()))
    said = ([few] if few else []) + lowered_rho(pool)
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


def lowered_rho(pool: Pool) -> list[str]:
    """The families with a severity whose mean rho is below nominal: the paper assumes that there are none."""
    nominal, said = float(pool.nominal_scores["rho_z"].mean()), []
    for family in pool.families():
        severity = np.where(pool.augmented.protocol == family, pool.augmented.severity, -1)
        means = {int(level): float(pool.augmented_scores["rho_z"][severity == level].mean()) for level in np.unique(severity)}
        means.pop(-1, None)
        worst = min(means, key=lambda level: means[level])
        if means[worst] < nominal:
            said.append(
                f"{family} lowers rho: mean {means[worst]:.2f} at severity {worst}, nominal {nominal:.2f}; rho cannot warn of it"
            )
    return said


def fit_summary(calibrator: Calibrator, temperature: Calibrator, pool: Pool) -> dict[str, Any]:
    """NLL on the data of the fit, beside plain temperature scaling: what the caution costs and what it buys."""
    found: dict[str, Any] = {}
    for name, table, scores in (
        ("nominal", pool.nominal, pool.nominal_scores),
        ("D_aug", pool.augmented, pool.augmented_scores),
    ):
        found[f"{name} NLL"] = round(mean_nll(calibrator.predict(table, scores), table.labels), 4)
        found[f"{name} NLL of temperature scaling"] = round(mean_nll(temperature.predict(table, scores), table.labels), 4)
    if "fitted_on" in calibrator.fit_report:
        found["faults of the fit"] = calibrator.fit_report["fitted_on"]
    for name, weight in calibrator.shown_weights().items():
        found[f"weight of {name}"] = round(float(weight), 4)
    return found
