"""AICC-R beside every other row on the drives of one experiment, fitted once on all calibration drives; whole-drive intervals.

Much less than the whole report (no random splits, no figures), so that a track can be judged in minutes.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from donkey_aicc.calibration.calibrating import usable_folds
from donkey_aicc.calibration.catalogue import ABLATION, BASELINES, MORE_BASELINES, OURS, RESTORED, make_calibrator
from donkey_aicc.calibration.pool import build_pool, of_sources
from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL, Condition, evaluated_conditions
from donkey_aicc.evaluation.metrics import auroc
from donkey_aicc.evaluation.split_study import outcome_of
from donkey_aicc.evaluation.tables import cell, rounded
from donkey_aicc.scoring.score_table import ScoreTable
from studies.experiment_stages import Experiment, settled
from studies.judged_rows import judge
from studies.safe_share import SHARE_RANGE, SHARE_STEPS, ByClass, at_share

FIRST = "aicc_r"
COMPARED = (*BASELINES, *MORE_BASELINES, *ABLATION, "tta_log_rho_delta", "light", *RESTORED)
NEAR = 5  # frames: the horizon at which the restored predictor must see in the dark
ECE_LIMIT, NLL_LIMIT, NOMINAL_LIMIT, AUROC_LIMIT = 0.10, 0.60, 0.03, 0.95  # the goals


def judge_experiment(experiment: Experiment) -> dict[str, Any]:
    """From the score tables that are there."""
    layout, preset = experiment.layout, experiment.preset
    names = ("calibration", "augmented", "driven", "test", *(f"ood_{protocol}" for protocol in preset.runs))
    found = {name: ScoreTable.load(layout.scores(name)) for name in names}
    calibration, test = (settled(found[name], preset.settled_frames) for name in ("calibration", "test"))
    augmented = of_sources(found["augmented"], calibration.sequences())
    ood = {protocol: found[f"ood_{protocol}"] for protocol in preset.runs}
    rows = restored_rows(calibration, augmented, found["driven"], test, ood, experiment.model_seed)
    return {"about": experiment.about()} | rows


def restored_rows(
    calibration: ScoreTable,
    augmented: ScoreTable,
    driven: ScoreTable,
    test: ScoreTable,
    ood: Mapping[str, ScoreTable],
    seed: int,
) -> dict[str, Any]:
    """Rows with their gains over AICC-R, the worst shares of safe frames, what the predictor sees, and the goals."""
    pool = build_pool(calibration, augmented, folds=usable_folds(calibration), seed=seed, driven=driven)
    conditions = evaluated_conditions(test, ood)
    scores = {one.name: pool.statistics.scores(one.table) for one in conditions}
    confidence, labels, weights = {}, {}, {}
    for name in COMPARED:
        try:
            fitted = make_calibrator(name).fit(pool.nominal, pool)
        except AiccError:  # few frames of one class: this row has no numbers here
            continue
        confidence[name] = {one.name: fitted.predict(one.table, scores[one.name]) for one in conditions}
        labels[name], weights[name] = fitted.label, {each: rounded(weight) for each, weight in fitted.shown_weights().items()}
    rows = judge(confidence, conditions, FIRST, seed)
    for name, row in rows.items():
        row["label"], row["weights"], row["by_share"] = labels[name], weights[name], _by_share(confidence[name], conditions)
    sees = {one.name: _sees(one) for one in conditions}
    return {"rows": rows, "sees": sees, "goals": goals(rows, sees)}


def _by_share(confidence: Mapping[str, np.ndarray], conditions: list[Condition]) -> list[list[float | None]]:
    """[ECE, NLL] under faults at each share of safe frames from .2 to .8."""
    odd = [one for one in conditions if one.name != NOMINAL]
    by_class = [ByClass.of(outcome_of(confidence[one.name], one), confidence[one.name], one) for one in odd]
    shares = np.linspace(*SHARE_RANGE, SHARE_STEPS)
    each = [np.nanmean([at_share(one, share, odd[0].horizons) for one in by_class], axis=0) for share in shares]
    return [[rounded(float(value)) for value in pair] for pair in each]


def _sees(condition: Condition) -> dict[str, Any]:
    """AUROC of safe against unsafe at a near horizon, plain and restored, and how much of the restored view counted."""
    column = condition.horizons.tolist().index(NEAR)
    known = {"plain": condition.table.p_safe, "restored": condition.table.p_restored}
    found: dict[str, Any] = {name: cell(auroc(p[:, column], condition.labels[:, column])) for name, p in known.items()}
    return found | {"share": rounded(float(np.nan_to_num(condition.table.restored).mean()))}


def goals(rows: Mapping[str, Any], sees: Mapping[str, Any], first: str = FIRST) -> list[dict[str, Any]]:
    """Each with what was measured."""
    mine = rows[first]
    ece, loss, calm = mine["ece"]["ood_mean"]["value"], mine["nll"]["ood_mean"]["value"], mine["ece"][NOMINAL]["value"]
    ahead = [name for name in rows if name not in RESTORED and not _beats(rows, first, name)]
    worse = [
        number
        for number, (here, there) in enumerate(zip(mine["by_share"], rows[OURS]["by_share"], strict=True))
        if here[0] > there[0] or here[1] > there[1]
    ]
    dark = sees.get("dark", {}).get("restored", {}).get("value")
    found = [
        (f"ECE under faults at most {ECE_LIMIT:.2f}", ece <= ECE_LIMIT, f"{ece:.3f}"),
        (f"NLL under faults at most {NLL_LIMIT:.2f}", loss <= NLL_LIMIT, f"{loss:.3f}"),
        (f"nominal ECE at most {NOMINAL_LIMIT:.2f}", calm <= NOMINAL_LIMIT, f"{calm:.3f}"),
        (
            "below every other row in ECE and NLL, at no more nominal ECE than it or the limit",
            not ahead,
            "not below " + ", ".join(ahead) if ahead else "below all",
        ),
        (
            "no worse than the paper's method at any safe share from .2 to .8",
            not worse,
            f"worse at {len(worse)} of {SHARE_STEPS} shares",
        ),
        (
            f"AUROC of the restored predictor under Dark at k = {NEAR} at least {AUROC_LIMIT}",
            dark is not None and dark >= AUROC_LIMIT,
            "undefined" if dark is None else f"{dark:.3f}",
        ),
    ]
    return [{"goal": goal, "reached": bool(reached), "measured": measured} for goal, reached, measured in found]


def _beats(rows: Mapping[str, Any], first: str, other: str) -> bool:
    here, there = (
        (row["ece"]["ood_mean"]["value"], row["nll"]["ood_mean"]["value"], row["ece"][NOMINAL]["value"])
        for row in (rows[first], rows[other])
    )
    return bool(here[0] < there[0] and here[1] < there[1] and here[2] <= max(there[2], NOMINAL_LIMIT))
