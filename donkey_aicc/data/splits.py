"""Train, calibration and test shares by whole tub sessions: neighbouring frames never stand on two sides."""

from collections.abc import Sequence as Listing
from dataclasses import dataclass

import numpy as np

from donkey_aicc.data.sequence import Sequence
from donkey_aicc.errors import AiccError, ConfigError

SHARES = (0.68, 0.16, 0.16)
VALIDATION_SHARE = 0.15

Session = tuple[str, str]


@dataclass(frozen=True)
class Split:
    """Three disjoint lists of sequences; no tub session occurs in two of them."""

    train: list[Sequence]
    calibration: list[Sequence]
    test: list[Sequence]

    def __post_init__(self) -> None:
        _assert_apart({"train": self.train, "calibration": self.calibration, "test": self.test})

    def ids(self) -> dict[str, list[str]]:
        """Sequence ids per side, for the bundle's manifest."""
        sides = {"train": self.train, "calibration": self.calibration, "test": self.test}
        return {side: [sequence.id for sequence in sequences] for side, sequences in sides.items()}


def split_sequences(sequences: Listing[Sequence], seed: int, shares: tuple[float, float, float] = SHARES) -> Split:
    """Deal whole sessions out so that the frame counts come near the shares; the order of `sequences` is irrelevant."""
    if len(shares) != 3 or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-6:
        raise ConfigError(f"split shares must be three numbers > 0 that add up to 1, got {shares}")
    train, calibration, test = _deal(sequences, seed, shares, "splitting into train, calibration and test")
    return Split(train, calibration, test)


def carve_validation(
    train: Listing[Sequence], seed: int, share: float = VALIDATION_SHARE
) -> tuple[list[Sequence], list[Sequence]]:
    """Take validation sequences out of the training share: (rest, validation), again by whole sessions."""
    if not 0 < share < 1:
        raise ConfigError(f"validation share must be between 0 and 1, got {share}")
    rest, validation = _deal(train, seed, (1 - share, share), "taking validation out of the training share")
    _assert_apart({"train": rest, "validation": validation})
    return rest, validation


def _deal(sequences: Listing[Sequence], seed: int, shares: tuple[float, ...], purpose: str) -> list[list[Sequence]]:
    """One session to each side first, then each next one to the side that misses most frames."""
    frames: dict[Session, int] = {}
    for sequence in sequences:
        frames[sequence.session_key] = frames.get(sequence.session_key, 0) + len(sequence)
    if len(frames) < len(shares):
        raise AiccError(
            f"{purpose} needs sequences from at least {len(shares)} tub sessions, got {len(sequences)} sequences from "
            f"{len(frames)}; record more drives (each start of the car's program is a session of its own)"
        )
    order = sorted(frames)
    np.random.default_rng(seed).shuffle(order)
    # Of the sessions that open the sides the longest goes to the largest share, so that one huge drive is not lost to a test.
    first = sorted(order[: len(shares)], key=lambda session: -frames[session])
    opening = dict(zip(first, np.argsort(-np.array(shares), kind="stable").tolist(), strict=True))
    wanted = np.array(shares) * sum(frames.values())
    side_of: dict[Session, int] = {}
    for session in order:
        side = opening[session] if session in opening else int(np.argmax(wanted))
        wanted[side] -= frames[session]
        side_of[session] = side
    ordered = sorted(sequences, key=lambda sequence: (*sequence.session_key, int(sequence.indices[0]), sequence.id))
    return [[sequence for sequence in ordered if side_of[sequence.session_key] == side] for side in range(len(shares))]


def _assert_apart(sides: dict[str, list[Sequence]]) -> None:
    """Neither a session nor the same content may stand on two sides."""
    seen: dict[Session | str, str] = {}
    for side, sequences in sides.items():
        for sequence in sequences:
            for mark in (sequence.session_key, sequence.content_hash):
                if seen.setdefault(mark, side) != side:
                    raise AiccError(
                        f"sequence {sequence.id} is in {side} while its session or a copy of it is in {seen[mark]}; "
                        "remove the duplicate tub, or the scores would be measured on training data"
                    )
