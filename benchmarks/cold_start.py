"""The cold-start way: everything anew for one frame from its context alone.

Nobody should drive like this; it is here to measure what the living states are worth and what they change. Up to the
length of the context both are equal. Beyond it the living states remember more than the context.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.engine import Engine, StepMasks, initial_state
from donkey_aicc.nets.preprocess import HIDDEN, LATENT_CHANNELS, POSITIONS, images_to_array
from donkey_aicc.progress import progress
from donkey_aicc.scoring.nominal_distance import MahalanobisScore
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.score_table import FEATURE_NAMES, ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.tubs.drive import Drive

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle


def cold_start_scores(bundle: "Bundle", drive: Drive, frame: int, settings: ScoreSettings) -> tuple[float, np.ndarray]:
    """rho_raw and the three rollout features (3,) of one frame: encode, reconstruct, prime and roll out from nothing."""
    first = max(0, frame - settings.context + 1)
    images = images_to_array(np.asarray(drive.images[first : frame + 1]))
    latents = bundle.encode(images)
    rho_raw = float(np.square(bundle.decode(latents) - images).mean(dtype=np.float64))
    actions = bundle.action_stats.normalise(drive.actions[first : frame + 1])
    sigma = cold_disagreement(bundle, latents, actions, first, settings)
    return rho_raw, np.array([np.mean(sigma), np.max(sigma), np.std(sigma)])


def cold_disagreement(
    engine: Engine, latents: np.ndarray, actions: np.ndarray, first: int, settings: ScoreSettings
) -> list[float]:
    """Disagreement of S dropout samples 1..K steps ahead, primed with latents (n, 64, 4, 4) from frame number `first` on."""
    randomness, samples = FrameRandomness(settings.seed, settings.samples), settings.samples
    recurrent, state = randomness.recurrent_masks(), initial_state(1, samples)
    for number, (seen, action) in enumerate(zip(_samples_of(latents, samples), actions[:, None], strict=True)):
        command, masks = engine.command(action), StepMasks(recurrent, randomness.between_masks(first + number, 1))
        z, state = engine.step(seen, command, state, masks)
    sigma = [_disagreement(z)]
    for between in randomness.between_masks(first + len(latents) - 1, settings.rollout_steps)[1:]:
        z, state = engine.step(z, command, state, StepMasks(recurrent, between[None]))
        sigma.append(_disagreement(z))
    return sigma


def cold_prediction(engine: Engine, latents: np.ndarray, actions: np.ndarray, steps: int) -> np.ndarray:
    """Latent (16, 1, 1, 64) that one sample without dropout expects `steps` ahead, primed with latents (n, 64, 4, 4)."""
    masks, state = StepMasks(np.ones((2, 1, HIDDEN), np.float32), np.ones((1, 1, HIDDEN), np.float32)), initial_state(1, 1)
    for seen, action in zip(_samples_of(latents, 1), actions[:, None], strict=True):
        command = engine.command(action)
        ahead, state = engine.step(seen, command, state, masks)
    for _ in range(steps - 1):
        ahead, state = engine.step(ahead, command, state, masks)
    return ahead


def _samples_of(latents: np.ndarray, samples: int) -> np.ndarray:
    """(n, 64, 4, 4) -> (n, 16, 1, S, 64)."""
    positions_first = latents.reshape(len(latents), LATENT_CHANNELS, POSITIONS).transpose(0, 2, 1)[:, :, None, None]
    return np.repeat(positions_first, samples, axis=3)


def _disagreement(z: np.ndarray) -> float:
    return float(z.std(axis=2).mean())


@dataclass(frozen=True)
class MemoryDifference:
    """What remembering more than the context changes. Gaps are |living - cold| in units of the nominal standard deviation."""

    frames: int  # compared frames, all beyond the context
    feature_spread: np.ndarray  # (3,) nominal standard deviation of the raw rollout features
    feature_gap: np.ndarray  # (3,) mean gap of the rollout features
    delta_spread: float  # nominal standard deviation of the normalised, unclipped delta
    delta_gap_mean: float
    delta_gap_p95: float
    clipped_gap_mean: float  # of delta as calibrators use it, clipped to 0..1: a plain difference, not in deviations

    def __str__(self) -> str:
        features = "; ".join(
            f"{name} {gap:.2g} of {spread:.3g}"
            for name, gap, spread in zip(FEATURE_NAMES, self.feature_gap, self.feature_spread, strict=False)
        )
        return (
            f"living against {self.frames} cold starts beyond the context: delta differs by {self.delta_gap_mean:.2g} of its "
            f"nominal standard deviation ({self.delta_spread:.2f} normalised) on average, 95 % of the frames by less than "
            f"{self.delta_gap_p95:.2g}; clipped to 0..1 it differs by {self.clipped_gap_mean:.3f} on average\n"
            f"mean gap of the rollout features, in units of their nominal standard deviation: {features}"
        )


def memory_difference(
    bundle: "Bundle",
    drives: Sequence[Drive],
    table: ScoreTable,
    settings: ScoreSettings,
    frames: int = 20,
    nominal: ScoreTable | None = None,
) -> MemoryDifference:
    """Compare at up to `frames` frames, evenly picked.

    table: the living scores of the drives. nominal: the scores that say what is nominal, such as those of the calibration
    drives; `table` itself if not given.
    """
    by_id = {drive.id: drive for drive in drives}
    started = table.step - (settings.rollout_frames - 1)  # where the rollout began that is done in this row
    beyond = np.flatnonzero(table.valid & (started >= settings.context) & (started % settings.rollout_every == 0))
    beyond = beyond[np.isin(table.sequence[beyond], list(by_id))]
    if not len(beyond):
        raise AiccError(f"the memory beyond the context needs sequences of more than {settings.context} frames; there is none")
    living = table.select(beyond[np.unique(np.linspace(0, len(beyond) - 1, frames).astype(int))])
    cold = living.features.copy()
    rows = list(zip(living.sequence, living.step - (settings.rollout_frames - 1), strict=True))
    for row, (name, step) in enumerate(progress(rows, "cold starts", unit="frames")):
        cold[row, :3] = cold_start_scores(bundle, by_id[name], int(step), settings)[1]
    reference = table if nominal is None else nominal
    return _compared(living.features, cold, reference.features[reference.valid.astype(bool)])


def _compared(living: np.ndarray, cold: np.ndarray, nominal: np.ndarray) -> MemoryDifference:
    """All (N, 12)."""
    delta = MahalanobisScore.fit(nominal)
    warm, fresh, usual = (delta.normalised(features) for features in (living, cold, nominal))
    gap = np.abs(warm - fresh) / usual.std()
    spread = np.maximum(nominal[:, :3].std(axis=0), np.finfo(np.float64).tiny)
    return MemoryDifference(
        frames=len(living),
        feature_spread=spread,
        feature_gap=np.abs(living[:, :3] - cold[:, :3]).mean(axis=0) / spread,
        delta_spread=float(usual.std()),
        delta_gap_mean=float(gap.mean()),
        delta_gap_p95=float(np.percentile(gap, 95)),
        clipped_gap_mean=float(np.abs(np.clip(warm, 0.0, 1.0) - np.clip(fresh, 0.0, 1.0)).mean()),
    )
