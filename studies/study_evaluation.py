"""The evaluation of a user, and on it what only our own study asks.

What a score buys, what oracles would still get wrong, other shares of safe frames, low confidence as an alarm, and the ridge in
delta's covariance.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from donkey_aicc.calibration.catalogue import OURS, make_calibrator
from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.collect import fitted_everywhere
from donkey_aicc.evaluation.study import Evaluation, Results, evaluate_in_full
from donkey_aicc.scoring.score_table import ScoreTable
from studies.early_warning import Driving, said_of_warnings, warning_section
from studies.frontier import frontier
from studies.lambda_sensitivity import LAMBDAS, lambda_sensitivity
from studies.oracle_bounds import bounds
from studies.paper_numbers import PAPER_SAFE_SHARES
from studies.safe_share import stress


def evaluate_study(
    calibration: ScoreTable,
    augmented: ScoreTable,
    test: ScoreTable,
    ood: Mapping[str, ScoreTable],
    *,
    driving: Driving | None = None,
    published_shares: Mapping[str, float] = PAPER_SAFE_SHARES,
    lambdas: Sequence[float] = LAMBDAS,
    seed: int = 0,
    **options: Any,
) -> Results:
    """options: further ones of `evaluate_in_full`; driving: what lead times need; published_shares: protocol -> share of safe
    frames that the paper reports, for the stress table.
    """
    found = evaluate_in_full(calibration, augmented, test, ood, seed=seed, **options)
    results, splits, conditions = found.results, found.splits, found.conditions
    plans = [(one["sequences"], one["folds"], one["seed"]) for one in results["settings"]["splits"]]
    results["safe_share"] = stress(splits, conditions, fitted_everywhere(splits), published_shares, seed)
    results["bounds"] = _bounds(found)
    results["frontier"] = frontier(calibration, splits, conditions)
    results["lambda"] = lambda_sensitivity(calibration, augmented, plans, conditions, lambdas)
    results["early_warning"] = warning_section(found.pool, test, {c.name: ood[c.name] for c in conditions[1:]}, driving)
    said = said_of_warnings(results)
    results["summary"] += [] if said is None else [said]
    return results


def _bounds(found: Evaluation) -> dict[str, Any]:
    try:
        return bounds(make_calibrator(OURS).fit(found.pool.nominal, found.pool), found.conditions, found.pool.statistics)
    except AiccError as error:
        return {"reason": str(error)}
