"""What a person looks at to judge a training.

- Plain warnings for the usual mistakes, said before hours are spent or right after a net has gone wrong.
- Curves: one CSV per stage, one picture of all, a line of text per epoch.
- Contact sheets that show at a glance whether the world model has learned the road: real above predicted.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path, csv_text, write_atomic
from donkey_aicc.nets.camera_nets import VAE
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.train_dynamics import LatentPool, roll_out, spread_starts
from donkey_aicc.tubs.drive import Drive

FEW_SEQUENCES = 10
FEW_FRAMES = 5000
RARE_CLASS = 0.02
FEW_LABELS = 0.2  # share of the frames
SAME_PIXELS = 1.0  # mean absolute difference of two frames, of 255
COLLAPSED_STD = 0.01
BLURRED_TO_MEAN = 0.9


def data_warnings(train: Sequence[Drive]) -> list[str]:
    """What is wrong with the training sequences; empty if nothing is."""
    warnings = []
    frames = sum(len(sequence) for sequence in train)
    if len(train) < FEW_SEQUENCES or frames < FEW_FRAMES:
        warnings.append(
            f"little data: {len(train)} training sequences with {frames} frames; expect poor long horizons below "
            f"{FEW_SEQUENCES} sequences and {FEW_FRAMES} frames"
        )
    if _all_alike(train):
        warnings.append("all images look the same: was the camera covered or frozen, or the car standing still?")
    actions = np.concatenate([sequence.actions for sequence in train])
    if float(actions[:, 0].std()) < 1e-3:
        warnings.append("the steering never changes: is it recorded from the channel that drives the car?")
    return warnings + _label_warnings(_labels(train), frames)


def calibration_warnings(calibration: Sequence[Drive], frames: int) -> list[str]:
    """What `donkey-aicc calibrate` would refuse later, said before the training.

    frames: what a score looks back and, with labels, what they look ahead.
    """
    drives = sum(len(sequence) > frames for sequence in calibration)
    if drives >= 2:
        return []
    return [
        f"the calibration side has {drives} drives longer than {frames} frames, and donkey-aicc calibrate needs 2; record "
        "more or longer drives, or try --split block"
    ]


def require_labels(train: Sequence[Drive]) -> None:
    """Raise before hours are spent if a safety predictor has nothing to learn from."""
    known = _labels(train)
    if not len(known):
        raise AiccError(
            "not one training frame has a safety label. Make some with: donkey-aicc label TUB (then --labels labels.csv), record "
            "pos/cte, takeovers or marks; or train --no-labels for the anomaly scores and the alarm alone"
        )
    if known.min() == known.max():
        word = "safe" if known[0] else "unsafe"
        raise AiccError(
            f"only one class: every labelled training frame is {word}, so a safety predictor has nothing to learn. Change --tau, "
            "label or record the other class; or train --no-labels for the anomaly scores and the alarm alone"
        )


def _labels(train: Sequence[Drive]) -> np.ndarray:
    safe = np.concatenate([sequence.safe for sequence in train])
    return safe[np.isfinite(safe)]


def _label_warnings(known: np.ndarray, frames: int) -> list[str]:
    if 0 < len(known) < FEW_LABELS * frames:
        return [
            f"few labels: {len(known)} of {frames} training frames have one, so expect a poor safety predictor; answer more "
            "questions (donkey-aicc label TUB), or train --no-labels"
        ]
    share = float(known.mean()) if len(known) else 0.5
    if min(share, 1 - share) < RARE_CLASS:
        return [f"one class is rare: {100 * share:.1f} % of the labelled frames are safe; consider another --tau"]
    return []


def _all_alike(sequences: Sequence[Drive]) -> bool:
    """Compare up to 8 frames of each sequence with the very first frame."""
    first = sequences[0].images[0].astype(np.int16)
    for sequence in sequences:
        for number in np.linspace(0, len(sequence) - 1, min(8, len(sequence))).astype(int):
            if np.abs(sequence.images[number].astype(np.int16) - first).mean() > SAME_PIXELS:
                return False
    return True


def vae_warnings(latents: Tensor, reconstruction_mse: float, pixel_variance: float) -> list[str]:
    """A collapsed VAE ignores its input: its latents do not vary, or it draws the mean picture.

    latents: (N, 64, 4, 4) of validation frames; pixel_variance: the error of always drawing the mean picture.
    """
    spread = float(torch.std(latents, dim=0).max()) if len(latents) > 1 else 0.0
    if spread < COLLAPSED_STD:
        return [f"the VAE has collapsed: its latent hardly varies (std {spread:.2g}); lower --set vae.beta or train longer"]
    if reconstruction_mse > BLURRED_TO_MEAN * pixel_variance:
        return [
            f"the VAE draws little more than the mean picture (MSE {reconstruction_mse:.4f}, the mean picture gives "
            f"{pixel_variance:.4f}); train longer or lower --set vae.beta"
        ]
    return []


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
    return csv_text(columns, *([row.get(name, "") for name in columns] for row in history))


ROLLOUT_STEPS = (1, 5, 10, 25, 50)
SHEET_COLUMNS = 8
SHEET_ROLLOUTS = 4


@torch.no_grad()
def reconstruction_sheet(path: Path, vae: VAE, pool: FramePool, device: torch.device) -> None:
    """Evenly spaced frames, each above its reconstruction."""
    numbers = np.linspace(0, len(pool) - 1, min(SHEET_COLUMNS, len(pool))).astype(np.int64)
    images = pool.images(numbers, device)
    titles = [f"frame {number}" for number in numbers]
    _save_sheet(path, [("real", images), ("rebuilt", vae(images))], titles, "Reconstruction of validation frames")


@torch.no_grad()
def rollout_sheet(path: Path, vae: VAE, dynamics: LatentDynamics, pool: LatentPool, context: int, device: torch.device) -> bool:
    """Decoded rollouts at k = 1, 5, 10, 25, 50 below what really came; False if no sequence is long enough."""
    length = context + ROLLOUT_STEPS[-1]
    starts = spread_starts(pool.frames.window_starts(length), SHEET_ROLLOUTS)
    if not len(starts):
        return False
    latents, actions = pool.windows(starts, length, device)
    predicted = roll_out(dynamics, latents, actions, context)
    rows = []
    for column, start in enumerate(starts.tolist()):
        frames = np.array([start + context - 1 + k for k in ROLLOUT_STEPS])
        rows.append((f"real from {start + context - 1}", pool.frames.images(frames, device)))
        rows.append(("predicted", vae.decode(torch.stack([predicted[k - 1, column] for k in ROLLOUT_STEPS]))))
    _save_sheet(path, rows, [f"k = {k}" for k in ROLLOUT_STEPS], "Open-loop rollouts with the recorded commands")
    return True


def _save_sheet(path: Path, rows: list[tuple[str, Tensor]], titles: list[str], heading: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.4 * len(titles) + 0.5, 1.45 * len(rows) + 0.6), layout="constrained")
    figure.suptitle(heading)
    grid = figure.subplots(len(rows), len(titles), squeeze=False)
    for row, (label, images) in enumerate(rows):
        for column, title in enumerate(titles):
            axes = grid[row, column]
            axes.imshow(images[column].permute(1, 2, 0).clamp(0, 1).cpu().numpy())
            axes.set(xticks=[], yticks=[])
            if row == 0:
                axes.set_title(title, fontsize=8)
            if column == 0:
                axes.set_ylabel(label, fontsize=8)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110)
