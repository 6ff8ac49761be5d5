"""Which calibrator is better where it was not fitted: families of D_aug left out one at a time, and nominal drives left out.

The faults of each family were driven in closed loop. The four test protocols have no part in it: this decides the default.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from donkey_aicc.calibration.anomaly_temperature import RestoredTemperature
from donkey_aicc.calibration.base import P_RESTORED, P_TTA, Calibrator
from donkey_aicc.calibration.catalogue import OURS, RESTORED, make_calibrator
from donkey_aicc.calibration.pool import FOLDS, Pool, build_pool, of_sources, sequence_folds
from donkey_aicc.evaluation.metrics import bin_sums, ece_of_sums, horizon_mean, nll, per_horizon
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import Scores

DRAWS = 2000
EVERY = 3  # frames: neighbours say the same, so each third one is fitted on; all are judged


def _with(label: str, *scores: str, starts_from: str = P_RESTORED) -> Callable[[], Calibrator]:
    return lambda: RestoredTemperature(label, label, starts_from=starts_from, score_names=scores)


# Rows of the catalogue, and what was tried beside them.
CANDIDATES: dict[str, Callable[[], Calibrator]] = {
    name: lambda name=name: make_calibrator(name)  # type: ignore[misc]
    for name in ("temperature", "tta", "dac", "dac_authors", OURS, *RESTORED)
} | {
    "rho, delta; fitted on driven faults too": _with("driven", "rho", "delta", starts_from=P_TTA),
    "restored + log rho, control, hindsight": _with("light", "log_rho", "control", "hindsight"),
    "restored + rho, hindsight": _with("rho", "rho", "hindsight"),
}


@dataclass(frozen=True)
class Judged:
    """Of one method. `families`: family -> (ECE, NLL) of its frames, by a fit that has not seen the family."""

    families: dict[str, tuple[float, float]]
    nominal: tuple[float, float]  # by fits that have not seen the drives
    weights: dict[str, float]  # fitted on everything

    @property
    def mean(self) -> np.ndarray:
        """(2,) ECE, NLL."""
        return np.mean(list(self.families.values()), axis=0)


def judge(calibration: ScoreTable, augmented: ScoreTable, driven: ScoreTable, seed: int) -> dict[str, Judged]:
    """Every candidate."""
    whole = build_pool(calibration, augmented, seed=seed, driven=driven)
    assert whole.driven is not None
    families = sorted(set(whole.driven.protocol.tolist()))
    fold = sequence_folds(whole.nominal.sequence, FOLDS, seed)
    held = [_without_drives(whole, augmented, driven, fold == number, seed) for number in range(FOLDS)]
    without = {family: _thinned(_without_family(whole, family)) for family in families}
    found = {}
    for name, make in CANDIDATES.items():
        by_family = {}
        for family in families:
            own = whole.driven.protocol == family
            fitted = make().fit(whole.nominal, without[family])
            by_family[family] = measured(_confidence(fitted, whole.driven, whole.driven_scores, own), whole.driven.select(own))
        confidence = np.empty_like(whole.nominal.labels, dtype=np.float64)
        for number, pool in enumerate(held):
            fitted, own = make().fit(pool.nominal, _thinned(pool)), fold == number
            rows = whole.nominal.select(own)
            confidence[own] = fitted.predict(rows, pool.statistics.scores(rows))
        weights = make().fit(whole.nominal, _thinned(whole)).shown_weights()
        found[name] = Judged(by_family, measured(confidence, whole.nominal), weights)
    return found


def _confidence(fitted: Calibrator, table: ScoreTable, scores: Scores, rows: np.ndarray) -> np.ndarray:
    return fitted.predict(table.select(rows), {name: values[rows] for name, values in scores.items()})


def _without_family(pool: Pool, family: str) -> Pool:
    """Neither its pieces nor its drives."""
    assert pool.driven is not None
    pieces, drives = (np.flatnonzero(table.protocol != family) for table in (pool.augmented, pool.driven))
    return replace(
        pool,
        augmented=pool.augmented.select(pieces),
        augmented_scores={name: values[pieces] for name, values in pool.augmented_scores.items()},
        balanced=np.arange(len(pieces)),
        driven=pool.driven.select(drives),
        driven_scores={name: values[drives] for name, values in pool.driven_scores.items()},
    )


def _thinned(pool: Pool) -> Pool:
    """Nominal and driven frames; the pieces are few."""
    assert pool.driven is not None
    each = slice(None, None, EVERY)
    return replace(
        pool,
        nominal=pool.nominal.select(np.arange(len(pool.nominal))[each]),
        nominal_scores={name: values[each] for name, values in pool.nominal_scores.items()},
        fold=pool.fold[each],
        driven=pool.driven.select(np.arange(len(pool.driven))[each]),
        driven_scores={name: values[each] for name, values in pool.driven_scores.items()},
    )


def _without_drives(whole: Pool, augmented: ScoreTable, driven: ScoreTable, rows: np.ndarray, seed: int) -> Pool:
    """A pool that has never seen these nominal rows, nor a piece of their drives."""
    rest = whole.nominal.select(~rows)
    return build_pool(rest, of_sources(augmented, rest.sequences()), folds=FOLDS - 1, seed=seed, driven=driven)


def measured(confidence: np.ndarray, table: ScoreTable) -> tuple[float, float]:
    """ECE and NLL, each the mean over the horizons 5 to 50."""
    ece = horizon_mean(ece_of_sums(bin_sums(confidence, table.labels)[0]), table.horizons)
    loss = horizon_mean(np.array([float(one) for one in per_horizon(nll, confidence, table.labels)]), table.horizons)
    return float(ece), float(loss)


def differences(found: Mapping[str, Judged], name: str, reference: str, seed: int) -> np.ndarray:
    """(2, 3): of ECE and NLL how far `name` lies below `reference`, and the 95 % interval over families."""
    mine, other = (np.array(list(found[one].families.values())) for one in (name, reference))
    gain = other - mine
    drawn = gain[np.random.default_rng(seed).integers(len(gain), size=(DRAWS, len(gain)))].mean(axis=1)
    return np.stack([gain.mean(axis=0), *np.quantile(drawn, (0.025, 0.975), axis=0)], axis=1)


def method_table(found: Mapping[str, Judged], seed: int) -> str:
    """Markdown."""
    lines = ["| method | ECE, family left out | NLL | nominal ECE | NLL | ECE below the paper's method | NLL below | weights |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for name, one in found.items():
        gains = [f"{mean:+.3f} ({low:+.3f} to {high:+.3f})" for mean, low, high in differences(found, name, OURS, seed)]
        weights = ", ".join(f"{score} {weight:.2f}" for score, weight in one.weights.items())
        numbers = [f"{value:.3f}" for value in (*one.mean, *one.nominal)]
        lines.append("| " + " | ".join([name, *numbers, *gains, weights]) + " |")
    return "\n".join(lines)


def family_table(found: Mapping[str, Judged], names: Sequence[str]) -> str:
    """Markdown: ECE / NLL of each family under each of the methods."""
    lines = ["| family | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for family in next(iter(found.values())).families:
        cells = ["{:.3f} / {:.2f}".format(*found[name].families[family]) for name in names]
        lines.append(f"| {family} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
