"""Mistakes in the data that would make an evaluation worthless, found before any long work."""

from collections.abc import Mapping

import numpy as np

from donkey_aicc.calibration.pool import source_of
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.evaluation.conditions import NOMINAL, evaluated_conditions
from donkey_aicc.scoring.score_table import ScoreTable

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
