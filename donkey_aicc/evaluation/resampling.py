"""How sure a result is: whole drives drawn anew within each condition, and the Wilcoxon test.

Fast, because only sums per bin and small matrices are drawn. Each draw also takes one of the calibration splits, so an interval
holds both kinds of chance: which drives were recorded for testing and which for calibration. Differences are taken within a
draw, on the same drives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL
from donkey_aicc.evaluation.metrics import Measured, ece_of_sums, horizon_mean
from donkey_aicc.evaluation.smooth_calibration import smooth_ece_of_sums
from donkey_aicc.evaluation.tables import NONE_PUBLISHED, Column, Published, Row, Table, Value

if TYPE_CHECKING:
    from donkey_aicc.evaluation.split_study import SplitStudy

Draws = dict[str, np.ndarray]  # quantity -> (draws,)
SMOOTH_DRAWS = 200


def resample(
    studies: "Sequence[SplitStudy]", methods: Sequence[str], horizons: np.ndarray, draws: int, seed: int
) -> dict[str, Draws]:
    """method -> draws of ECE, smooth ECE and NLL, mean over protocols and nominal. All methods have the same drives."""
    first = studies[0].outcomes[methods[0]]
    rng = np.random.default_rng(seed)
    counts = {condition: drawn_counts(rng, len(outcome.sums), draws) for condition, outcome in first.items()}
    split = np.arange(draws) % len(studies)
    return {method: _draws_of(method, studies, counts, split, horizons) for method in methods}


def drawn_counts(rng: np.random.Generator, sequences: int, draws: int) -> np.ndarray:
    """(draws, sequences): how often each sequence was drawn."""
    return rng.multinomial(sequences, np.full(sequences, 1.0 / sequences), size=draws).astype(np.float64)


def _draws_of(
    method: str, studies: "Sequence[SplitStudy]", counts: dict[str, np.ndarray], split: np.ndarray, horizons: np.ndarray
) -> Draws:
    ece = {condition: np.full(len(split), np.nan) for condition in counts}
    nll = {condition: np.full(len(split), np.nan) for condition in counts}
    for number, study in enumerate(studies):
        mine = split == number
        for condition, drawn in counts.items():
            outcome = study.outcomes[method][condition]
            sums = np.tensordot(drawn[mine], outcome.sums, axes=1)
            ece[condition][mine] = horizon_mean(ece_of_sums(sums), horizons)
            losses = np.tensordot(drawn[mine], outcome.nll_sums, axes=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                nll[condition][mine] = horizon_mean(losses[..., 1] / losses[..., 0], horizons)
    faulty = [condition for condition in counts if condition != NOMINAL]
    smooth = {condition: _smooth_draws(method, studies, condition, drawn, horizons) for condition, drawn in counts.items()}
    return {
        "ood_smooth_ece": np.mean([smooth[condition] for condition in faulty], axis=0),
        "nominal_smooth_ece": smooth[NOMINAL],
        "ood_ece": np.mean([ece[condition] for condition in faulty], axis=0),
        "ood_nll": np.mean([nll[condition] for condition in faulty], axis=0),
        "nominal_ece": ece[NOMINAL],
        "nominal_nll": nll[NOMINAL],
    }


def _smooth_draws(
    method: str, studies: "Sequence[SplitStudy]", condition: str, drawn: np.ndarray, horizons: np.ndarray
) -> np.ndarray:
    """Of the first draws only: each needs a search for its own width."""
    parts = []
    for number, study in enumerate(studies):
        mine = drawn[:SMOOTH_DRAWS][number :: len(studies)]
        sums = np.tensordot(mine, study.outcomes[method][condition].residuals, axes=1)
        parts.append(horizon_mean(smooth_ece_of_sums(sums), horizons))
    return np.concatenate(parts)


@dataclass(frozen=True)
class DriveWins:
    """wins[i, j]: pairs in which a frame of anomalous drive i scores above one of nominal drive j (ties half); pairs: all."""

    wins: np.ndarray
    pairs: np.ndarray

    @classmethod
    def count(
        cls,
        positive: np.ndarray,
        positive_drive: np.ndarray,
        negative: np.ndarray,
        negative_drive: np.ndarray,
        shape: tuple[int, int],
    ) -> "DriveWins":
        """Scores (N,) and drive numbers (N,) of both classes; shape: number of anomalous and of nominal drives."""
        wins, pairs = np.zeros(shape), np.zeros(shape)
        frames = np.bincount(positive_drive, minlength=shape[0]).astype(np.float64)
        for number in range(shape[1]):
            below = np.sort(negative[negative_drive == number])
            won = (np.searchsorted(below, positive, "left") + np.searchsorted(below, positive, "right")) / 2.0
            wins[:, number] = np.bincount(positive_drive, weights=won, minlength=shape[0])
            pairs[:, number] = frames * len(below)
        return cls(wins, pairs)

    def auroc(self) -> float:
        """Over all frames; NaN without pairs."""
        return float(self.wins.sum() / self.pairs.sum()) if self.pairs.sum() else float("nan")


@dataclass(frozen=True)
class DriveDraws:
    """How often each drive is drawn, (draws, drives); the same draws for every score, so that differences are paired."""

    positive: np.ndarray
    negative: np.ndarray

    @classmethod
    def make(cls, positives: int, negatives: int, draws: int, seed: int) -> "DriveDraws":
        rng = np.random.default_rng(seed)
        return cls(*(drawn_counts(rng, drives, draws) for drives in (positives, negatives)))

    def auroc(self, counted: DriveWins) -> np.ndarray:
        """(draws,): NaN where no drawn drive has a frame."""
        wins = np.einsum("di,ij,dj->d", self.positive, counted.wins, self.negative)
        pairs = np.einsum("di,ij,dj->d", self.positive, counted.pairs, self.negative)
        return np.divide(wins, pairs, out=np.full(len(wins), np.nan), where=pairs > 0)


def wilcoxon(first: Sequence[float], second: Sequence[float]) -> Measured:
    """Two-sided p-value of the signed-rank test on paired values."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise AiccError(f"the Wilcoxon test needs pairs, got {a.shape} and {b.shape}")
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < 2:
        return Measured(float("nan"), f"{int(both.sum())} defined pairs are too few")
    if np.array_equal(a[both], b[both]):
        return Measured(float("nan"), "all pairs are equal")
    return Measured(float(stats.wilcoxon(a[both], b[both]).pvalue))


def wilcoxon_table(results: dict[str, Any], published: Published = NONE_PUBLISHED) -> Table:
    """Signed-rank tests, with the resampled difference that does not pretend splits were experiments."""
    columns = [
        Column("mean_difference", "ECE difference"),
        Column("p", "p", digits=4),
        Column("p_paper", published.label, paper=True, text=True),
        Column("pairs", "Pairs", 0),
        Column("interval", "95 % interval, drives resampled", text=True),
    ]
    rows = []
    for reference, tests in results["wilcoxon"].items():
        group = f"against {results['calibration'][reference]['label']}"
        for name, test in tests.items():
            bounds = results["intervals"].get(name, {}).get("ood_ece_minus_ours")
            values = {
                "mean_difference": Value(test["mean_difference"], reason=test.get("reason", "")),
                "p": Value(test["p"], reason=test.get("reason", "")),
                "p_paper": Value(text=published.wilcoxon.get(name, "") if reference == OURS else ""),
                "pairs": Value(test["pairs"]),
                "interval": Value(
                    text="–" if not bounds or bounds["low"] is None else f"{bounds['low']:+.3f} to {bounds['high']:+.3f}"
                ),
            }
            rows.append(Row(results["calibration"][name]["label"], values, group))
    note = (
        "A positive difference means the row has a higher OOD ECE. The Wilcoxon pairs (protocols x splits) share "
        "their test drives, "
        "so p looks better than it is; an interval that excludes 0 is the stricter evidence."
    )
    return Table("wilcoxon", "Is the difference real?", columns, rows, note)
