"""The cold-start way: everything anew for one frame from its context alone, with the net's own step.

Nobody should drive like this; it is here to measure what the living states are worth and what they change. Up to the
length of the context both are equal. Beyond it the living states remember more than the context.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.calibration.mahalanobis import MahalanobisScore
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.dynamics import Masks
from donkey_aicc.preprocess import images_to_tensor
from donkey_aicc.score_table import ScoreTable
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.score import Drive, ScoreSettings

if TYPE_CHECKING:
    from donkey_aicc.bundle import Bundle


@torch.inference_mode()
def cold_start_scores(bundle: "Bundle", drive: Drive, frame: int, settings: ScoreSettings) -> tuple[float, np.ndarray]:
    """rho_raw and the three rollout features (3,) of one frame: encode, reconstruct, prime and roll out from nothing."""
    randomness = FrameRandomness(settings.seed, settings.samples)
    first = max(0, frame - settings.context + 1)
    images = images_to_tensor(np.asarray(drive.images[first : frame + 1]))
    latents, _ = bundle.vae.encode(images)
    rho_raw = float((bundle.vae.decode(latents) - images).square().mean())
    actions = torch.from_numpy(bundle.action_stats.normalise(drive.actions[first : frame + 1]))
    recurrent = tuple(_maps(mask) for mask in randomness.recurrent_masks())
    state = bundle.dynamics.initial_state(settings.samples)
    for number in range(len(images)):
        masks = Masks(recurrent, _maps(randomness.between_masks(first + number, 1)[0]))
        command = actions[number].expand(settings.samples, -1)
        z, state = bundle.dynamics.step(latents[number].expand(settings.samples, -1, -1, -1), command, state, masks)
    sigma = [_disagreement(z)]
    for between in randomness.between_masks(frame, settings.rollout_steps)[1:]:
        z, state = bundle.dynamics.step(z, command, state, Masks(recurrent, _maps(between)))
        sigma.append(_disagreement(z))
    return rho_raw, np.array([np.mean(sigma), np.max(sigma), np.std(sigma)])


def _maps(mask: np.ndarray) -> Tensor:
    """(S, 128) -> (S, 128, 1, 1)."""
    return torch.from_numpy(mask)[:, :, None, None]


def _disagreement(z: Tensor) -> float:
    return z.flatten(1).std(dim=0, correction=0).mean().item()


@dataclass(frozen=True)
class MemoryDifference:
    """What remembering more than the context changes, in units of the nominal standard deviation."""

    frames: int  # compared frames, all beyond the context
    feature_gap: np.ndarray  # (3,) mean |living - cold| / nominal std of the three rollout features
    delta_gap_mean: float  # mean |living - cold| of the raw delta / its nominal std
    delta_gap_p95: float

    def __str__(self) -> str:
        gaps = ", ".join(f"{gap:.2g}" for gap in self.feature_gap)
        return (
            f"living against {self.frames} cold starts beyond the context: delta differs by {self.delta_gap_mean:.2g} of its "
            f"nominal standard deviation on average, 95 % below {self.delta_gap_p95:.2g} (rollout features {gaps})"
        )


def memory_difference(
    bundle: "Bundle", drives: Sequence[Drive], table: ScoreTable, settings: ScoreSettings, frames: int = 20
) -> MemoryDifference:
    """Compare at up to `frames` frames, evenly picked; `table` holds the living scores of the nominal drives."""
    by_id = {drive.id: drive for drive in drives}
    beyond = np.flatnonzero(table.valid & (table.step >= settings.context) & (table.step % settings.rollout_every == 0))
    beyond = beyond[np.isin(table.sequence[beyond], list(by_id))]
    if not len(beyond):
        raise AiccError(f"the memory beyond the context needs sequences of more than {settings.context} frames; there is none")
    picked = beyond[np.unique(np.linspace(0, len(beyond) - 1, frames).astype(int))]
    living = table.select(picked)
    cold = living.features.copy()
    for row, (name, step) in enumerate(zip(living.sequence, living.step, strict=True)):
        cold[row, :3] = cold_start_scores(bundle, by_id[name], int(step), settings)[1]
    nominal = table.features[table.valid]
    delta = MahalanobisScore.fit(nominal)
    gap = np.abs(delta.distance(living.features) - delta.distance(cold)) / delta.sigma
    spread = np.maximum(nominal[:, :3].std(axis=0), np.finfo(np.float64).tiny)
    return MemoryDifference(
        frames=len(picked),
        feature_gap=np.abs(living.features[:, :3] - cold[:, :3]).mean(axis=0) / spread,
        delta_gap_mean=float(gap.mean()),
        delta_gap_p95=float(np.percentile(gap, 95)),
    )
