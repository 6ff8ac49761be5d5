"""Dynamics: predict cached latents open-loop, with teacher forcing fading out and the predicted stretch growing.

The gate asks whether a rollout is better than repeating the last frame and than always saying the mean frame. A net that is not
has learned nothing that its uncertainty could be read from, so the rollout features of delta are flagged when the gate fails.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.dynamics import LatentDynamics, Masks, draw_between_mask, draw_recurrent_masks
from donkey_aicc.nets.preprocess import ActionStats
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.presets import DynamicsSettings
from donkey_aicc.training.trainer import Task


@dataclass(frozen=True)
class LatentPool:
    """Latents and normalised actions of all frames of some sequences, in the numbering of the frame pool."""

    frames: FramePool
    latents: Tensor  # (N, 64, 4, 4)
    actions: Tensor  # (N, 2)

    @classmethod
    def make(cls, frames: FramePool, latents: Tensor, stats: ActionStats) -> "LatentPool":
        return cls(frames, latents, frames.actions(stats))

    def windows(self, starts: Tensor, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Time first: latents (T, B, 64, 4, 4) and actions (T, B, 2) of the windows at these frames."""
        numbers = starts[None, :] + torch.arange(length)[:, None]
        return self.latents[numbers].to(device), self.actions[numbers].to(device)


def spread_starts(starts: Tensor, most: int) -> Tensor:
    """At most `most` of the starts, evenly spaced."""
    if len(starts) <= most:
        return starts
    return starts[torch.from_numpy(np.linspace(0, len(starts) - 1, most).round().astype(np.int64))]


@torch.no_grad()
def roll_out(net: LatentDynamics, latents: Tensor, actions: Tensor, context: int, hold: bool = False) -> Tensor:
    """Show `context` true latents, then predict the rest of the window open-loop, without dropout.

    latents (T, B, 64, 4, 4), actions (T, B, 2) -> predictions (T - context, B, 64, 4, 4) for k = 1, 2, ...
    The recorded actions are used, or with `hold` the last one of the context.
    """
    state = net.initial_state(latents.shape[1], latents.device)
    with net.shared_weights():
        for step in range(context - 1):
            _, state = net.step(latents[step], actions[step], state)
        z, predictions = latents[context - 1], []
        for step in range(context - 1, len(latents) - 1):
            z, state = net.step(z, actions[context - 1 if hold else step], state)
            predictions.append(z)
    return torch.stack(predictions)


GATE_STEPS = (1, 10, 25, 50)
MOST_WINDOWS = 128


def dynamics_gate(
    net: LatentDynamics, held_out: LatentPool, training_mean: Tensor, context: int, device: torch.device
) -> dict[str, Any]:
    """Latent MSE of the rollout and of both guesses at k = 1, 10, 25, 50 on held-out sequences.

    training_mean: (64, 4, 4). `held_command` is the rollout that scoring does: the last command kept, for information.
    """
    usable = [length for length in map(len, held_out.frames.sequences) if length > GATE_STEPS[-1] + 1]
    if not usable:
        return {"passed": False, "reason": f"no held-out sequence is longer than {GATE_STEPS[-1] + 1} frames"}
    shown = min(context, min(usable) - GATE_STEPS[-1])
    starts = spread_starts(held_out.frames.window_starts(shown + GATE_STEPS[-1]), MOST_WINDOWS)
    latents, actions = held_out.windows(starts, shown + GATE_STEPS[-1], device)
    truth = latents[shown:]
    guesses = {
        "rollout": roll_out(net, latents, actions, shown),
        "copy_last": latents[shown - 1].expand_as(truth),
        "mean": training_mean.to(device).expand_as(truth),
        "held_command": roll_out(net, latents, actions, shown, hold=True),
    }
    errors = {name: _errors(guess, truth) for name, guess in guesses.items()}
    steps = {str(k): {name: values[k - 1] for name, values in errors.items()} for k in GATE_STEPS}
    failed = [k for k, at in steps.items() if not (at["rollout"] < at["copy_last"] and at["rollout"] < at["mean"])]
    reason = f"the rollout is no better than copying or the mean at k = {', '.join(failed)}" if failed else ""
    return {"passed": not failed, "reason": reason, "windows": len(starts), "context": shown, "latent_mse": steps}


def _errors(guess: Tensor, truth: Tensor) -> list[float]:
    return torch.mean((guess - truth).square(), dim=(1, 2, 3, 4)).tolist()


MOST_VALIDATION_WINDOWS = 64
# A latent channel with next to no spread holds noise only; standardising it would blow that noise up.
STD_FLOOR_OF_RMS = 0.3


def set_latent_statistics(net: LatentDynamics, latents: Tensor) -> None:
    """Fill the standardisation buffers from training latents (N, 64, 4, 4)."""
    mean = latents.mean(dim=(0, 2, 3), keepdim=True)
    std = latents.std(dim=(0, 2, 3), keepdim=True)
    floor = STD_FLOOR_OF_RMS * std.square().mean().sqrt().clamp(min=1e-3)
    net.latent_mean.copy_(mean)
    net.latent_std.copy_(torch.maximum(std, floor))


class DynamicsTask(Task):
    name = "dynamics"

    def __init__(
        self, net: LatentDynamics, train: LatentPool, validation: LatentPool, settings: DynamicsSettings, device: torch.device
    ) -> None:
        self.net = self.dynamics = net.to(device)
        self.train, self.validation, self.recipe, self.settings, self.device = train, validation, settings, settings, device
        self.frames_per_example = settings.context + settings.target
        self.starts = train.frames.window_starts(self.frames_per_example)
        if not len(self.starts):
            longest = max((len(sequence) for sequence in train.frames.sequences), default=0)
            raise AiccError(
                f"dynamics: no training sequence has {self.frames_per_example} frames in a row (the longest has {longest}); "
                f"record longer drives, or use --set dynamics.context={longest // 2} --set dynamics.target={longest // 2}"
            )
        set_latent_statistics(net, train.latents)
        self.variance = float(train.latents.var(dim=0).mean().clamp(min=1e-6))

    def examples(self) -> int:
        return len(self.starts)

    def examples_per_epoch(self) -> int:
        return self.settings.windows

    def forcing(self, epoch: int) -> float:
        """Probability that a predicted stretch's step sees the true latent: 1 at first, 0 after `forcing_epochs`."""
        return max(0.0, 1.0 - epoch / max(self.settings.forcing_epochs * self.settings.epochs, 1e-9))

    def stretch(self, epoch: int) -> int:
        """How many frames are predicted in this epoch."""
        first, last = min(self.settings.first_target, self.settings.target), self.settings.target
        grown = min(1.0, epoch / max(self.settings.curriculum_epochs * self.settings.epochs, 1e-9))
        return first + round(grown * (last - first))

    def loss(self, chosen: Tensor, epoch: int, generator: torch.Generator) -> Tensor:
        length = self.settings.context + self.stretch(epoch)
        latents, actions = self.train.windows(self.starts[chosen], length, self.device)
        return self.window_loss(latents, actions, self.forcing(epoch), generator)

    def window_loss(self, latents: Tensor, actions: Tensor, forcing: float, generator: torch.Generator) -> Tensor:
        """Mean squared error over the steps with gradient, in units of the latents' variance. Both dropouts are on."""
        net, context, batch = self.dynamics, self.settings.context, latents.shape[1]
        recurrent = draw_recurrent_masks(batch, generator)
        state = net.initial_state(batch, self.device)
        blind = max(context - 1 - self.settings.context_grad, 0)
        with torch.no_grad():  # far context: fills the state, cheap
            for step in range(blind):
                _, state = net.step(latents[step], actions[step], state, Masks(recurrent, draw_between_mask(batch, generator)))
        losses, z = [], latents[blind]
        with net.shared_weights():
            for step in range(blind, len(latents) - 1):
                if step < context:
                    z = latents[step]
                elif forcing > 0:
                    shown = torch.rand(batch, 1, 1, 1, generator=generator, device=self.device) < forcing
                    z = torch.where(shown, latents[step], z)
                z, state = net.step(z, actions[step], state, Masks(recurrent, draw_between_mask(batch, generator)))
                losses.append((z.float() - latents[step + 1]).square().mean())
        return torch.stack(losses).mean() / self.variance

    def validate(self) -> dict[str, float]:
        """`loss` is the open-loop error over the whole predicted stretch, without dropout."""
        length, context = self.frames_per_example, self.settings.context
        starts = self.validation.frames.window_starts(length)
        if not len(starts):
            raise AiccError(f"dynamics: no validation sequence has {length} frames in a row; record longer drives")
        latents, actions = self.validation.windows(spread_starts(starts, MOST_VALIDATION_WINDOWS), length, self.device)
        errors = (roll_out(self.dynamics, latents, actions, context) - latents[context:]).square().mean(dim=(1, 2, 3, 4))
        return {"loss": float(errors.mean()) / self.variance, "first_step": float(errors[0]) / self.variance}
