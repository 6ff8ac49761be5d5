"""The dynamics gate: is a rollout better than repeating the last frame and than always saying the mean frame?

A net that is not has learned nothing that its uncertainty could be read from, so the rollout features of delta are
flagged when the gate fails.
"""

from typing import Any

import torch
from torch import Tensor

from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.training.rollouts import LatentPool, roll_out, spread_starts

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
