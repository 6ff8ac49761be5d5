"""How each method fares if other shares of the frames were safe: a good guess about one world is no calibration.

The frames of a protocol are weighted so that, at every horizon, a stated share of their weight is on safe ones. Nothing is
fitted again. What a method says about safe and about unsafe frames stays; only how often each occurs changes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from donkey_aicc.evaluation.binned import ece_of_sums
from donkey_aicc.evaluation.cells import rounded
from donkey_aicc.evaluation.conditions import NOMINAL, Condition
from donkey_aicc.evaluation.horizons import horizon_mean
from donkey_aicc.evaluation.split_study import Outcome, SplitStudy

RANGE = (0.2, 0.8)  # of the worst case
STEPS = 13
SETTINGS = {
    "as_driven": "as driven",
    "nominal": "share of nominal driving",
    "published": "published shares",
    "worst": f"worst share from {RANGE[0]:g} to {RANGE[1]:g}, for each protocol",
}

Share = float | np.ndarray | None  # None: as driven; an array has one share per horizon


def at_share(outcome: Outcome, share: Share, horizons: np.ndarray) -> tuple[float, float]:
    """(ECE, NLL), horizon averages, of one method on one condition if that share of the weight were on safe frames."""
    safe, total = outcome.safe_sums.sum(axis=0), outcome.sums.sum(axis=0)
    safe_nll, total_nll = outcome.safe_nll_sums.sum(axis=0), outcome.nll_sums.sum(axis=0)
    sums, losses = total, total_nll
    with np.errstate(divide="ignore", invalid="ignore"):  # one class only at a horizon: NaN, as no weight can change its share
        if share is not None:
            now = safe_nll[:, 0] / total_nll[:, 0]
            of_safe, of_unsafe = share / now, (1.0 - share) / (1.0 - now)
            sums = of_safe[:, None, None] * safe + of_unsafe[:, None, None] * (total - safe)
            losses = of_safe[:, None] * safe_nll + of_unsafe[:, None] * (total_nll - safe_nll)
        return float(horizon_mean(ece_of_sums(sums), horizons)), float(horizon_mean(losses[:, 1] / losses[:, 0], horizons))


def stress(
    studies: Sequence[SplitStudy], conditions: Sequence[Condition], names: Sequence[str], published: Mapping[str, float]
) -> dict[str, Any]:
    """method -> setting -> mean ECE and NLL over protocols and splits; published: protocol -> somebody's share of safe frames.

    Without a published share of every protocol there is no such setting.
    """
    horizons, odd = conditions[0].horizons, [condition.name for condition in conditions if condition.name != NOMINAL]
    nominal = np.nanmean(conditions[0].labels, axis=0)
    shares: dict[str, Callable[[str], Share]] = {
        "as_driven": lambda protocol: None,
        "nominal": lambda protocol: nominal,
    }
    if set(odd) <= set(published):
        shares["published"] = published.__getitem__
    found: dict[str, Any] = {"range": list(RANGE), "settings": {}, "methods": {}}
    if not odd:
        return found
    found["settings"] = {name: label for name, label in SETTINGS.items() if name in shares or name == "worst"}
    for method in names:
        outcomes = [study.outcomes[method] for study in studies]
        rows = {
            name: _mean([at_share(one[protocol], share(protocol), horizons) for one in outcomes for protocol in odd])
            for name, share in shares.items()
        }
        rows["worst"] = _mean([_worst(one[protocol], horizons) for one in outcomes for protocol in odd])
        found["methods"][method] = rows
    return found


def _worst(outcome: Outcome, horizons: np.ndarray) -> tuple[float, float]:
    """The largest ECE and the largest NLL over the range, each at its own share."""
    at = np.array([at_share(outcome, float(share), horizons) for share in np.linspace(*RANGE, STEPS)])
    return float(at[:, 0].max()), float(at[:, 1].max())


def _mean(pairs: list[tuple[float, float]]) -> dict[str, float | None]:
    ece, nll = np.mean(pairs, axis=0)
    return {"ece": rounded(ece), "nll": rounded(nll)}
