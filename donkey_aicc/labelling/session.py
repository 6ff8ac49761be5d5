"""One labelling, from the first question to the label file and what came out of it, in words.

The page and the command line both drive it. The file has one row per usable frame: its label, where that comes from and how
sure it is.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.labelling.answers import CLASSES, NOT_DRIVING, SAFE, SKIP, UNSAFE, Answer, AnswerLog, GivenAnswers
from donkey_aicc.labelling.classifier import Questions, agreement, blocks_of
from donkey_aicc.labelling.floor_colours import FloorColours, propose_by_colours
from donkey_aicc.labelling.footage import Footage
from donkey_aicc.labelling.proposal import CERTAINTY, FROM_STILL, NO_LABEL, Proposal, answered, better_look, propose, with_answers

CELLS = {SAFE: ("1", "1"), UNSAFE: ("0", "1"), NOT_DRIVING: ("", "0")}  # safe, driving


def write_labels(path: str | Path, footage: Footage, proposal: Proposal) -> None:
    """Columns index, safe, driving, source, certainty, time_ms, and tub in front if there are several; atomic."""
    said = ((int(place), str(source)) for place, source in zip(proposal.label, proposal.source, strict=True))
    cells = [[*(("", "1") if place == NO_LABEL else CELLS[CLASSES[place]]), source] for place, source in said]
    footage.write_labels(path, ["safe", "driving", "source"], cells, proposal.certainty)


def refuse_inside_tub(path: str | Path, footage: Footage) -> None:
    """Nothing is ever written into a tub."""
    target = Path(path).resolve()
    for folder in footage.folders.values():
        if target.is_relative_to(folder.resolve()):
            raise AiccError(f"--out must not lie inside the tub {folder}, got {path}")


def compare(proposal: Proposal, reference: GivenAnswers, answered: set[int]) -> str:
    """Agreement with other labels, on frames that nobody answered, and how many of their frames have a label."""
    driving = np.array([at for at, said in sorted(reference.said.items()) if said in (SAFE, UNSAFE)], dtype=np.int64)
    if not len(driving):
        raise AiccError("the labels to compare with call no frame safe or unsafe")
    truth = np.array([CLASSES.index(reference.said[int(at)]) for at in driving])
    said = proposal.label[driving]
    labelled = np.isin(said, [CLASSES.index(SAFE), CLASSES.index(UNSAFE)])
    new = labelled & ~np.isin(driving, sorted(answered))
    right = said == truth
    return (
        f"compared with {len(driving)} labels: {100 * labelled.mean():.1f} % of them get a label; of {new.sum()} labelled frames "
        f"that were not answered {100 * right[new].mean() if new.any() else 0.0:.2f} % agree (all labelled: "
        f"{100 * right[labelled].mean() if labelled.any() else 0.0:.2f} %)"
    )


REFIT_EVERY = 5  # answers


class LabelSession:
    """Answers go to disk at once; labels are worked out anew every few answers and written then."""

    def __init__(
        self,
        footage: Footage,
        features: np.ndarray,
        out: str | Path,
        certainty: float = CERTAINTY,
        others: Sequence[np.ndarray] = (),
    ) -> None:
        """features: (N, D); others: further kinds of them, one of which is taken as soon as the answers show it to be better."""
        if not 0.5 <= certainty < 1:
            raise ConfigError(f"--certainty must be at least 0.5 and below 1, got {certainty}")
        refuse_inside_tub(out, footage)
        self.footage, self.out, self._looks, self._certainty = footage, Path(out), [features, *others], certainty
        self.log = AnswerLog(answers_path(out), footage)
        self.floor = FloorColours()
        self.shares: np.ndarray | None = None
        if floor_path(out).exists():
            self._look_at(FloorColours.load(floor_path(out)))
        self._questions = Questions(footage)
        self._waiting: list[tuple[int, str]] = []
        self._since = 0
        self.refit()

    def refit(self) -> Proposal:
        """Work the labels out from all answers and write them."""
        latest = self.log.latest
        self.proposal = propose(self.footage, better_look(self.footage, self._looks, latest), latest, self._certainty)
        if self.floor.used and self.shares is not None:
            by_colours = replace(propose_by_colours(self.shares, self._certainty), probabilities=self.proposal.probabilities)
            self.proposal = with_answers(self.footage, *answered(latest), by_colours)
        self._waiting, self._since = [], 0
        if latest or self.floor.used:
            write_labels(self.out, self.footage, self.proposal)
        return self.proposal

    def ask(self, count: int = 1) -> list[tuple[int, str]]:
        """The next positions to look at, and why."""
        asked = self.log.latest
        self._waiting = [each for each in self._waiting if each[0] not in asked]
        if len(self._waiting) < count:
            self._waiting = self._questions.next(asked, self.proposal.probabilities, max(count, REFIT_EVERY))
        return self._waiting[:count]

    def answer(self, answers: Sequence[Answer]) -> None:
        """One turn; every few turns the labels follow."""
        self.log.add(answers)
        self._since += 1
        if self._since >= REFIT_EVERY or len(answers) > 1:
            self.refit()

    def undo(self) -> list[Answer]:
        undone = self.log.undo()
        if undone:
            self.refit()
        return undone

    def set_floor(self, floor: FloorColours) -> None:
        """Other floor colours, another region, or whether the labels come from them."""
        if floor.used and not floor.complete:
            raise AiccError("pick at least one colour of the road and one of what is not road before using them")
        self._look_at(floor)
        floor.save(floor_path(self.out))
        self.refit()

    def _look_at(self, floor: FloorColours) -> None:
        self.shares = floor.shares(self.footage) if floor.complete else None
        self.floor = floor

    def check_colours(self) -> dict[str, Any] | None:
        """The floor's labels against the answers, None without both."""
        if self.shares is None:
            return None
        rows, classes = answered(self.log.latest)
        label = propose_by_colours(self.shares, self._certainty).label
        labelled = label[rows] != NO_LABEL
        blocks = blocks_of(self.footage.seconds[rows], float(self.footage.seconds[-1]))
        found = agreement(label[rows] == classes, labelled, blocks, spread=True)
        return {**found.to_json(), "labelled_share": float((label != NO_LABEL).mean())}

    def counts(self) -> dict[str, Any]:
        """For people and for the page: how far the labelling is."""
        latest = self.log.latest.values()
        answers = {name: sum(one.answer == name for one in latest) for name in (*CLASSES, SKIP)}
        labels = {name: self.proposal.count(name) for name in CLASSES}
        moving = int((self.proposal.label != CLASSES.index("not_driving")).sum())
        return {
            "frames": len(self.footage),
            "answers": answers,
            "labels": labels,
            "unlabelled": int((self.proposal.label == NO_LABEL).sum()),
            "labelled_share": (labels["safe"] + labels["unsafe"]) / max(moving, 1),
        }


def floor_path(out: str | Path) -> Path:
    """So does the file of floor colours."""
    return Path(out).with_name(f"{Path(out).stem}_floor.json")


def answers_path(out: str | Path) -> Path:
    """The file of answers stands beside the label file."""
    out = Path(out)
    return out.with_name(f"{out.stem}_answers.csv")


MOST_NAMED = 5


def summary(session: LabelSession) -> str:
    """Several lines for a terminal."""
    counts, said = session.counts(), session.proposal
    answers, labels = counts["answers"], counts["labels"]
    still = int((said.source == FROM_STILL).sum())
    lines = [
        f"answers   {sum(answers.values())}: {answers[SAFE]} safe, {answers[UNSAFE]} unsafe, {answers[NOT_DRIVING]} not driving, "
        f"{answers[SKIP]} skipped",
        f"labels    {labels[SAFE]} safe, {labels[UNSAFE]} unsafe, {labels[NOT_DRIVING]} not driving ({still} because the picture "
        f"stands still), {counts['unlabelled']} left without a label: {100 * counts['labelled_share']:.1f} % of the "
        "driving frames have one",
    ]
    if said.accuracy is not None:
        lines.append(f"accuracy  {said.accuracy.to_text()}")
        lines.append(f"certainty a frame gets a label from {said.limit:.2f}")
    lines += [f"note: {text}" for text in doubts(session)]
    return "\n".join(lines)


def doubts(session: LabelSession) -> list[str]:
    """What is missing or speaks against the answers."""
    said = session.proposal
    found = [said.complaint] if said.complaint else []
    if said.clashes:
        first, second = said.clashes[0]
        found.append(
            f"{len(said.clashes)} pairs of answers contradict each other: such as records {_record(session.footage, first)} and "
            f"{_record(session.footage, second)}, which look the same and are answered differently"
        )
    if said.suspects:
        named = ", ".join(_record(session.footage, position) for position in said.suspects[:MOST_NAMED])
        more = ", ..." if len(said.suspects) > MOST_NAMED else ""
        found.append(f"{len(said.suspects)} answers contradict all similar ones, look again: records {named}{more}")
    return found


def _record(footage: Footage, position: int) -> str:
    tub, index = footage.key(position)
    return f"{tub}/{index}" if len(footage.folders) > 1 else str(index)
