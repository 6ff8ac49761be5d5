"""What the labels would be now: the person's answers, what the classifier is sure of, and parked stretches."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from donkey_aicc.labelling.answers import CLASSES, GIVEN, NOT_DRIVING, SAFE, SKIP, STRETCH, UNSAFE, Answer
from donkey_aicc.labelling.classifier import (
    Agreement,
    QuickClassifier,
    agreement,
    blocks_of,
    enough_certainty,
    measured_on,
    typical_distance,
    unseen_probabilities,
)
from donkey_aicc.labelling.footage import Footage

CERTAINTY = 0.9
FEWEST_ANSWERS, FEWEST_OF_A_CLASS = 20, 4
NO_LABEL = -1
FROM_ANSWER, FROM_MODEL, FROM_COLOURS, FROM_STILL, NO_SOURCE = "answer", "model", "colours", "still", ""
STILL_CERTAINTY = 0.95
SUSPECT = 0.1  # an answer that unseen neighbours give less than this is worth a second look
SAME_LOOK = 0.05  # of the typical distance between two frames
MOST_COMPARED = 1500
LEAST = 1e-3  # of a probability, so that one answer does not decide alone
STRETCH_STEP_S = 0.5


@dataclass(frozen=True)
class Proposal:
    """N frames. `label` is a place in CLASSES or NO_LABEL."""

    label: np.ndarray  # (N,) int8
    certainty: np.ndarray  # (N,) float32; 0 where nothing is known
    source: np.ndarray  # (N,) str
    probabilities: np.ndarray | None = None  # (N, 3): of the classifier alone
    accuracy: Agreement | None = None
    limit: float = CERTAINTY  # from which on a frame is labelled
    complaint: str = ""  # why the rest is not labelled, in words for a person
    suspects: list[int] = field(default_factory=list)  # answered positions worth a second look
    clashes: list[tuple[int, int]] = field(default_factory=list)  # pairs that look the same and are answered differently

    def count(self, name: str) -> int:
        return int((self.label == CLASSES.index(name)).sum())


def propose(footage: Footage, features: np.ndarray, latest: dict[int, Answer], certainty: float = CERTAINTY) -> Proposal:
    """Labels for every frame of which the answers make sure."""
    rows, classes = answered(latest)
    complaint = too_little(classes)
    if complaint:
        return with_answers(footage, rows, classes, _nothing(len(footage), certainty, complaint))
    judged = _judge(footage, features, *_learnt(footage, latest), certainty)
    return with_answers(footage, rows, classes, judged)


def better_look(footage: Footage, looks: Sequence[np.ndarray], latest: dict[int, Answer]) -> np.ndarray:
    """Of several kinds of features (N, D) the one that gives answers of unseen blocks of time the most; at first the first."""
    if len(looks) == 1 or too_little(answered(latest)[1]):
        return looks[0]
    learnt = _learnt(footage, latest)
    return max(looks, key=lambda look: float(np.log(np.maximum(_unseen(footage, look, *learnt).own, LEAST)).mean()))


def _learnt(footage: Footage, latest: dict[int, Answer]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, classes and reasons (n,) of the answers that the classifier is fitted on."""
    rows, classes = answered(latest)
    why = np.array([latest[int(row)].why for row in rows])
    used = _usable(classes) & _thinned(footage, rows, why)
    return rows[used], classes[used], why[used]


def answered(latest: dict[int, Answer]) -> tuple[np.ndarray, np.ndarray]:
    """Positions in driving order and their classes (n,), without the skipped ones."""
    rows = sorted(position for position, one in latest.items() if one.answer != SKIP)
    classes = [CLASSES.index(latest[position].answer) for position in rows]
    return np.array(rows, dtype=np.int64), np.array(classes, dtype=np.int64)


def too_little(classes: np.ndarray) -> str:
    """What is missing before the rest can be labelled, '' if nothing is."""
    counts = {name: int((classes == place).sum()) for place, name in enumerate(CLASSES)}
    said = f"{len(classes)} answers ({counts[SAFE]} safe, {counts[UNSAFE]} unsafe, {counts[NOT_DRIVING]} not driving)"
    lacking = [name for name in (SAFE, UNSAFE) if counts[name] < FEWEST_OF_A_CLASS]
    if len(classes) < FEWEST_ANSWERS:
        return f"{said} are too few to label the rest: it takes at least {FEWEST_ANSWERS}; only the answered frames have a label"
    if lacking:
        return (
            f"{said}: at least {FEWEST_OF_A_CLASS} {' and '.join(lacking)} ones are needed to tell the two apart; only the "
            "answered frames have a label. If the drive has no such frames, record some on purpose"
        )
    return ""


def _usable(classes: np.ndarray) -> np.ndarray:
    """(n,) bool: a class with a handful of answers is not learnt; its answers still count as they stand."""
    counts = np.bincount(classes, minlength=len(CLASSES))
    return np.asarray(counts[classes] >= FEWEST_OF_A_CLASS)


def _thinned(footage: Footage, rows: np.ndarray, why: np.ndarray) -> np.ndarray:
    """(n,) bool: of a stretch one frame per half second is learnt, or its hundreds would outvote all single answers.

    A table may hold stretches too.
    """
    steps, many = footage.seconds[rows] // STRETCH_STEP_S, np.isin(why, [STRETCH, GIVEN])
    again = np.concatenate([[False], (np.diff(steps) == 0) & many[:-1]])
    return ~(again & many)


@dataclass(frozen=True)
class _Unseen:
    """The answered frames, each judged without its block of time."""

    right: np.ndarray  # (n,) bool
    certainty: np.ndarray  # (n,) of what it would have said
    own: np.ndarray  # (n,) probability of the person's answer, 1 where it could not be judged
    blocks: np.ndarray  # (n,) int
    fair: np.ndarray  # (n,) bool: to be measured on
    spread: bool


def _unseen(footage: Footage, features: np.ndarray, rows: np.ndarray, classes: np.ndarray, why: np.ndarray) -> _Unseen:
    blocks = blocks_of(footage.seconds[rows], float(footage.seconds[-1]))
    found = unseen_probabilities(features[rows], classes, blocks, len(CLASSES))
    fair, spread = measured_on(why, np.isfinite(found[:, 0]))
    own = np.nan_to_num(found[np.arange(len(rows)), classes], nan=1.0)
    found = np.nan_to_num(found)
    return _Unseen(found.argmax(axis=1) == classes, found.max(axis=1), own, blocks, fair, spread)


def _judge(
    footage: Footage, features: np.ndarray, rows: np.ndarray, classes: np.ndarray, why: np.ndarray, asked: float
) -> Proposal:
    unseen = _unseen(footage, features, rows, classes, why)
    right, sure = unseen.right[unseen.fair], unseen.certainty[unseen.fair]
    probabilities = QuickClassifier(features[rows], classes, len(CLASSES)).probabilities(features)
    suspects, clashes = _suspects(rows, unseen.own), _clashes(features[rows], classes, rows)
    limit = enough_certainty(asked, sure, right)
    if limit is None:
        share = 100 * right.mean() if len(right) else 0.0
        complaint = (
            f"frames in blocks of time that it has not seen come out right in {share:.0f} % of {len(right)} answers, which "
            "is too few to label the rest: answer more frames, and look again at the answers in doubt"
        )
        return replace(_nothing(len(footage), asked, complaint), probabilities=probabilities, suspects=suspects, clashes=clashes)
    certainty = probabilities.max(axis=1)
    label = np.where(certainty >= limit, probabilities.argmax(axis=1), NO_LABEL).astype(np.int8)
    return Proposal(
        label=label,
        certainty=certainty.astype(np.float32),
        source=np.where(label == NO_LABEL, NO_SOURCE, FROM_MODEL),
        probabilities=probabilities,
        accuracy=agreement(right, sure >= limit, unseen.blocks[unseen.fair], unseen.spread),
        limit=limit,
        suspects=suspects,
        clashes=clashes,
    )


def _suspects(rows: np.ndarray, own: np.ndarray) -> list[int]:
    """The answers that the others speak against, the strangest first."""
    return [int(row) for row in rows[np.argsort(own, kind="stable")][: int((own < SUSPECT).sum())]]


def _clashes(features: np.ndarray, classes: np.ndarray, rows: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of answered frames that look the same and have different answers; features: (n, D) of the answered frames."""
    near = (SAME_LOOK * typical_distance(features)) ** 2
    some = np.linspace(0, len(rows) - 1, min(len(rows), MOST_COMPARED)).astype(int)
    looks = features[some].astype(np.float64)
    length = np.square(looks).sum(axis=1)
    close = length[:, None] + length - 2.0 * looks @ looks.T <= near
    first, second = np.nonzero(np.triu(close & (classes[some][:, None] != classes[some]), 1))
    return [(int(rows[some[a]]), int(rows[some[b]])) for a, b in zip(first, second, strict=True)]


def _nothing(frames: int, asked: float, complaint: str = "") -> Proposal:
    """No frame has a label."""
    label = np.full(frames, NO_LABEL, dtype=np.int8)
    return Proposal(
        label, np.zeros(frames, dtype=np.float32), np.full(frames, NO_SOURCE, dtype="<U8"), limit=asked, complaint=complaint
    )


def with_answers(footage: Footage, rows: np.ndarray, classes: np.ndarray, said: Proposal) -> Proposal:
    """Parked stretches are not driving unless the person says otherwise of one of their frames; answers stand above all."""
    label, certainty = said.label.copy(), said.certainty.copy()
    source = said.source.astype("<U8")
    moving = np.unique(footage.still[rows[classes != CLASSES.index(NOT_DRIVING)]])
    parked = (footage.still > 0) & ~np.isin(footage.still, moving)
    label[parked], certainty[parked], source[parked] = CLASSES.index(NOT_DRIVING), STILL_CERTAINTY, FROM_STILL
    label[rows], certainty[rows], source[rows] = classes, 1.0, FROM_ANSWER
    return replace(said, label=label, certainty=certainty, source=source)
