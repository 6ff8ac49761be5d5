"""What the person said, in a file that only grows: a crash or kill -9 loses at most the answer that was being given.

For scripts and tests a table stands in for the person: a label file, or a file with the column answer.
"""

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.labelling.footage import Footage
from donkey_aicc.untrusted import read_bounded, read_table

SAFE, UNSAFE, NOT_DRIVING, SKIP = "safe", "unsafe", "not_driving", "skip"
ANSWERS = (SAFE, UNSAFE, NOT_DRIVING, SKIP)
CLASSES = (UNSAFE, SAFE, NOT_DRIVING)  # class number = place; safe is 1 as in label files
UNDO = "undo"
COLUMNS = ("turn", "tub", "index", "time_ms", "answer", "why")
SPREAD, UNSURE, NEIGHBOURS, STRETCH, CORRECTED, GIVEN = "spread", "unsure", "neighbours", "stretch", "corrected", "given"
REASONS = (SPREAD, UNSURE, NEIGHBOURS, STRETCH, CORRECTED, GIVEN)
MOST_BYTES = 64 << 20
CLOCK_MS = 2  # by which a stored time may differ from the tub's: rounding


@dataclass(frozen=True)
class Answer:
    """One frame, as the person sees it."""

    position: int
    answer: str
    why: str


class AnswerLog:
    """The answers of one labelling, on disk after every turn."""

    def __init__(self, path: str | Path, footage: Footage) -> None:
        self.path, self._footage = Path(path), footage
        self._turns: list[tuple[int, list[Answer]]] = []
        self._last = 0
        if self.path.exists():
            self._read()

    @property
    def latest(self) -> dict[int, Answer]:
        """By position; of two answers to one frame the later counts."""
        return {one.position: one for _, answers in self._turns for one in answers}

    def add(self, answers: Sequence[Answer]) -> None:
        """One turn: a single answer, or a stretch that was labelled at once."""
        for one in answers:
            one_of("answer", one.answer, ANSWERS)
        if answers:
            turn = self._last + 1
            self._append((turn, *self._footage.key(one.position), self._ms(one), one.answer, one.why) for one in answers)
            self._last = turn
            self._turns.append((turn, list(answers)))

    def undo(self) -> list[Answer]:
        """Take the last turn back; what it said."""
        if not self._turns:
            return []
        turn, answers = self._turns[-1]
        self._append([(turn, "", "", "", UNDO, "")])
        self._turns.pop()
        return answers

    def _ms(self, one: Answer) -> int:
        return self._footage.time_ms(one.position)

    def _append(self, rows: Iterable[Sequence[object]]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab") as file:
            if file.tell() == 0:
                writer.writerow(COLUMNS)
            writer.writerows(rows)
            file.write(text.getvalue().encode())
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        data = read_bounded(self.path, MOST_BYTES)
        whole = data.rfind(b"\n") + 1
        if whole < len(data):  # killed while writing: the torn line goes, so that the next one starts on its own line
            os.truncate(self.path, whole)
        if not whole:
            return
        names, rows = read_table(self.path, MOST_BYTES)
        if tuple(names) != COLUMNS:
            raise AiccError(
                f"{self.path} must be a file of answers with the columns {', '.join(COLUMNS)}; got {', '.join(names)}"
            )
        turns: dict[int, list[Answer]] = {}
        for line, row in enumerate(rows, start=2):
            turn = whole_number(self.path, line, "turn", row["turn"])
            self._last = max(self._last, turn)
            if row["answer"] == UNDO:
                turns.pop(turn, None)
                continue
            turns.setdefault(turn, []).append(self._parsed(line, row))
        self._turns = sorted(turns.items())

    def _parsed(self, line: int, row: dict[str, str]) -> Answer:
        index = whole_number(self.path, line, "index", row["index"])
        position = self._footage.position(row["tub"], index)
        if (
            position is None
            or abs(whole_number(self.path, line, "time_ms", row["time_ms"]) - self._footage.time_ms(position)) > CLOCK_MS
        ):
            raise AiccError(
                f"{self.path} line {line} is of another tub: record {index} of {row['tub']!r} at {row['time_ms']} ms is no "
                f"usable frame of {', '.join(map(str, self._footage.folders.values()))}; give another --out, these answers stay"
            )
        one_of(f"{self.path} line {line}: answer", row["answer"], ANSWERS)
        one_of(f"{self.path} line {line}: why", row["why"], REASONS)
        return Answer(position, row["answer"], row["why"])


def whole_number(path: str | Path, line: int, name: str, text: str) -> int:
    """A cell as a whole number of at most 15 digits."""
    try:
        value = float(text)
        if abs(value) < 1e15 and value == int(value):
            return int(value)
    except (ValueError, OverflowError):
        pass
    raise AiccError(f"{path} line {line}: {name} must be a whole number, got {text[:40]!r}")


@dataclass(frozen=True)
class GivenAnswers:
    """`said`: position -> answer; a frame that is not there, or stands there without a label, is skipped."""

    said: dict[int, str]
    unused: int  # rows of no usable frame
    contradictions: list[int]  # record indices with two different answers; the later counts

    def answer(self, position: int) -> str:
        return self.said.get(position, SKIP)


def read_given(path: str | Path, footage: Footage) -> GivenAnswers:
    """Columns index and answer (safe, unsafe, not_driving, skip) or safe (1, 0, empty) and driving; tub if several are read."""
    try:
        names, rows = read_table(path)
    except OSError as error:
        raise AiccError(f"cannot read the answers {path}: {error}") from error
    if "index" not in names or not {"answer", "safe"} & set(names):
        raise AiccError(f"{path} must have the columns index and answer or safe, got {', '.join(names) or 'none'}")
    only = footage.tubs[0] if len(set(footage.tubs)) == 1 else None
    if only is None and "tub" not in names:
        raise AiccError(f"{path} needs a column tub (the folder name), because several tubs are read")
    said: dict[int, str] = {}
    unused, contradictions = 0, []
    for line, row in enumerate(rows, start=2):
        index = whole_number(path, line, "index", row["index"])
        position = footage.position(row["tub"] if "tub" in names else str(only), index)
        answer = _answer(path, line, row)
        if position is None or not _same_moment(path, line, row, footage.time_ms(position)):
            unused += 1
            continue
        if said.get(position, answer) != answer and SKIP not in (answer, said[position]) and index not in contradictions:
            contradictions.append(index)
        said[position] = answer
    if rows and not said:
        raise AiccError(f"{path} is of another tub: none of its {len(rows)} rows names a usable frame of these tubs")
    return GivenAnswers(said, unused, contradictions)


def _same_moment(path: str | Path, line: int, row: dict[str, str], time_ms: int) -> bool:
    """A label file says when each record was taken: one of another tub has the same indices and other times."""
    stored = row.get("time_ms", "").strip()
    return not stored or abs(whole_number(path, line, "time_ms", stored) - time_ms) <= CLOCK_MS


def _answer(path: str | Path, line: int, row: dict[str, str]) -> str:
    if "answer" in row:
        one_of(f"{path} line {line}: answer", row["answer"], ANSWERS)
        return row["answer"]
    if row.get("driving", "").strip() in ("0", "0.0"):
        return NOT_DRIVING
    words = {"": SKIP, "1": SAFE, "1.0": SAFE, "true": SAFE, "0": UNSAFE, "0.0": UNSAFE, "false": UNSAFE}
    word = row["safe"].strip().lower()
    if word not in words:
        raise AiccError(f"{path} line {line}: safe must be 0, 1 or empty, got {row['safe'][:40]!r}")
    return words[word]
