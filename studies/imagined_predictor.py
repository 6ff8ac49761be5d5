"""The `imagined` predictor: roll the world model ahead, decode, and ask the safety CNN about the imagined frame.

Over whole drives: one deterministic living state per lane, no dropout masks, one sample.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.engine import State, StepMasks, initial_state
from donkey_aicc.nets.preprocess import HIDDEN, LATENT_SHAPE, POSITIONS, images_to_array
from donkey_aicc.progress import Progress
from donkey_aicc.scoring.batch_scoring import check_sequences
from donkey_aicc.scoring.parallel import lane_groups
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.tta_views import sigmoid
from donkey_aicc.tubs.drive import Drive
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

    def __init__(self, bundle: "Bundle") -> None:
        self.bundle = bundle

    def predict(self, z: np.ndarray, state: State, action: np.ndarray) -> np.ndarray:
        """z (16, B, 1, 64) and normalised action (B, 2) at t, state primed with everything before t -> p (B, K)."""
        command, imagined = self.bundle.command(action), []
        for k in range(1, self.bundle.horizons[-1] + 1):
            z, state = self.bundle.step(z, command, state, NO_DROPOUT)
            if k in self.bundle.horizons:
                imagined.append(_as_maps(z))
        frames = self.bundle.decode(np.concatenate(imagined))
        nearest = sigmoid(self.bundle.predict(self._input(frames, action))[1][:, 0])
        return nearest.reshape(len(imagined), -1).T

    def _input(self, frames: np.ndarray, action: np.ndarray) -> np.ndarray:
        """frames (K B, 3, 64, 64), normalised action (B, 2) -> the CNN's input."""
        count = len(self.bundle.lags)
        if count == 1:
            return frames
        steering = np.tile(action[:, :1], (len(self.bundle.horizons), count))[:, :, None, None]
        planes = np.broadcast_to(steering, (*steering.shape[:2], *frames.shape[2:]))
        return np.concatenate([np.tile(frames, (1, count, 1, 1)), planes], axis=1)


NO_DROPOUT = StepMasks(np.ones((2, 1, HIDDEN), np.float32), np.ones((1, 1, HIDDEN), np.float32))


def _as_maps(z: np.ndarray) -> np.ndarray:
    """(16, B, 1, 64) -> (B, 64, 4, 4)."""
    return z[:, :, 0].transpose(1, 2, 0).reshape(-1, *LATENT_SHAPE)


def from_maps(latents: np.ndarray) -> np.ndarray:
    """(B, 64, 4, 4) -> (16, B, 1, 64)."""
    return latents.transpose(2, 3, 0, 1).reshape(POSITIONS, len(latents), 1, -1)


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
        for numbers in lane_groups([len(sequence) for sequence in sequences], lanes, 1):
            tables = imagination.run([sequences[number] for number in numbers], bar.advance)
            found.update(zip(numbers, tables, strict=True))
    return concatenate_imagined([found[number] for number in sorted(found)])


class _Imagination:
    """Runs lanes that start together; each frame is encoded once and the states are never primed again."""

    def __init__(self, bundle: "Bundle", context: int, every: int) -> None:
        self._bundle, self._predictor, self._context, self._every = bundle, ImaginedPredictor(bundle), context, every

    def run(self, sequences: Sequence[Drive], advance: Callable[[int], None]) -> list[ImaginedTable]:
        """sequences: longest first."""
        state, active = initial_state(len(sequences), 1), len(sequences)
        found: list[list[tuple[int, np.ndarray]]] = [[] for _ in sequences]
        for frame in range(len(sequences[0])):
            going = sum(len(sequence) > frame for sequence in sequences)
            if going < active:
                state, active = _first(state, going), going
            z, action = self._inputs(sequences[:active], frame)
            if frame % self._every == 0 and frame + 1 >= self._context:
                for lane, p in enumerate(self._predictor.predict(z, state, action)):
                    found[lane].append((frame, p))
            _, state = self._bundle.step(z, self._bundle.command(action), state, NO_DROPOUT)
            advance(active)
        return [self._table(sequence, rows) for sequence, rows in zip(sequences, found, strict=True)]

    def _inputs(self, sequences: Sequence[Drive], frame: int) -> tuple[np.ndarray, np.ndarray]:
        """Latent mean (16, L, 1, 64) and normalised command (L, 2) of one frame of every lane."""
        images = images_to_array(np.stack([sequence.images[frame] for sequence in sequences]))
        actions = np.stack([sequence.actions[frame] for sequence in sequences]).astype(np.float32)
        return from_maps(self._bundle.encode(images)), self._bundle.action_stats.normalise(actions)

    def _table(self, sequence: Drive, rows: list[tuple[int, np.ndarray]]) -> ImaginedTable:
        horizons = np.array(self._bundle.horizons, dtype=np.int64)
        return ImaginedTable(
            horizons=horizons,
            sequence=np.full(len(rows), sequence.id),
            step=np.array([frame for frame, _ in rows], dtype=np.int64),
            p=np.array([p for _, p in rows], dtype=np.float32).reshape(len(rows), len(horizons)),
        )


def _first(state: State, lanes: int) -> State:
    """Lanes are ordered by length, so those that go on are the first ones."""
    first, second, third, fourth = (each[:, :lanes] for each in state)
    return first, second, third, fourth
