"""Mistakes in the choice of tubs that are found before the first frame is scored."""

from collections.abc import Mapping
from collections.abc import Sequence as Listing
from dataclasses import replace

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.evaluation.conditions import NOMINAL
from donkey_aicc.evaluation.input_checks import check_classes, check_sequence_count
from donkey_aicc.evaluation.split_plan import choose_splits
from donkey_aicc.scoring.score_table import horizon_labels
from donkey_aicc.tubs.drive import Drive, shared_content


def protocol_paths(nominal: Listing[str] | None, ood: Listing[str] | None) -> dict[str, list[str]]:
    """`name=tub` words, a name may come several times -> name -> tubs."""
    if not nominal or not ood:
        raise ConfigError("evaluate needs --nominal TUB... and --ood NAME=TUB..., or --scores-dir DIR")
    found: dict[str, list[str]] = {}
    for word in ood:
        name, equals, path = word.partition("=")
        if not equals or not name or not path:
            raise ConfigError(f"--ood takes NAME=TUB, such as dark=data/dark; got {word!r}")
        if name == NOMINAL:
            raise ConfigError(f"--ood needs the name of a protocol, such as dark; {NOMINAL} is not one")
        found.setdefault(name, []).append(path)
    return found


def as_protocol(sequences: Listing[Drive], name: str) -> list[Drive]:
    """Drives of one protocol. Tubs that know of no protocol at all (a real car) count as driven under it throughout."""
    known = set().union(*(set(sequence.protocol.tolist()) for sequence in sequences)) - {""}
    if not known:
        return [replace(sequence, protocol=np.full(len(sequence), name)) for sequence in sequences]
    if name not in known:
        raise AiccError(f"--ood {name}: its tubs were driven under {', '.join(sorted(known))}, not under {name}")
    return list(sequences)


def check_drives(
    nominal: Listing[Drive],
    calibration: Listing[Drive],
    test: Listing[Drive],
    ood: Mapping[str, Listing[Drive]],
    *,
    context: int,
    horizons: Listing[int],
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


def _check_apart(nominal: Listing[Drive], ood: Mapping[str, Listing[Drive]]) -> None:
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
