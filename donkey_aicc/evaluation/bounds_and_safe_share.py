"""What a low error is worth: how much of it nobody could avoid, and what it would be in other worlds.

Oracles know what no calibrator can know before the drive. `knows_share` is told the share of safe frames of each protocol and
horizon and moves every confidence by the same log odds: what it gains is the price of the unknown base rate. `recalibrated` is
fitted on the protocol's own labels (one slope and one offset per horizon): the NLL that is left is lost discrimination.
Other worlds: the frames of a protocol are weighted so that, at every horizon, a stated share of their weight is on safe ones.
Nothing is fitted again. A good guess about one share of safe frames is no calibration.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize

from donkey_aicc.calibration.base import Calibrator, logit, sigmoid
from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.methods_and_conditions import GROUPS, NOMINAL, Condition
from donkey_aicc.evaluation.metrics import (
    ece_of_sums,
    horizon_average,
    horizon_mean,
    horizon_weights,
    mean_ece,
    nll,
    per_horizon,
)
from donkey_aicc.evaluation.resampling import drawn_counts
from donkey_aicc.evaluation.split_study import Outcome, SplitStudy
from donkey_aicc.evaluation.tables import LOWER, Column, Row, Table, Value, interval_cell, rounded
from donkey_aicc.scoring.statistics import ScoreStatistics

_LARGEST_SHIFT = 30.0
Change = Callable[[np.ndarray, np.ndarray], np.ndarray]  # logits and labels of known frames -> better logits


def bounds(calibrator: Calibrator, conditions: Sequence[Condition], statistics: ScoreStatistics) -> dict[str, Any]:
    """oracle -> protocol -> ECE and NLL (horizon averages), and their mean; `as_calibrated` is the calibrator itself."""
    found: dict[str, Any] = {name: {} for name in ("as_calibrated", "knows_share", "recalibrated")}
    for condition in conditions:
        if condition.name == NOMINAL:
            continue
        given = calibrator.predict(condition.table, statistics.scores(condition.table))
        for name, change in (("as_calibrated", None), ("knows_share", _shifted), ("recalibrated", _refitted)):
            p = given if change is None else _by_horizon(change, given, condition.labels)
            loss = horizon_average(per_horizon(nll, p, condition.labels), condition.horizons)
            found[name][condition.name] = {
                "ece": rounded(mean_ece(p, condition.labels, condition.horizons)),
                "nll": rounded(float(loss)),
            }
    for rows in found.values():
        rows["mean"] = {key: _mean([row[key] for row in rows.values()]) for key in ("ece", "nll")}
    return found


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return rounded(float(np.mean(known))) if known and len(known) == len(values) else None


def _by_horizon(change: Change, p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    changed = p.copy()
    for column in range(p.shape[1]):
        known = ~np.isnan(labels[:, column])
        if known.any() and 0.0 < labels[known, column].mean() < 1.0:
            changed[known, column] = sigmoid(change(logit(p[known, column]), labels[known, column]))
    return changed


def _shifted(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    share = float(labels.mean())
    shift = brentq(lambda b: float(sigmoid(logits + b).mean()) - share, -_LARGEST_SHIFT, _LARGEST_SHIFT)
    return logits + shift


def _refitted(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    def loss(ab: np.ndarray) -> float:
        z = ab[0] * logits + ab[1]
        return float(np.logaddexp(0.0, np.where(labels > 0.5, -z, z)).mean())

    slope, offset = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-6}).x
    return slope * logits + offset


ORACLES = {
    "as_calibrated": "Ours, as calibrated",
    "knows_share": "Oracle: knows the share of safe frames",
    "recalibrated": "Oracle: recalibrated on the protocol itself",
}


def bounds_table(results: dict[str, Any]) -> Table:
    """What knowing the base rate, or everything but the picture, would gain."""
    stored = results.get("bounds", {})
    protocols = [*results["settings"]["protocols"], "mean"]
    columns = [Column(f"{p}_{m}", f"{p.capitalize()}: {m.upper()}") for m in ("ece", "nll") for p in protocols]
    rows = []
    for name, label in ORACLES.items():
        by_protocol = stored.get(name, {})
        values = {f"{p}_{m}": Value(by_protocol.get(p, {}).get(m), reason="undefined") for p in protocols for m in ("ece", "nll")}
        rows.append(Row(label, values, ranked=False))
    note = stored.get("reason", "") or (
        "The first oracle moves all confidences of a protocol by one step in log odds per horizon: what it gains is the price of "
        "the unknown base rate. The second is fitted on the labels it is judged by: the NLL that is left is discrimination lost."
    )
    return Table("bounds", "How much nobody could know", columns, rows, note, first="Who")


SHARE_RANGE = (0.2, 0.8)  # of the worst case
SHARE_STEPS = 13
SHARE_DRAWS = 200
SHARE_SETTINGS = {
    "as_driven": "as driven",
    "nominal": "share of nominal driving",
    "published": "published shares",
    "worst": f"worst share from {SHARE_RANGE[0]:g} to {SHARE_RANGE[1]:g}, for each protocol",
}

Share = float | np.ndarray | None  # None: as driven; an array has one share per horizon
Shares = Callable[[str], list[Share]]  # protocol -> shares, the worst of which counts


def at_share(outcome: Outcome, share: Share, horizons: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """(..., 2): ECE and NLL, horizon averages, of one method on one condition if that share of the weight were on safe frames.

    counts: (draws, sequences) how often each drive counts; None: each once, and the result is (2,).
    """
    safe, total, safe_nll, total_nll = (
        sums.sum(axis=0) if counts is None else np.tensordot(counts, sums, axes=1)
        for sums in (outcome.safe_sums, outcome.sums, outcome.safe_nll_sums, outcome.nll_sums)
    )
    sums, losses = total, total_nll
    with np.errstate(divide="ignore", invalid="ignore"):  # one class only at a horizon: NaN, see _mean_where_known
        if share is not None:
            now = safe_nll[..., 0] / total_nll[..., 0]
            of_safe, of_unsafe = share / now, (1.0 - share) / (1.0 - now)
            sums = of_safe[..., None, None] * safe + of_unsafe[..., None, None] * (total - safe)
            losses = of_safe[..., None] * safe_nll + of_unsafe[..., None] * (total_nll - safe_nll)
        ece, nll = ece_of_sums(sums), losses[..., 1] / losses[..., 0]
    mean = horizon_mean if share is None else _mean_where_known
    return np.stack([mean(ece, horizons), mean(nll, horizons)], axis=-1)


def _mean_where_known(values: np.ndarray, horizons: np.ndarray) -> np.ndarray:
    """(..., K) -> (...): a horizon with only safe or only unsafe frames has no other share, and is left out."""
    weights = np.where(np.isnan(values), 0.0, horizon_weights(horizons))
    with np.errstate(invalid="ignore"):
        return (np.nan_to_num(values) * weights).sum(axis=-1) / weights.sum(axis=-1)


def stress(
    studies: Sequence[SplitStudy],
    conditions: Sequence[Condition],
    names: Sequence[str],
    published: Mapping[str, float],
    seed: int = 0,
) -> dict[str, Any]:
    """method -> setting -> mean ECE and NLL over protocols and splits; published: protocol -> somebody's share of safe frames.

    Each with its 95 % interval over drives and, in `below_ours`, that of the gain over the paper's method on the same drives.
    Without a published share of every protocol there is no such setting.
    """
    odd = [condition for condition in conditions if condition.name != NOMINAL]
    found: dict[str, Any] = {"range": list(SHARE_RANGE), "settings": {}, "methods": {}}
    if not odd:
        return found
    settings = _settings(conditions, published)
    found["settings"] = {name: SHARE_SETTINGS[name] for name in settings}
    rng = np.random.default_rng(seed)
    counts = {condition.name: drawn_counts(rng, len(condition.table.sequences()), SHARE_DRAWS) for condition in odd}
    fewest = min(drawn.shape[1] for drawn in counts.values())
    measured = {
        name: {s: _measure(studies, name, shares, conditions, counts) for s, shares in settings.items()} for name in names
    }
    for name, by_setting in measured.items():
        found["methods"][name] = {}
        for setting, (value, drawn) in by_setting.items():
            cells: dict[str, Any] = {"ece": rounded(value[0]), "nll": rounded(value[1])}
            for number, metric in enumerate(("ece", "nll")):
                cells[f"{metric}_interval"] = interval_cell(drawn[:, number], fewest)
                if OURS in measured and name != OURS:
                    gain = measured[OURS][setting][1][:, number] - drawn[:, number]
                    cells[f"{metric}_below_ours"] = interval_cell(gain, fewest)
            found["methods"][name][setting] = cells
    return found


def _settings(conditions: Sequence[Condition], published: Mapping[str, float]) -> dict[str, Shares]:
    nominal = np.nanmean(conditions[0].labels, axis=0)
    settings: dict[str, Shares] = {"as_driven": lambda protocol: [None], "nominal": lambda protocol: [nominal]}
    if {condition.name for condition in conditions[1:]} <= set(published):
        settings["published"] = lambda protocol: [published[protocol]]
    settings["worst"] = lambda protocol: np.linspace(*SHARE_RANGE, SHARE_STEPS).tolist()
    return settings


def _measure(
    studies: Sequence[SplitStudy], method: str, shares: Shares, conditions: Sequence[Condition], counts: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(2,) mean over splits and protocols of the largest ECE and NLL over the shares, and (SHARE_DRAWS, 2) of the same."""
    horizons, values = conditions[0].horizons, []
    drawn = np.zeros((SHARE_DRAWS, 2))
    split = np.arange(SHARE_DRAWS) % len(studies)
    for protocol, number_of_times in counts.items():
        for number, study in enumerate(studies):
            outcome = study.outcomes[method][protocol]
            values.append(np.max([at_share(outcome, share, horizons) for share in shares(protocol)], axis=0))
            mine = split == number
            of_draws = [at_share(outcome, share, horizons, number_of_times[mine]) for share in shares(protocol)]
            drawn[mine] += np.max(of_draws, axis=0) / len(counts)
    return np.mean(values, axis=0), drawn


def safe_share_table(results: dict[str, Any]) -> Table:
    """Mean OOD ECE and NLL of every method under other shares of safe frames."""
    stored = results.get("safe_share", {})
    settings = stored.get("settings", {})
    columns = [
        Column(f"{setting}_{metric}", f"{metric.upper()}: {label}", better=LOWER)
        for metric in ("ece", "nll")
        for setting, label in settings.items()
    ]
    columns += [
        Column(f"{setting}_{metric}_gain", f"{metric.upper()} below ours, {setting.replace('_', ' ')}: 95 %", text=True)
        for setting in ("as_driven", "worst")
        for metric in ("ece", "nll")
        if setting in settings
    ]
    rows = []
    for name, by_setting in stored.get("methods", {}).items():
        method = results["settings"]["methods"][name]
        values = {}
        for setting, one in by_setting.items():
            for metric in ("ece", "nll"):
                values[f"{setting}_{metric}"] = Value(one[metric], reason="undefined")
                values[f"{setting}_{metric}_gain"] = Value(text=bounds_text(one.get(f"{metric}_below_ours")))
        rows.append(Row(method["label"], values, GROUPS[method["group"]], strong=name == OURS))
    note = (
        "The same predictions; the frames of each protocol are weighted so that the stated share of them is safe. A method that "
        "is good as driven and bad elsewhere has guessed the base rate of these drives. A horizon at which a protocol has only "
        "safe or only unsafe frames is left out of its mean."
    )
    return Table("safe_share", "If other shares of the frames were safe", columns, rows, note)


def bounds_text(bounds: dict[str, Any] | None) -> str:
    """A 95 % interval of a difference."""
    return "–" if not bounds or bounds["low"] is None else f"{bounds['low']:+.3f} to {bounds['high']:+.3f}"
