"""What the errors would be in other worlds, where another share of the frames is safe.

The frames of a protocol are weighted so that, at every horizon, a stated share of their weight is on safe ones. Nothing is
fitted again. A good guess about one share of safe frames is no calibration.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.methods_and_conditions import GROUPS, NOMINAL, Condition
from donkey_aicc.evaluation.metrics import bin_sums, ece_of_sums, horizon_mean, horizon_weights
from donkey_aicc.evaluation.resampling import drawn_counts
from donkey_aicc.evaluation.split_study import Outcome, SplitStudy, nll_sums
from donkey_aicc.evaluation.tables import LOWER, Column, Row, Table, Value, interval_cell, rounded
from donkey_aicc.scoring.statistics import Scores

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


@dataclass(frozen=True)
class ByClass:
    """Sums of all frames and of the safe ones alone; see `Outcome` for their shapes."""

    all: Outcome
    safe_sums: np.ndarray
    safe_nll_sums: np.ndarray

    @classmethod
    def of(cls, whole: Outcome, confidence: np.ndarray, condition: Condition) -> "ByClass":
        names, group = np.unique(condition.table.sequence, return_inverse=True)
        safe = np.where(condition.labels > 0.5, condition.labels, np.nan)
        return cls(whole, bin_sums(confidence, safe, group, len(names)), nll_sums(confidence, safe, group, len(names)))


def at_share(outcome: ByClass, share: Share, horizons: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """(..., 2): ECE and NLL, horizon averages, of one method on one condition if that share of the weight were on safe frames.

    counts: (draws, sequences) how often each drive counts; None: each once, and the result is (2,).
    """
    safe, total, safe_nll, total_nll = (
        sums.sum(axis=0) if counts is None else np.tensordot(counts, sums, axes=1)
        for sums in (outcome.safe_sums, outcome.all.sums, outcome.safe_nll_sums, outcome.all.nll_sums)
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
    scores = [{condition.name: study.statistics.scores(condition.table) for condition in odd} for study in studies]
    measured = {}
    for name in names:
        by_class = [_by_class(study, name, odd, own) for study, own in zip(studies, scores, strict=True)]
        measured[name] = {s: _measure(by_class, shares, conditions[0].horizons, counts) for s, shares in settings.items()}
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
    settings["worst"] = lambda protocol: list(np.linspace(*SHARE_RANGE, SHARE_STEPS))
    return settings


def _by_class(study: SplitStudy, method: str, odd: Sequence[Condition], scores: Mapping[str, Scores]) -> dict[str, ByClass]:
    found = {}
    for condition in odd:
        confidence = study.calibrators[method].predict(condition.table, scores[condition.name])
        found[condition.name] = ByClass.of(study.outcomes[method][condition.name], confidence, condition)
    return found


def _measure(
    splits: Sequence[Mapping[str, ByClass]], shares: Shares, horizons: np.ndarray, counts: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(2,) mean over splits and protocols of the largest ECE and NLL over the shares, and (SHARE_DRAWS, 2) of the same."""
    values = []
    drawn = np.zeros((SHARE_DRAWS, 2))
    split = np.arange(SHARE_DRAWS) % len(splits)
    for protocol, number_of_times in counts.items():
        for number, outcomes in enumerate(splits):
            outcome = outcomes[protocol]
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
