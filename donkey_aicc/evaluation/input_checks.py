"""Mistakes in the data or in the choice of tubs that would make an evaluation worthless, found before any long work.

Also which calibration sequences each split gets: that needs their labels only, so it can be asked before anything is scored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from donkey_aicc.calibration.pool import source_of
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL, evaluated_conditions
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.tubs.drive import Drive, shared_content
from donkey_aicc.tubs.labels import horizon_labels

MIN_SEQUENCES = 2


def check_inputs(calibration: ScoreTable, augmented: ScoreTable, test: ScoreTable, ood: Mapping[str, ScoreTable]) -> None:
    """Raise AiccError with the name, the rule and the value of the first thing that is wrong."""
    if not ood:
        raise AiccError("the evaluation needs at least one OOD table, such as dark; got none")
    for name in ood:
        if not name or name == NOMINAL:
            raise ConfigError(f"an OOD protocol needs a name other than {NOMINAL!r}, got {name!r}")
    check_horizons({"calibration": calibration, "augmented": augmented, "test": test, **ood})
    _check_calibration(calibration, augmented)
    check_apart(calibration, test, ood)
    for condition in evaluated_conditions(test, ood):
        if not len(condition.table):
            what = "nominal test" if condition.name == NOMINAL else f"OOD {condition.name}"
            under = "" if condition.name == NOMINAL else f" was driven under protocol {condition.name!r} and"
            raise AiccError(f"{what}: no frame{under} has a full context; drives must be longer than the scoring context")
        if condition.name == NOMINAL:
            check_two_classes(condition.table, "nominal test", every_horizon=False)


def check_horizons(tables: Mapping[str, ScoreTable]) -> None:
    first_name, first = next(iter(tables.items()))
    for name, table in tables.items():
        if not np.array_equal(table.horizons, first.horizons):
            raise AiccError(
                f"mixed bundles: {name} has horizons {table.horizons.tolist()}, {first_name} has {first.horizons.tolist()}; "
                "score everything with one bundle"
            )


def check_two_classes(table: ScoreTable, what: str, every_horizon: bool = True) -> None:
    """`check_classes` of the rows with a full context."""
    check_classes(table.labels[table.valid.astype(bool)], table.horizons, what, every_horizon)


def check_classes(labels: np.ndarray, horizons: np.ndarray, what: str, every_horizon: bool = True) -> None:
    """Safe and unsafe frames at every horizon (or at one at least); labels: (n, K)."""
    both = [(labels[:, column] == 0).any() and (labels[:, column] == 1).any() for column in range(labels.shape[1])]
    if all(both) or (any(both) and not every_horizon):
        return
    column = both.index(False)
    known = labels[:, column][~np.isnan(labels[:, column])]
    have = "no labelled frame" if not len(known) else f"only {'safe' if known[0] > 0.5 else 'unsafe'} ones ({len(known)})"
    raise AiccError(
        f"the {what} split must hold safe and unsafe frames at horizon {int(horizons[column])}, got {have}; "
        "record more drives or choose another tau"
    )


def check_sequence_count(sequences: list[str], folds: int) -> None:
    """Fewer sequences than folds can be lived with (and is noted), a single one cannot."""
    if folds < 2:
        raise ConfigError(f"folds must be >= 2, got {folds}")
    if len(sequences) < MIN_SEQUENCES:
        raise AiccError(
            f"the evaluation needs at least {MIN_SEQUENCES} calibration sequences with a full context "
            f"({folds} for {folds} folds), got {len(sequences)}; record more drives"
        )


def check_apart(calibration: ScoreTable, test: ScoreTable, ood: Mapping[str, ScoreTable]) -> None:
    """No drive may be on two sides, not even under another name: ids end in a hash of the content."""
    seen: dict[str, tuple[str, str]] = {}
    for side, table in {"calibration": calibration, "test": test, **{f"OOD {name}": t for name, t in ood.items()}}.items():
        for name in table.sequences():
            for mark in (name, content_mark(name)):
                other = seen.setdefault(mark, (side, name)) if mark else (side, name)
                if other[0] != side:
                    raise AiccError(f"{side} contains sequence {name}, which is also in {other[0]} as {other[1]}; remove one")


def content_mark(sequence: str) -> str:
    """The hash at the end of `tub/session/index-9f3a12bc`, '' if there is none."""
    tail = sequence.rsplit("-", 1)[-1]
    return tail if len(tail) == 8 and "-" in sequence and all(letter in "0123456789abcdef" for letter in tail) else ""


def _check_calibration(calibration: ScoreTable, augmented: ScoreTable) -> None:
    if (calibration.protocol != "").any():
        odd = sorted(set(calibration.protocol.tolist()) - {""})
        raise AiccError(f"the calibration split must be nominal, but holds frames under {', '.join(odd)}")
    check_two_classes(calibration, "calibration")
    if not augmented.valid.any():
        raise AiccError("D_aug has no frame with a full context; its drives must be longer than the scoring context")
    strangers = {source_of(name) for name in augmented.sequences()} - set(calibration.sequences())
    if strangers:
        raise AiccError(
            f"D_aug must be made of calibration sequences only, but {sorted(strangers)[0]} "
            f"(and {len(strangers) - 1} others) is none of them"
        )


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


def protocol_paths(nominal: Sequence[str] | None, ood: Sequence[str] | None) -> dict[str, list[str]]:
    """`name=tub` words, a name may come several times -> name -> tubs."""
    if not nominal or not ood:
        raise ConfigError("evaluate needs --nominal TUB... and --ood NAME=TUB...")
    found: dict[str, list[str]] = {}
    for word in ood:
        name, equals, path = word.partition("=")
        if not equals or not name or not path:
            raise ConfigError(f"--ood takes NAME=TUB, such as dark=data/dark; got {word!r}")
        if name == NOMINAL:
            raise ConfigError(f"--ood needs the name of a protocol, such as dark; {NOMINAL} is not one")
        found.setdefault(name, []).append(path)
    return found


def as_protocol(sequences: Sequence[Drive], name: str) -> list[Drive]:
    """Drives of one protocol. Tubs that know of no protocol at all (a real car) count as driven under it throughout."""
    known = set().union(*(set(sequence.protocol.tolist()) for sequence in sequences)) - {""}
    if not known:
        return [replace(sequence, protocol=np.full(len(sequence), name)) for sequence in sequences]
    if name not in known:
        raise AiccError(f"--ood {name}: its tubs were driven under {', '.join(sorted(known))}, not under {name}")
    return list(sequences)


def check_drives(
    nominal: Sequence[Drive],
    calibration: Sequence[Drive],
    test: Sequence[Drive],
    ood: Mapping[str, Sequence[Drive]],
    *,
    context: int,
    horizons: Sequence[int],
    seeds: int,
    folds: int,
    seed: int,
) -> list[str]:
    """Drives on two sides, a side with one class, too few or too short drives. Returns what can be lived with, in words."""
    _check_apart(nominal, ood)
    for name, sequences in ood.items():
        if not any((sequence.protocol[context:] == name).any() for sequence in sequences):
            raise AiccError(f"OOD {name}: no drive is under {name} after the first {context} frames, which the scores need")
    steps = np.asarray(horizons, dtype=np.int64)
    labels = {sequence.id: horizon_labels(sequence.safe, horizons)[context - 1 :] for sequence in (*calibration, *test)}
    usable = {sequence.id: labels[sequence.id] for sequence in calibration if len(sequence) >= context}
    check_sequence_count(list(usable), folds)
    check_classes(np.concatenate(list(usable.values())), steps, "calibration")
    check_classes(np.concatenate([labels[sequence.id] for sequence in test]), steps, "nominal test", every_horizon=False)
    return choose_splits(usable, steps, seeds, folds, seed)[1]


def _check_apart(nominal: Sequence[Drive], ood: Mapping[str, Sequence[Drive]]) -> None:
    """Content decides, not names: a renamed copy is found too."""
    seen: dict[str, list[Drive]] = {}
    for name, sequences in ood.items():
        shared = shared_content(nominal, sequences)
        if shared:
            raise AiccError(f"OOD {name} contains {len(shared)} nominal drives, such as {shared[0]}; remove them")
        for other, others in seen.items():
            shared = shared_content(others, sequences)
            if shared:
                raise AiccError(f"OOD {name} contains {len(shared)} drives of {other}, such as {shared[0]}; remove them from one")
        seen[name] = list(sequences)
