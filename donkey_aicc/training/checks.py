"""Plain warnings for the usual mistakes, said before hours are spent or right after a net has gone wrong."""

from collections.abc import Sequence as Listing

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.drive import Drive

FEW_SEQUENCES = 10
FEW_FRAMES = 5000
RARE_CLASS = 0.02
FEW_LABELS = 0.2  # share of the frames
SAME_PIXELS = 1.0  # mean absolute difference of two frames, of 255
COLLAPSED_STD = 0.01
BLURRED_TO_MEAN = 0.9


def data_warnings(train: Listing[Drive]) -> list[str]:
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


def calibration_warnings(calibration: Listing[Drive], frames: int) -> list[str]:
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


def require_labels(train: Listing[Drive]) -> None:
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


def _labels(train: Listing[Drive]) -> np.ndarray:
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


def _all_alike(sequences: Listing[Drive]) -> bool:
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
