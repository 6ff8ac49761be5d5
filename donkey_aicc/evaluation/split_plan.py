"""Which calibration sequences each split gets. It needs their labels only, so it can be asked before anything is scored."""

from collections.abc import Mapping, Sequence

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.evaluation.input_checks import check_classes, check_sequence_count

SEEDS = 5
FOLDS = 5
DRAWS = 1000
_TRIES = 40

SplitPlan = tuple[list[str], int, int]  # calibration sequences, folds, seed


def check_counts(seeds: int, draws: int) -> None:
    for name, value in (("seeds", seeds), ("draws", draws)):
        if value < 1:
            raise ConfigError(f"{name} must be >= 1, got {value}")


def choose_splits(
    labels: Mapping[str, np.ndarray], horizons: np.ndarray, seeds: int, folds: int, seed: int
) -> tuple[list[SplitPlan], list[str]]:
    """Random 80 % subsets of the calibration sequences in which both classes occur at every horizon, and notes on them.

    labels: sequence -> (n, K) of its frames with a full context.
    """
    names = list(labels)
    check_sequence_count(names, folds)
    chosen = _usable_subsets(labels, horizons, calibration_splits(names, seed, splits=seeds * _TRIES))
    chosen = [chosen[number % len(chosen)] for number in range(seeds)]
    notes = []
    size = len(chosen[0])
    if size < folds:
        notes.append(f"Cross-fitting uses {size} folds instead of {folds}: each split has {size} calibration sequences.")
    distinct = len({tuple(split) for split in chosen})
    if distinct < seeds:
        notes.append(
            f"Only {distinct} of the {seeds} splits differ, because there are {len(names)} calibration sequences: "
            "the spread over splits is too small to mean much."
        )
    return [(split, min(folds, len(split)), seed + number) for number, split in enumerate(chosen)], notes


def _usable_subsets(
    labels: Mapping[str, np.ndarray], horizons: np.ndarray, candidates: Sequence[Sequence[str]]
) -> list[list[str]]:
    """The different ones among the candidates that hold both classes, in their order."""
    found, complaint = [], ""
    for candidate in dict.fromkeys(tuple(names) for names in candidates):
        try:
            check_classes(np.concatenate([labels[name] for name in candidate]), horizons, "drawn calibration")
        except AiccError as error:
            complaint = str(error)
            continue
        found.append(list(candidate))
    if not found:
        raise AiccError(f"no subset of the {len(labels)} calibration sequences can be used: {complaint}")
    return found


def calibration_splits(sequences: Sequence[str], seed: int, splits: int = 5, share: float = 0.8) -> list[list[str]]:
    """Seeded random subsets of whole calibration sequences, each holding the given share of them (at least 3, if there are)."""
    names = sorted(set(sequences))
    if len(names) < 2:
        raise AiccError(f"calibration splits need at least 2 sequences, got {len(names)}")
    size = max(min(3, len(names)), round(share * len(names)))
    rng = np.random.default_rng(seed)
    return [sorted(rng.choice(names, size=size, replace=False).tolist()) for _ in range(splits)]
