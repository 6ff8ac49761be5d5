"""The label file: one row per usable frame, with where its label comes from and how sure it is."""

import csv
import io
from pathlib import Path

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_atomic
from donkey_aicc.labelling.answers import CLASSES, NOT_DRIVING, SAFE, UNSAFE
from donkey_aicc.labelling.footage import Footage
from donkey_aicc.labelling.given_answers import GivenAnswers
from donkey_aicc.labelling.proposal import NO_LABEL, Proposal

CELLS = {SAFE: ("1", "1"), UNSAFE: ("0", "1"), NOT_DRIVING: ("", "0")}  # safe, driving


def write_labels(path: str | Path, footage: Footage, proposal: Proposal) -> None:
    """Columns index, safe, driving, source, certainty, time_ms, and tub in front if there are several; atomic."""
    several = len(footage.folders) > 1
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(["tub"] if several else []), "index", "safe", "driving", "source", "certainty", "time_ms"])
    for position in range(len(footage)):
        tub, index = footage.key(position)
        place = int(proposal.label[position])
        safe, driving = ("", "1") if place == NO_LABEL else CELLS[CLASSES[place]]
        certainty = f"{float(proposal.certainty[position]):.3f}"
        row = [index, safe, driving, str(proposal.source[position]), certainty, footage.time_ms(position)]
        writer.writerow([tub, *row] if several else row)
    write_atomic(path, text.getvalue())


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
