"""Training curves: one CSV per stage, one picture of all, a line of text per epoch."""

import csv
import io
import sys
from collections.abc import Mapping
from pathlib import Path

from donkey_aicc.files import atomic_path, write_atomic

History = list[dict[str, float]]


class Curves:
    """Collects the histories of the stages and rewrites the files after each epoch."""

    def __init__(self, folder: Path, epochs: Mapping[str, int]) -> None:
        self.folder, self.epochs = folder, epochs
        self.histories: dict[str, History] = {}

    def record(self, stage: str, history: History) -> None:
        """Called after each epoch with the stage's whole history."""
        self.histories[stage] = history
        write_atomic(self.folder / f"{stage}.curves.csv", _as_csv(history))
        last, left = history[-1], self.epochs[stage] - len(history)
        print(
            f"{stage} epoch {len(history)}/{self.epochs[stage]}: training loss {last['train_loss']:.5f}, validation "
            f"{last['loss']:.5f}, {last['seconds']:.0f} s" + (f", about {left * last['seconds']:.0f} s left" if left else ""),
            file=sys.stderr,
            flush=True,
        )

    def draw(self) -> Path:
        """curves.png: training and validation loss of each stage."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(4.5 * max(len(self.histories), 1), 3.2), layout="constrained")
        for number, (stage, history) in enumerate(self.histories.items(), start=1):
            axes = figure.add_subplot(1, len(self.histories), number)
            epochs = [row["epoch"] for row in history]
            axes.plot(epochs, [row["train_loss"] for row in history], label="training")
            axes.plot(epochs, [row["loss"] for row in history], label="validation")
            axes.set(title=stage, xlabel="epoch", ylabel="loss", yscale="log")
            axes.legend()
        path = self.folder / "curves.png"
        with atomic_path(path) as temporary:
            figure.savefig(temporary, dpi=100)
        return path


def _as_csv(history: History) -> str:
    columns = list(dict.fromkeys(name for row in history for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return text.getvalue()
