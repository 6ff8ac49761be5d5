"""What the study claims, each as a gain with its 95 % interval over drives, and on how many tracks it holds.

A claim holds on a track when the whole interval of the gain is above zero there. It points the right way when the gain is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.methods_and_conditions import HEATED_TO_OURS
from donkey_aicc.evaluation.tables import number_of
from studies.all_runs import Runs

Results = dict[str, Any]
NOMINAL_LIMIT = 0.05
RIVALS = ("msp", "entropy", "mc_dropout", "feature_norm")


@dataclass(frozen=True)
class Gain:
    """value > 0 speaks for the claim."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


@dataclass(frozen=True)
class Claim:
    text: str
    gain: Callable[[Results], Gain | None]
    group: str


def _gain(value: float | None, bounds: dict[str, Any] | None, sign: float = 1.0) -> Gain | None:
    if value is None or bounds is None or bounds.get("low") is None:
        return None
    low, high = sorted((sign * bounds["low"], sign * bounds["high"]))
    return Gain(sign * value, low, high)


def _below(metric: str, method: str, other: str, reference: str) -> Callable[[Results], Gain | None]:
    """How far `method` lies below `other`; reference: the name under which its intervals are kept."""

    def gain(results: Results) -> Gain | None:
        here, there = (
            number_of(results["calibration"].get(name, {}).get(metric, {}).get("ood_mean")) for name in (method, other)
        )
        bounds = results["intervals"].get(other, {}).get(f"ood_{metric}_minus_{reference}")
        return None if here is None or there is None else _gain(there - here, bounds)

    return gain


def _nominal_limit(method: str) -> Callable[[Results], Gain | None]:
    def gain(results: Results) -> Gain | None:
        value = number_of(results["calibration"].get(method, {}).get("ece", {}).get("nominal"))
        bounds = results["intervals"].get(method, {}).get("nominal_ece")
        if value is None or bounds is None or bounds["low"] is None:
            return None
        return Gain(NOMINAL_LIMIT - value, NOMINAL_LIMIT - bounds["high"], NOMINAL_LIMIT - bounds["low"])

    return gain


def _detects(results: Results) -> Gain | None:
    """Over the best simple rival of this run."""
    rows = results["ood_detection"]
    known = {name: number_of(rows[name]["ood_mean"]) for name in (*RIVALS, "rho_delta")}
    ours = known.pop("rho_delta")
    rivals = {name: value for name, value in known.items() if value is not None}
    if ours is None or not rivals:
        return None
    best = max(rivals, key=lambda name: rivals[name])
    return _gain(ours - rivals[best], rows[best]["intervals"].get("ood_mean_below_fused"))


def _online(results: Results) -> Gain | None:
    mine, ours = (number_of(results["calibration"][name]["ece"]["ood_mean"]) for name in ("online", OURS))
    if mine is None or ours is None:
        return None
    return _gain(mine - ours, results["intervals"].get("online", {}).get("ood_ece_minus_ours"), sign=-1.0)


def _two_sided(results: Results) -> Gain | None:
    rows = results["ood_detection"]
    mine, fused = (number_of(rows[name]["ood_mean"]) for name in ("log_rho", "rho_delta"))
    if mine is None or fused is None:
        return None
    return _gain(fused - mine, rows["log_rho"]["intervals"].get("ood_mean_below_fused"), sign=-1.0)


def _predictor(kind: str) -> Callable[[Results], Gain | None]:
    def gain(results: Results) -> Gain | None:
        rows = results.get("predictors", {})
        if kind not in rows:
            return None
        far = str(max(results["settings"]["horizons"]))
        net, other = (rows[name]["auroc"]["nominal"].get(far, {}).get("value") for name in ("direct", kind))
        return None if net is None or other is None else _gain(net - other, rows[kind].get("auroc_below_direct"))

    return gain


def _row_gain(
    section: str, row: str, first: str, metric: str, sign: float = 1.0, where: str = "ood"
) -> Callable[[Results], Gain | None]:
    """How far a row of `judged_rows` lies below the first one; where: ood or nominal."""
    condition = {"ood": "ood_mean"}.get(where, where)

    def gain(results: Results) -> Gain | None:
        rows = results.get(section, {})
        if row not in rows or first not in rows:
            return None
        mine, other = (rows[name][metric][condition]["value"] for name in (row, first))
        bounds = rows[row]["gain"][f"{where}_{metric}"]
        return None if mine is None or other is None else _gain(other - mine, bounds, sign)

    return gain


PAPER, PREDICTOR, COST = "The paper's method", "The predictor", "Cost and labels"
CLAIMS = (
    Claim("rho + delta detects faults better than the best of MSP, entropy, dropout and feature norm (AUROC)", _detects, PAPER),
    Claim("two-sided log rho alone detects better than rho + delta (AUROC)", _two_sided, PAPER),
    Claim("ECE under faults below temperature scaling", _below("ece", OURS, "temperature", "ours"), PAPER),
    Claim("NLL under faults below temperature scaling", _below("nll", OURS, "temperature", "ours"), PAPER),
    Claim(
        "ECE under faults below heating all frames alike to the same nominal ECE",
        _below("ece", OURS, HEATED_TO_OURS, "ours"),
        PAPER,
    ),
    Claim("NLL under faults below heating all frames alike", _below("nll", OURS, HEATED_TO_OURS, "ours"), PAPER),
    Claim("ECE under faults below DAC as its authors' code has it", _below("ece", OURS, "dac_authors", "ours"), PAPER),
    Claim("NLL under faults below DAC as its authors' code has it", _below("nll", OURS, "dac_authors", "ours"), PAPER),
    Claim("ECE under faults below DAC as the appendix reads", _below("ece", OURS, "dac", "ours"), PAPER),
    Claim("ECE under faults below DAC with a fitted weight", _below("ece", OURS, "dac_fitted", "ours"), PAPER),
    Claim("adding delta to TTA + rho lowers the ECE", _below("ece", OURS, "tta_rho", "ours"), PAPER),
    Claim("nominal ECE at most 0.05", _nominal_limit(OURS), PAPER),
    Claim("the net predicts 50 frames ahead better than the place alone (AUROC, nominal)", _predictor("place"), PREDICTOR),
    Claim("the net predicts 50 frames ahead better than present |cte| (AUROC, nominal)", _predictor("present"), PREDICTOR),
    Claim(
        "the net predicts better than the place alone over all horizons (NLL, nominal, temperature each)",
        _row_gain("predictors", "place", "direct", "nll", -1.0, "nominal"),
        PREDICTOR,
    ),
    Claim(
        "three small nets have a lower ECE under faults than one (temperature each)",
        _row_gain("predictors", "ensemble", "direct", "ece"),
        PREDICTOR,
    ),
    Claim(
        "a net that sees the past has a lower ECE under faults (temperature each)",
        _row_gain("predictors", "history", "direct", "ece"),
        PREDICTOR,
    ),
    Claim("grade light has a higher ECE under faults than grade full", _row_gain("grades", "light", "full", "ece", -1.0), COST),
    Claim("labels k steps late (online) give a lower ECE than the paper's method", _online, COST),
)


def judged(runs: Runs) -> list[tuple[Claim, dict[str, Gain]]]:
    """Claims that at least one run can judge, with its gain in each such run."""
    found = []
    for claim in CLAIMS:
        gains = {name: gain for name, results in runs.items() if (gain := claim.gain(results)) is not None}
        if gains:
            found.append((claim, gains))
    return found


def verdict(gains: dict[str, Gain]) -> str:
    """Such as "holds on 3 of 5, right direction on 5"."""
    holds, right = (sum(test(gain) for gain in gains.values()) for test in (lambda g: g.low > 0, lambda g: g.value > 0))
    wrong = sum(gain.high < 0 for gain in gains.values())
    text = f"holds on {holds} of {len(gains)}"
    if right > holds:
        text += f", right direction on {right}"
    return text + (f", the opposite on {wrong}" if wrong else "")
