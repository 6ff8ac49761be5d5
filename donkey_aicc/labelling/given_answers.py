"""Answers from a table, for scripts and tests: a label file or a file with the column answer stands in for the person."""

from dataclasses import dataclass
from pathlib import Path

from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.labelling.answers import ANSWERS, CLOCK_MS, NOT_DRIVING, SAFE, SKIP, UNSAFE, whole_number
from donkey_aicc.labelling.footage import Footage
from donkey_aicc.untrusted import read_table


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
