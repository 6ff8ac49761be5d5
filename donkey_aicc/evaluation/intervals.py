"""95 % intervals by drawing whole sequences anew, within each condition; fast, because only sums per bin are drawn.

Each draw also takes one of the calibration splits, so an interval holds both kinds of chance: which drives were recorded
for testing and which for calibration. Differences are taken within a draw, on the same drives.
"""

from collections.abc import Sequence

import numpy as np

from donkey_aicc.evaluation.binned import ece_of_sums
from donkey_aicc.evaluation.conditions import NOMINAL
from donkey_aicc.evaluation.horizons import horizon_mean
from donkey_aicc.evaluation.split_study import SplitStudy

Draws = dict[str, np.ndarray]  # quantity -> (draws,)


def resample(
    studies: Sequence[SplitStudy], methods: Sequence[str], horizons: np.ndarray, draws: int, seed: int
) -> dict[str, Draws]:
    """method -> draws of mean OOD ECE, mean OOD NLL, nominal ECE and nominal NLL. The drives are the same for all methods."""
    first = studies[0].outcomes[methods[0]]
    rng = np.random.default_rng(seed)
    counts = {condition: drawn_counts(rng, len(outcome.sums), draws) for condition, outcome in first.items()}
    split = np.arange(draws) % len(studies)
    return {method: _draws_of(method, studies, counts, split, horizons) for method in methods}


def drawn_counts(rng: np.random.Generator, sequences: int, draws: int) -> np.ndarray:
    """(draws, sequences): how often each sequence was drawn."""
    return rng.multinomial(sequences, np.full(sequences, 1.0 / sequences), size=draws).astype(np.float64)


def _draws_of(
    method: str, studies: Sequence[SplitStudy], counts: dict[str, np.ndarray], split: np.ndarray, horizons: np.ndarray
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
    odd = [condition for condition in counts if condition != NOMINAL]
    return {
        "ood_ece": np.mean([ece[condition] for condition in odd], axis=0),
        "ood_nll": np.mean([nll[condition] for condition in odd], axis=0),
        "nominal_ece": ece[NOMINAL],
        "nominal_nll": nll[NOMINAL],
    }
