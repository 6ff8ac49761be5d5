"""Mistakes in the choice of tubs that are found before the first frame is scored."""

from collections.abc import Mapping
from collections.abc import Sequence as Listing
from dataclasses import replace

import numpy as np

from donkey_aicc.data.sequence import Sequence, shared_content
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.evaluation.input_checks import check_sequence_count


def protocol_paths(nominal: Listing[str] | None, ood: Listing[str] | None) -> dict[str, list[str]]:
    """`name=tub` words, a name may come several times -> name -> tubs."""
    if not nominal or not ood:
        raise ConfigError("evaluate needs --nominal TUB... and --ood NAME=TUB..., or --scores-dir DIR")
    found: dict[str, list[str]] = {}
    for word in ood:
        name, equals, path = word.partition("=")
        if not equals or not name or not path:
            raise ConfigError(f"--ood takes NAME=TUB, such as dark=data/dark; got {word!r}")
        found.setdefault(name, []).append(path)
    return found


def as_protocol(sequences: Listing[Sequence], name: str) -> list[Sequence]:
    """Drives of one protocol. Tubs that know of no protocol at all (a real car) count as driven under it throughout."""
    known = set().union(*(set(sequence.protocol.tolist()) for sequence in sequences)) - {""}
    if not known:
        return [replace(sequence, protocol=np.full(len(sequence), name)) for sequence in sequences]
    if name not in known:
        raise AiccError(f"--ood {name}: its tubs were driven under {', '.join(sorted(known))}, not under {name}")
    return list(sequences)


def check_drives(
    nominal: Listing[Sequence],
    calibration: Listing[Sequence],
    test: Listing[Sequence],
    ood: Mapping[str, Listing[Sequence]],
    context: int,
    folds: int,
) -> None:
    """Nominal drives among the OOD ones, a side with one class, too few or too short drives."""
    for name, sequences in ood.items():
        shared = shared_content(nominal, sequences)
        if shared:
            raise AiccError(f"OOD {name} contains {len(shared)} nominal drives, such as {shared[0]}; remove them")
        if not any((sequence.protocol[context:] == name).any() for sequence in sequences):
            raise AiccError(f"OOD {name}: no drive is under {name} after the first {context} frames, which the scores need")
    for side, sequences in (("calibration", calibration), ("test", test)):
        labels = np.concatenate([sequence.safe for sequence in sequences])
        if not (labels == 0).any() or not (labels == 1).any():
            raise AiccError(
                f"the {side} split must hold safe and unsafe frames, got {int((labels == 1).sum())} safe and "
                f"{int((labels == 0).sum())} unsafe ones; record more drives or choose another tau"
            )
    check_sequence_count([sequence.id for sequence in calibration if len(sequence) >= context], folds)
