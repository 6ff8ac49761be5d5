"""What came out of a labelling, in words."""

from donkey_aicc.labelling.answers import NOT_DRIVING, SAFE, SKIP, UNSAFE
from donkey_aicc.labelling.footage import Footage
from donkey_aicc.labelling.proposal import FROM_STILL
from donkey_aicc.labelling.session import LabelSession

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
