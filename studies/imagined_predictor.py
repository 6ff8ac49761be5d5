"""The `imagined` predictor: roll the world model ahead, decode, and ask the safety CNN about the imagined frame.

Over whole drives: one deterministic living state per lane, no dropout masks, one sample.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics, Masks, State
from donkey_aicc.nets.fast_conv import for_inference
from donkey_aicc.nets.preprocess import frames_in, images_to_tensor
from donkey_aicc.progress import Progress
from donkey_aicc.scoring.batch_scoring import Drive, check_sequences, lane_groups
from donkey_aicc.scoring.settings import ScoreSettings
from studies.imagined_rows import ImaginedTable, concatenate_imagined

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

LANES = 16  # a step of a few samples costs no more than one of a single sample: reading the weights takes most of it


class ImaginedPredictor:
    """Probability of being safe at each horizon, read off decoded future frames.

    The frame imagined for t + k is classified by the CNN's head of the smallest horizon, the label nearest to
    "safe now". The future command is unknown, so the last one is held. A CNN with history sees each imagined frame as the first
    of a sequence.
    """

    def __init__(self, vae: VAE, dynamics: LatentDynamics, safety: SafetyCNN, horizons: Sequence[int]) -> None:
        if list(horizons) != sorted(set(horizons)) or not horizons or horizons[0] < 1:
            raise ConfigError(f"horizons must be positive and increasing, got {list(horizons)}")
        self.vae, self.dynamics, self.safety = vae, dynamics, safety
        self.horizons = tuple(int(k) for k in horizons)

    @torch.no_grad()
    def predict(self, z: Tensor, state: State, action: Tensor, masks: Masks | None = None) -> Tensor:
        """z (B, 64, 4, 4) and normalised action (B, 2) at t, state primed with everything before t -> p (B, K)."""
        imagined = []
        for k in range(1, self.horizons[-1] + 1):
            z, state = self.dynamics.step(z, action, state, masks)
            if k in self.horizons:
                imagined.append(z)
        batch = len(imagined[0])
        frames = self.vae.decode(torch.cat(imagined))
        nearest = torch.sigmoid(self.safety(self._input(frames, action))[:, 0])
        return nearest.view(len(self.horizons), batch).T

    def _input(self, frames: Tensor, action: Tensor) -> Tensor:
        """frames (K B, 3, 64, 64), normalised action (B, 2) -> the CNN's input."""
        count = frames_in(self.safety.inputs)
        if count == 1:
            return frames
        planes = action[:, :1].repeat(len(self.horizons), count)[:, :, None, None].expand(-1, -1, *frames.shape[2:])
        return torch.cat([frames.repeat(1, count, 1, 1), planes], dim=1)


def imagine_drives(
    bundle: "Bundle",
    sequences: Sequence[Drive],
    settings: ScoreSettings,
    *,
    lanes: int = LANES,
    title: str = "imagining",
) -> ImaginedTable:
    """Predictions at the frames where rollouts start and the context is full.

    The rollout reaches the last horizon with the last command held. Sequences keep their order.
    """
    if lanes < 1:
        raise ConfigError(f"lanes must be >= 1, got {lanes}")
    check_sequences(sequences)
    imagination = _Imagination(bundle, settings.context, settings.rollout_every)
    found: dict[int, ImaginedTable] = {}
    with Progress(title, total=sum(len(sequence) for sequence in sequences), unit="frames") as bar:
        for numbers in lane_groups(sequences, lanes):
            tables = imagination.run([sequences[number] for number in numbers], bar.advance)
            found.update(zip(numbers, tables, strict=True))
    return concatenate_imagined([found[number] for number in sorted(found)])


class _Imagination:
    """Runs lanes that start together; each frame is encoded once and the states are never primed again."""

    def __init__(self, bundle: "Bundle", context: int, every: int) -> None:
        self._predictor = ImaginedPredictor(
            for_inference(bundle.vae), bundle.dynamics, for_inference(bundle.safety), bundle.horizons
        )
        self._action_stats, self._device = bundle.action_stats, next(bundle.vae.parameters()).device
        self._context, self._every = context, every

    @torch.inference_mode()
    def run(self, sequences: Sequence[Drive], advance: Callable[[int], None]) -> list[ImaginedTable]:
        """sequences: longest first."""
        predictor = self._predictor
        state = predictor.dynamics.initial_state(len(sequences), self._device)
        found: list[list[tuple[int, np.ndarray]]] = [[] for _ in sequences]
        active = len(sequences)
        for frame in range(len(sequences[0])):
            going = sum(len(sequence) > frame for sequence in sequences)
            if going < active:
                state, active = _first(state, going), going
            z, action = self._inputs(sequences[:active], frame)
            if frame % self._every == 0 and frame + 1 >= self._context:
                for lane, p in enumerate(predictor.predict(z, state, action).cpu().numpy()):
                    found[lane].append((frame, p))
            _, state = predictor.dynamics.step(z, action, state)
            advance(active)
        return [self._table(sequence, rows) for sequence, rows in zip(sequences, found, strict=True)]

    def _inputs(self, sequences: Sequence[Drive], frame: int) -> tuple[Tensor, Tensor]:
        """Latent mean (L, 64, 4, 4) and normalised command (L, 2) of one frame of every lane."""
        images = images_to_tensor(np.stack([sequence.images[frame] for sequence in sequences])).to(self._device)
        actions = np.stack([sequence.actions[frame] for sequence in sequences]).astype(np.float32)
        command = torch.from_numpy(self._action_stats.normalise(actions)).to(self._device)
        return self._predictor.vae.encode(images)[0], command

    def _table(self, sequence: Drive, rows: list[tuple[int, np.ndarray]]) -> ImaginedTable:
        horizons = np.array(self._predictor.horizons, dtype=np.int64)
        return ImaginedTable(
            horizons=horizons,
            sequence=np.full(len(rows), sequence.id),
            step=np.array([frame for frame, _ in rows], dtype=np.int64),
            p=np.array([p for _, p in rows], dtype=np.float32).reshape(len(rows), len(horizons)),
        )


def _first(state: State, lanes: int) -> State:
    """Lanes are ordered by length, so those that go on are the first ones."""
    return tuple((hidden[:lanes], cell[:lanes]) for hidden, cell in state)
