"""A sequence: consecutive frames of one tub session with nothing missing in between."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.preprocess import IMAGE_SIZE

FULL_LENGTH = 150  # 100 frames of context and 50 ahead: a shorter sequence never has a full score and all labels


@dataclass(frozen=True, eq=False)
class Drive:
    """N frames in driving order. `images` may be a slice of a read-only memory map."""

    id: str  # tub, session and first index, plus a short hash of the content
    tub: str
    session: str
    indices: np.ndarray  # (N,) int64: record index in the tub
    times_s: np.ndarray  # (N,) float64: seconds, increasing
    images: np.ndarray  # (N, 64, 64, 3) uint8 RGB
    actions: np.ndarray  # (N, 2) float32: steering, throttle in [-1, 1]
    cte: np.ndarray  # (N,) float32 as recorded, NaN unknown
    safe: np.ndarray  # (N,) float32: 1 safe, 0 unsafe, NaN unlabelled
    certainty: np.ndarray  # (N,) float32: how likely the label is right, 1 sure, 0.5 a guess
    protocol: np.ndarray  # (N,) str, '' nominal
    severity: np.ndarray  # (N,) int64, 0 nominal
    episode: np.ndarray  # (N,) int64, -1 unknown
    mode: np.ndarray  # (N,) str: donkeycar's user/mode, '' unknown
    departed: np.ndarray  # (N,) float32: 1 out of the lane, 0 in it, NaN unknown

    def __post_init__(self) -> None:
        length = len(self.indices)
        for name in FRAME_COLUMNS:
            if len(getattr(self, name)) != length:
                raise AiccError(f"sequence {self.id}: {name} has {len(getattr(self, name))} rows, expected {length}")
        if self.images.shape[1:] != (IMAGE_SIZE, IMAGE_SIZE, 3) or self.images.dtype != np.uint8:
            raise AiccError(
                f"sequence {self.id}: images must be uint8 (N, {IMAGE_SIZE}, {IMAGE_SIZE}, 3), got {self.images.shape}"
            )
        if self.actions.shape != (length, 2):
            raise AiccError(f"sequence {self.id}: actions must have shape ({length}, 2), got {self.actions.shape}")

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def session_key(self) -> tuple[str, str]:
        """What must never stand on two sides of a split."""
        return self.tub, self.session

    def part(self, start: int, stop: int) -> "Drive":
        """Frames start..stop-1 as a sequence of their own, with its own id."""
        if not 0 <= start < stop <= len(self):
            raise AiccError(f"sequence {self.id}: part({start}, {stop}) must lie within 0..{len(self)} and not be empty")
        cut = replace(self, **{name: getattr(self, name)[start:stop] for name in FRAME_COLUMNS})
        return replace(cut, id=sequence_id(cut.tub, cut.session, int(cut.indices[0]), cut.content_hash))

    def with_labels(self, safe: np.ndarray, **others: np.ndarray | None) -> "Drive":
        """The same drive with other labels; cte, departed or certainty change too if given and not None."""
        given: dict[str, Any] = {name: values for name, values in others.items() if values is not None}
        return _remember(replace(self, safe=safe, **given), self.content_hash)

    @cached_property
    def content_hash(self) -> str:
        """Hex digest of images and actions alone: equal for the same drive under another name, time or label."""
        return hash_content(self.images, self.actions)


FRAME_COLUMNS = tuple(column.name for column in fields(Drive) if column.name not in ("id", "tub", "session"))


def digest_frame(image: np.ndarray) -> int:
    """64 bits over the pixels of one model image."""
    return int.from_bytes(hashlib.blake2b(np.ascontiguousarray(image).data, digest_size=8).digest(), "little")


def hash_content(images: np.ndarray, actions: np.ndarray, frame_digests: np.ndarray | None = None) -> str:
    """32 hex digits over what a model gets to see; known digests of the frames save reading the pixels."""
    if frame_digests is None:
        frame_digests = np.array([digest_frame(image) for image in images], dtype=np.uint64)
    digest = hashlib.blake2b(digest_size=16)
    digest.update(np.ascontiguousarray(frame_digests, dtype="<u8").data)
    digest.update(np.ascontiguousarray(actions, dtype="<f4").data)
    return digest.hexdigest()


def sequence_id(tub: str, session: str, first_index: int, content_hash: str) -> str:
    """For example `tub_3/24-05-01_0/1200-9f3a12bc`; the same data get the same id on every machine."""
    return f"{tub}/{session}/{first_index}-{content_hash[:8]}"


def make_drive(
    tub: str,
    session: str,
    images: np.ndarray,
    actions: np.ndarray,
    *,
    indices: np.ndarray | None = None,
    times_s: np.ndarray | None = None,
    cte: np.ndarray | None = None,
    safe: np.ndarray | None = None,
    protocol: str | np.ndarray = "",
    severity: int | np.ndarray = 0,
    episode: int | np.ndarray = -1,
    mode: str | np.ndarray = "",
    departed: np.ndarray | None = None,
    rate_hz: float = 20.0,
    frame_digests: np.ndarray | None = None,
) -> Drive:
    """Build a sequence from arrays; what is not given is unknown, index counts from 0 and time follows `rate_hz`.

    frame_digests: `digest_frame` of every image, if already known.
    """
    length = len(images)
    unknown = np.full(length, np.nan, dtype=np.float32)
    numbers = np.arange(length, dtype=np.int64) if indices is None else np.asarray(indices, dtype=np.int64)
    commands = np.asarray(actions, dtype=np.float32)
    content_hash = hash_content(images, commands, frame_digests)
    sequence = Drive(
        id=sequence_id(tub, session, int(numbers[0]) if length else 0, content_hash),
        tub=tub,
        session=session,
        indices=numbers,
        times_s=numbers / rate_hz if times_s is None else np.asarray(times_s, dtype=np.float64),
        images=images,
        actions=commands,
        cte=unknown if cte is None else np.asarray(cte, dtype=np.float32),
        safe=unknown.copy() if safe is None else np.asarray(safe, dtype=np.float32),
        certainty=np.ones(length, dtype=np.float32),
        protocol=_filled(protocol, length, str),
        severity=_filled(severity, length, np.int64),
        episode=_filled(episode, length, np.int64),
        mode=_filled(mode, length, str),
        departed=unknown.copy() if departed is None else np.asarray(departed, dtype=np.float32),
    )
    return _remember(sequence, content_hash)


def _remember(sequence: Drive, content_hash: str) -> Drive:
    """Put a hash that is already known where the cached property keeps it."""
    sequence.__dict__["content_hash"] = content_hash
    return sequence


def _filled(value: object, length: int, dtype: type) -> np.ndarray:
    values: np.ndarray = np.asarray(value, dtype=dtype)
    return np.full(length, values) if values.ndim == 0 else values


def shared_content(first: Iterable[Drive], second: Iterable[Drive]) -> list[str]:
    """Ids of the sequences of `second` whose content also occurs in `first`."""
    known = {sequence.content_hash for sequence in first}
    return [sequence.id for sequence in second if sequence.content_hash in known]
