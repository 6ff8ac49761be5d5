"""All frames of some sequences as one numbered pool; pixels stay where they are (often a memory map) until asked for."""

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.nets.camera_nets import VAE
from donkey_aicc.nets.preprocess import LATENT_SHAPE, NO_HISTORY, ActionStats, images_to_tensor, lagged, stacked
from donkey_aicc.progress import Progress
from donkey_aicc.tubs.drive import Drive

ENCODE_BATCH = 64


class FramePool:
    """Frame n of the pool is frame n - first[s] of sequence s."""

    def __init__(self, sequences: Sequence[Drive]) -> None:
        self.sequences = list(sequences)
        lengths = [len(sequence) for sequence in self.sequences]
        self.first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def __len__(self) -> int:
        return int(self.first[-1])

    def images(self, chosen: Tensor | np.ndarray, device: torch.device) -> Tensor:
        """(B, 3, 64, 64) float32 in [0, 1] of the numbered frames."""
        numbers = np.asarray(chosen)
        owners = np.searchsorted(self.first, numbers, side="right") - 1
        pixels = np.stack(
            [self.sequences[s].images[n - self.first[s]] for s, n in zip(owners.tolist(), numbers.tolist(), strict=True)]
        )
        return images_to_tensor(pixels).to(device)

    def inputs(self, chosen: np.ndarray, lags: tuple[int, ...], stats: ActionStats, device: torch.device) -> Tensor:
        """(B, C, 64, 64) for the safety predictor: the numbered frames with those before them in their own sequence."""
        owners = np.searchsorted(self.first, chosen, side="right") - 1
        steps = lagged(chosen - self.first[owners], lags).tolist()
        owned = [(self.sequences[owner], step) for owner, step in zip(owners.tolist(), steps, strict=True)]
        frames = np.stack([[sequence.images[number] for number in step] for sequence, step in owned])
        commands = np.stack([sequence.actions[step] for sequence, step in owned])
        return torch.from_numpy(stacked(frames, commands, None if tuple(lags) == NO_HISTORY else stats)).to(device)

    def actions(self, stats: ActionStats) -> Tensor:
        """(N, 2) normalised actions of all frames."""
        return torch.from_numpy(stats.normalise(np.concatenate([sequence.actions for sequence in self.sequences])))

    def window_starts(self, length: int) -> Tensor:
        """Numbers of all frames at which a window of this length fits inside one sequence."""
        starts = [
            np.arange(first, first + len(sequence) - length + 1)
            for first, sequence in zip(self.first[:-1], self.sequences, strict=True)
            if len(sequence) >= length
        ]
        return torch.from_numpy(np.concatenate(starts) if starts else np.empty(0, dtype=np.int64))


@torch.no_grad()
def encode_all(vae: VAE, pool: FramePool, device: torch.device, title: str = "encoding", show: bool = True) -> Tensor:
    """(N, 64, 4, 4) latent means of all frames on the CPU: the VAE is frozen, so once is enough."""
    latents = torch.empty(len(pool), *LATENT_SHAPE)
    vae.eval()
    with Progress(title, len(pool), "frames") if show else nullcontext() as bar:
        for start in range(0, len(pool), ENCODE_BATCH):
            numbers = np.arange(start, min(start + ENCODE_BATCH, len(pool)))
            latents[start : start + len(numbers)] = vae.encode(pool.images(numbers, device))[0].cpu()
            if bar is not None:
                bar.advance(len(numbers))
    return latents
