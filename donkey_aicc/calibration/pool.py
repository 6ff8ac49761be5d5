"""The data on which anomaly weights are fitted: cross-fitted nominal rows and augmented rows (paper, Section V-A)."""

from dataclasses import dataclass, field

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.faults.protocols import for_tests_only
from donkey_aicc.scoring.feature_density import MAX_REFERENCES
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import Scores, ScoreStatistics

AUGMENTED_LIMIT = 2.0  # more augmented rows than this many times the nominal ones are thinned to balance
FOLDS = 5
_MARK = "~"  # in the names of augmented copies


@dataclass(frozen=True)
class Pool:
    """Valid rows only. `balanced` indexes the augmented rows that make the pool roughly half nominal, half augmented."""

    nominal: ScoreTable
    nominal_scores: Scores  # of each fold, normalised with the statistics of the other folds
    fold: np.ndarray  # (N,) int: fold of each nominal row
    augmented: ScoreTable
    augmented_scores: Scores  # normalised with the statistics of all nominal rows
    balanced: np.ndarray  # (B,) int
    statistics: ScoreStatistics  # of all nominal rows; this is what drives
    seed: int
    driven: ScoreTable | None = None  # frames driven in closed loop under faults of D_aug, with their true labels
    driven_scores: Scores = field(default_factory=dict)  # normalised like the augmented ones

    def families(self) -> list[str]:
        """Names of the augmented families, in order of first appearance."""
        return list(dict.fromkeys(self.augmented.protocol.tolist()))


def sequence_folds(sequence: np.ndarray, folds: int = FOLDS, seed: int = 0) -> np.ndarray:
    """(N,) sequence ids -> (N,) fold numbers; a sequence is never split, folds get about equally many rows."""
    names, inverse, counts = np.unique(sequence, return_inverse=True, return_counts=True)
    if len(names) < folds:
        raise AiccError(
            f"{folds} folds over whole sequences need at least {folds} calibration sequences, got {len(names)}; "
            f"record more or use fewer folds"
        )
    shuffled = np.random.default_rng(seed).permutation(len(names))
    order = shuffled[np.argsort(-counts[shuffled], kind="stable")]
    fold_of, load = np.zeros(len(names), dtype=np.int64), np.zeros(folds)
    for name in order:  # longest first into the emptiest fold
        fold_of[name] = int(np.argmin(load))
        load[fold_of[name]] += counts[name]
    return fold_of[inverse]


def build_pool(
    calibration: ScoreTable,
    augmented: ScoreTable,
    folds: int = FOLDS,
    seed: int = 0,
    regularisation: float = 1e-6,
    max_references: int = MAX_REFERENCES,
    driven: ScoreTable | None = None,
) -> Pool:
    """Score all tables; calibration rows are scored fold by fold so that no row helps to normalise itself.

    driven: drives in closed loop under faults of D_aug's families. Frames before the fault do not count.
    """
    nominal = calibration.select(calibration.valid.astype(bool))
    augmented = augmented.select(augmented.valid.astype(bool))
    if not len(augmented):
        raise AiccError("the augmented table has no valid row; D_aug sequences must be longer than the scoring context")
    if not np.array_equal(nominal.horizons, augmented.horizons):
        raise AiccError(f"calibration horizons {nominal.horizons.tolist()} differ from D_aug's {augmented.horizons.tolist()}")
    driven = None if driven is None else faulty_frames(driven, nominal.horizons)
    fold = sequence_folds(nominal.sequence, folds, seed)
    statistics = ScoreStatistics.fit(nominal, None, regularisation, max_references, seed)
    return Pool(
        nominal=nominal,
        nominal_scores=_cross_fitted(nominal, fold, regularisation, max_references, seed),
        fold=fold,
        augmented=augmented,
        augmented_scores=statistics.scores(augmented),
        balanced=_balance(len(nominal), len(augmented), seed),
        statistics=statistics,
        seed=seed,
        driven=driven,
        driven_scores={} if driven is None else statistics.scores(driven),
    )


def faulty_frames(driven: ScoreTable, horizons: np.ndarray) -> ScoreTable:
    """The valid frames under a fault; test protocols are refused, so that nothing can be fitted on them by mistake."""
    test = for_tests_only(driven.protocol.tolist())
    if test:
        raise AiccError(f"drives under {', '.join(test)} are for tests only; drive with the faults of D_aug to calibrate")
    if not np.array_equal(driven.horizons, horizons):
        raise AiccError(f"driven faults have the horizons {driven.horizons.tolist()}, calibration {horizons.tolist()}")
    found = driven.select(driven.valid.astype(bool) & (driven.protocol != ""))
    if not len(found):
        raise AiccError("no frame of the driven faults has both a fault and a full context before it")
    return found


def _cross_fitted(nominal: ScoreTable, fold: np.ndarray, regularisation: float, max_references: int, seed: int) -> Scores:
    pooled: Scores = {}
    for number in range(int(fold.max()) + 1):
        own = fold == number
        statistics = ScoreStatistics.fit(nominal, ~own, regularisation, max_references, seed)
        for name, values in statistics.scores(nominal.select(own)).items():
            pooled.setdefault(name, np.empty(len(nominal)))[own] = values
    return pooled


def _balance(nominal: int, augmented: int, seed: int) -> np.ndarray:
    if augmented <= AUGMENTED_LIMIT * nominal:
        return np.arange(augmented)
    return np.sort(np.random.default_rng(seed).choice(augmented, size=nominal, replace=False))


def augmented_id(source: str, family: str, severity: int) -> str:
    """Sequence id of a D_aug copy: `<source id>~<family>~<severity>`. The source decides which split it belongs to."""
    return f"{source}{_MARK}{family}{_MARK}{severity}"


def source_of(sequence: str) -> str:
    """The calibration sequence a D_aug copy was made of."""
    parts = sequence.rsplit(_MARK, 2)
    if len(parts) != 3:
        raise AiccError(f"a D_aug sequence id must read <source id>{_MARK}<family>{_MARK}<severity>, got {sequence!r}")
    return parts[0]


def of_sources(augmented: ScoreTable, sources: list[str]) -> ScoreTable:
    """The D_aug rows made of the given calibration sequences."""
    wanted = {name for name in augmented.sequences() if source_of(name) in set(sources)}
    return augmented.of_sequences(wanted)
