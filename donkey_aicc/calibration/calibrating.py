"""From a trained bundle and nominal tubs to a calibrator: fit, warn where the fit is not to be trusted, store it in the bundle.

Only calibration sequences are touched. The test protocols have no part in any number chosen here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.alarm.alarm_fit import NominalDrives, fit_alarm
from donkey_aicc.alarm.pieces import piece_numbers
from donkey_aicc.calibration.augmented_drives import Augmented
from donkey_aicc.calibration.base import Calibrator, ScoresOnly, mean_nll
from donkey_aicc.calibration.calibrator_file import save_calibrator
from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.calibration.pool import FOLDS, Pool, build_pool
from donkey_aicc.errors import AiccError
from donkey_aicc.faults.d_aug import FamilyLadder
from donkey_aicc.scoring.lower_grades import grades_of, table_at
from donkey_aicc.scoring.nominal_distance import too_few_drives
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.splits import drives_by_id

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

NOTICED = 0.7  # AUROC of a score against nominal driving: below, it may as well be luck


def calibration_drives(bundle: "Bundle", sequences: Sequence[Drive], side: str = "calibration") -> list[Drive]:
    """The sequences that the bundle's split put on that side, in the split's order; all of them must be there.

    Too few of them to cross-fit a calibrator is said here, before anything long starts.
    """
    wanted = bundle.manifest.split.get(side, [])
    by_id = drives_by_id(sequences, wanted, bundle.manifest.data.get("split", {}))
    missing = [name for name in wanted if name not in by_id]
    if not wanted or missing:
        what = f"{len(missing)} of them ({', '.join(missing[:3])} ...) are not in the data given" if missing else "it has none"
        raise AiccError(f"bundle {bundle.path} names its {side} sequences, but {what}; give the tubs it was trained on")
    chosen = [by_id[name] for name in wanted]
    long_enough = sum(len(sequence) > bundle.manifest.context for sequence in chosen)
    if side == "calibration" and long_enough < 2:
        raise AiccError(
            f"calibration needs at least 2 drives longer than the scoring context of {bundle.manifest.context} frames, got "
            f"{long_enough}; record more drives and train again"
        )
    return chosen


def fit_calibrator(
    calibration: ScoreTable,
    augmented: ScoreTable,
    name: str,
    seed: int = 0,
    settings: ScoreSettings | None = None,
    driven: ScoreTable | None = None,
) -> tuple[Calibrator, Pool]:
    """A named row of the catalogue, fitted on the calibration table and the pool with D_aug; settings: of the tables."""
    pool = build_pool(calibration, augmented, folds=usable_folds(calibration), seed=seed, driven=driven)
    calibrator = make_calibrator(name).fit(pool.nominal, pool)
    calibrator.settings = settings or ScoreSettings()
    return calibrator, pool


def usable_folds(calibration: ScoreTable) -> int:
    """Five, or one per sequence when there are fewer; one sequence cannot be cross-fitted."""
    sequences = len(calibration.select(calibration.valid.astype(bool)).sequences())
    if sequences < 2:
        raise AiccError(f"calibration needs at least 2 sequences longer than the scoring context, got {sequences}")
    return min(FOLDS, sequences)


def add_alarm(
    calibrator: Calibrator,
    nominal: ScoreTable,
    others: NominalDrives | None = None,
    driven: ScoreTable | None = None,
) -> None:
    """Fit the alarm that goes with a fitted calibrator. Tables made before there was an alarm lack what it needs: none then."""
    others = others or NominalDrives()
    if not np.isfinite(nominal.frame_stats).any() or piece_numbers(nominal, others.piece.frames).max(initial=0) < 1:
        return
    calibrator.statistics = calibrator.statistics or ScoreStatistics.fit(nominal)
    calibrator.alarm = fit_alarm(nominal, calibrator.statistics, others, driven)


@dataclass(frozen=True)
class Calibrated:
    """What a calibration left behind; `about` is also in the file."""

    calibrator: Calibrator
    pool: Pool
    about: dict[str, Any]
    path: Path
    grades: tuple[str, ...]


def calibrate_bundle(
    bundle: "Bundle",
    nominal: ScoreTable,
    augmented: Augmented,
    settings: ScoreSettings,
    method: str,
    seed: int = 0,
    others: NominalDrives | None = None,
) -> Calibrated:
    """Fit every grade, describe the first fit, and write calibrator.json into the bundle.

    settings: of the tables. others: nominal drives for the alarm, at any grade: it does not look ahead.
    """
    tables = (nominal, augmented.table, augmented.driven)
    fits = []
    for grade in grades_of(nominal, settings.grade):
        known, altered, driven = (None if table is None else table_at(table, grade) for table in tables)
        assert known is not None and altered is not None
        fits.append(fit_calibrator(known, altered, method, seed, settings.at_grade(grade), driven))
        add_alarm(fits[-1][0], known, others, driven)
    calibrator, pool = fits[0]
    temperature = make_calibrator("temperature").fit(pool.nominal, pool)
    about = {
        "method": method,
        "seed": seed,
        "summary": fit_summary(calibrator, temperature, pool),
        "family_weights": calibrator.weights_by_family(pool),
        "d_aug_strengths": {family: ladder.to_json() for family, ladder in augmented.ladders.items()},
        "alarm": [] if calibrator.alarm is None else calibrator.alarm.statements(),
        "warnings": fit_warnings(bundle, pool, augmented.ladders),
    }
    path = save_calibrator(bundle, [fitted for fitted, _ in fits], about, nominal)
    return Calibrated(calibrator, pool, about, path, tuple(fitted.settings.grade for fitted, _ in fits))


def fit_scores_only(
    bundle: "Bundle", nominal: ScoreTable, settings: ScoreSettings, others: NominalDrives | None = None
) -> tuple[Calibrator, Path]:
    """For a bundle without a safety predictor: what is nominal, so that rho, delta and the alarm have a scale."""
    calibrators = []
    for grade in grades_of(nominal, settings.grade):
        calibrators.append(ScoresOnly().fit(table_at(nominal, grade)))
        calibrators[-1].settings = settings.at_grade(grade)
        add_alarm(calibrators[-1], table_at(nominal, grade), others)
    calibrator = calibrators[0]
    about = {"method": calibrator.name, "summary": {}, "warnings": ["trained without labels: no p_safe and no confidence"]}
    return calibrator, save_calibrator(bundle, calibrators, about, nominal)


def fit_warnings(bundle: "Bundle", pool: Pool, ladders: dict[str, FamilyLadder]) -> list[str]:
    """Sentences, none when all is well."""
    few = too_few_drives(len(pool.nominal.sequences()))
    said = ([few] if few else []) + unseen_families(pool)
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


def unseen_families(pool: Pool) -> list[str]:
    """The families of which no score takes notice even at their strongest: under such a fault the confidence cannot fall."""
    said, names = [], [name for name in pool.nominal_scores if f"{name}_z" in pool.nominal_scores]
    for family in pool.families():
        severity = np.where(pool.augmented.protocol == family, pool.augmented.severity, -1)
        strongest = severity == severity.max()
        areas = {name: _told_apart(pool.augmented_scores[name][strongest], pool.nominal_scores[name]) for name in names}
        best = max(areas, key=lambda name: areas[name])
        if areas[best] < NOTICED:
            said.append(
                f"{family} at severity {severity.max()} is hardly told from nominal driving: AUROC {areas[best]:.2f} at best "
                f"({best}), so the confidence cannot fall"
            )
    return said


def _told_apart(odd: np.ndarray, nominal: np.ndarray) -> float:
    """AUROC; ties count half, unknown values are left out."""
    odd, nominal = odd[np.isfinite(odd)], np.sort(nominal[np.isfinite(nominal)])
    if not len(odd) or not len(nominal):
        return 0.5
    below = [np.searchsorted(nominal, odd, side) for side in ("left", "right")]
    return float((below[0] + below[1]).mean() / (2.0 * len(nominal)))


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
