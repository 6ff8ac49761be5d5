"""Train, calibration and test shares in which neighbouring frames and near-duplicates never stand on two sides.

Three ways to cut: by whole tub sessions; by stretches of a session that lie further apart than a guard (`gap`); and by blocks
of long drives with a guard between them (`block`), for the one long session that people really record.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.tubs.drive import FULL_LENGTH, Drive
from donkey_aicc.tubs.near_duplicates import Dropped, keep_apart
from donkey_aicc.tubs.split_units import BLOCK, GAP, GUARD_S, SESSION, SHORTEST_BLOCK, SplitMethod, joined, units_of

SIDES = ("train", "calibration", "test")
SHARES = (0.68, 0.16, 0.16)
VALIDATION_SHARE = 0.15


@dataclass(frozen=True)
class Split:
    """Three disjoint lists of sequences."""

    train: list[Drive]
    calibration: list[Drive]
    test: list[Drive]
    method: SplitMethod = SplitMethod(SESSION, GUARD_S)
    dropped: Dropped = field(default_factory=Dropped)

    def __post_init__(self) -> None:
        sides = {"train": self.train, "calibration": self.calibration, "test": self.test}
        _assert_apart(sides, whole_sessions=self.method.mode == SESSION)


def split_sequences(
    sequences: Sequence[Drive],
    seed: int,
    shares: tuple[float, float, float] = SHARES,
    method: SplitMethod | None = None,
) -> Split:
    """Deal sessions, stretches or blocks out so that the frame counts come near the shares; the order of `sequences` is
    irrelevant. Without a method: by whole sessions.
    """
    if len(shares) != 3 or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-6:
        raise ConfigError(f"split shares must be three numbers > 0 that add up to 1, got {shares}")
    method = method or SplitMethod(SESSION, GUARD_S)
    (train, calibration, test), dropped = _deal(
        sequences, seed, shares, method, "splitting into train, calibration and test", SIDES
    )
    return Split(train, calibration, test, method, dropped)


def carve_validation(
    train: Sequence[Drive], seed: int, share: float = VALIDATION_SHARE, method: SplitMethod | None = None
) -> tuple[list[Drive], list[Drive], Dropped]:
    """Take validation sequences out of the training share in the same way: (rest, validation, what it cost)."""
    if not 0 < share < 1:
        raise ConfigError(f"validation share must be between 0 and 1, got {share}")
    method = method or SplitMethod(SESSION, GUARD_S)
    if method.mode == GAP and _scorable_units(train, method, share) < 2:  # one long stretch: scraps validate nothing, so cut it
        method = SplitMethod(BLOCK, method.guard_s, method.lap)
    purpose = "taking validation out of the training share"
    (rest, validation), dropped = _deal(train, seed, (1 - share, share), method, purpose, ("train", "validation"))
    return rest, validation, dropped


def _scorable_units(sequences: Sequence[Drive], method: SplitMethod, smallest: float) -> int:
    return sum(sum(map(len, unit)) >= FULL_LENGTH for unit in units_of(sequences, method, smallest).values())


def describe_split(method: SplitMethod, dropped: Dropped, frames: int) -> str:
    """One line for people: how it was cut and what that cost."""
    ways = {
        SESSION: "by whole tub sessions",
        GAP: f"by stretches of a session at least {method.guard_s:.1f} s apart",
        BLOCK: f"by blocks of {'laps' if method.lap else 'long drives'} with {method.guard_s:.1f} s left out between two sides",
    }
    lost = dropped.guard + dropped.duplicates
    share = f"{lost} of {frames} frames ({100 * lost / max(frames, 1):.1f} %)"
    cost = f"left out {share}: {dropped.guard} as guard, {dropped.duplicates} near-duplicates" if lost else "no frame left out"
    return f"split {method.mode}: {ways[method.mode]}; {cost}"


def split_record(sides: dict[str, list[Drive]], method: SplitMethod, dropped: Dropped) -> dict[str, Any]:
    """For the manifest: enough to cut the same parts out of the same tubs again (see `drives_by_id`)."""
    parts = {drive.id: [int(drive.indices[0]), int(drive.indices[-1])] for side in sides.values() for drive in side}
    lost = {"guard": dropped.guard, "near_duplicates": dropped.duplicates}
    return {"mode": method.mode, "guard_s": round(method.guard_s, 3), "frames_left_out": lost, "parts": parts}


def drives_by_id(sequences: Sequence[Drive], wanted: Sequence[str], record: dict[str, Any]) -> dict[str, Drive]:
    """The wanted drives that these sequences hold, whole or as a part that a split has cut; others are missing."""
    found = {sequence.id: sequence for sequence in sequences}
    parts = record.get("parts", {})
    for name in wanted:
        if name in found or name not in parts:
            continue
        first, last = parts[name]
        for sequence in sequences:
            if name.startswith(f"{sequence.tub}/{sequence.session}/{first}-") and sequence.indices[0] <= first:
                start, stop = np.searchsorted(sequence.indices, [first, last + 1])
                if stop - start == last - first + 1 and (part := sequence.part(int(start), int(stop))).id == name:
                    found[name] = part
    return found


def _deal(
    sequences: Sequence[Drive], seed: int, shares: tuple[float, ...], method: SplitMethod, purpose: str, names: tuple[str, ...]
) -> tuple[list[list[Drive]], Dropped]:
    """One unit to each side first, then each next one to the side that misses most frames; then sides are kept apart."""
    units = units_of(sequences, method, min(shares))
    if len(units) < len(shares):
        raise AiccError(_too_few(purpose, sequences, len(units), len(shares), method))
    keys = sorted(units)
    frames = {key: sum(len(one) for one in units[key]) for key in keys}
    np.random.default_rng(seed).shuffle(keys)
    # Units that can be scored open the sides, so that none is left with scraps only. Of them the longest goes to the largest
    # share, so that one huge drive is not lost to a test.
    first = sorted(keys, key=lambda key: frames[key] < FULL_LENGTH)[: len(shares)]
    first = sorted(first, key=lambda key: -frames[key])
    opening = dict(zip(first, np.argsort(-np.array(shares), kind="stable").tolist(), strict=True))
    wanted = np.array(shares) * sum(frames.values())
    dealt: list[list[Drive]] = [[] for _ in shares]
    for key in keys:
        side = opening[key] if key in opening else int(np.argmax(wanted))
        wanted[side] -= frames[key]
        dealt[side] += units[key]
    ordered = [sorted(side, key=lambda one: (*one.session_key, int(one.indices[0]), one.id)) for side in dealt]
    if method.mode == BLOCK:
        ordered[0] = joined(ordered[0], sequences)
    _assert_apart(dict(zip(names, ordered, strict=True)), method.mode == SESSION)
    if method.mode == SESSION:
        return ordered, Dropped()
    # The last sides are the small ones and keep their frames; training, the first, can spare some.
    kept, dropped = keep_apart(ordered[::-1], method.guard_s)
    if not all(kept):
        raise AiccError(f"{purpose}: without guards and near-duplicates nothing is left of a side; record longer or more drives")
    return kept[::-1], dropped


def _too_few(purpose: str, sequences: Sequence[Drive], units: int, needed: int, method: SplitMethod) -> str:
    have = f"got {len(sequences)} sequences from {units}"
    if method.mode == SESSION:
        return (
            f"{purpose} needs sequences from at least {needed} tub sessions, {have}; record more drives (each start of the car's "
            "program is a session of its own), or allow --split auto"
        )
    frames = sum(len(sequence) for sequence in sequences)
    what = f"stretches at least {method.guard_s:.1f} s apart" if method.mode == GAP else f"blocks of {SHORTEST_BLOCK} frames"
    return f"{purpose} needs at least {needed} {what}, got {units} from {frames} frames; record longer or more drives"


def _assert_apart(sides: dict[str, list[Drive]], whole_sessions: bool) -> None:
    """The same content may not stand on two sides, nor, unless asked for, frames of one session."""
    seen: dict[Any, str] = {}
    for side, sequences in sides.items():
        for sequence in sequences:
            for mark in (sequence.session_key, sequence.content_hash) if whole_sessions else (sequence.content_hash,):
                if seen.setdefault(mark, side) != side:
                    raise AiccError(
                        f"sequence {sequence.id} is in {side} while its session or a copy of it is in {seen[mark]}; "
                        "remove the duplicate tub, or the scores would be measured on training data"
                    )
