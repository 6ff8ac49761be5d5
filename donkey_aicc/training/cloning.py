"""Cloning: the vision pilot learns to send what the recorded driver sent."""

from collections.abc import Sequence as Listing
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.camera_nets import PilotNet
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.trainer import Fitted, Run, Task, fit
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.splits import carve_validation

VALIDATION_BATCH = 256
THROTTLE_WEIGHT = 0.5  # steering keeps the car on the track; throttle only sets the pace


@dataclass(frozen=True)
class PilotRecipe:
    """Brightness factors are drawn log-uniformly: the pilot must go on driving in the dark, only the monitor may notice."""

    epochs: int = 12
    batch: int = 128
    lr: float = 1e-3
    lr_final: float = 1e-5
    weight_decay: float = 1e-4
    clip: float = 1.0
    darkest: float = 0.2
    brightest: float = 1.3


class PilotTask(Task):
    name = "pilot"

    def __init__(
        self, net: PilotNet, train: Listing[Drive], validation: Listing[Drive], recipe: PilotRecipe, device: torch.device
    ) -> None:
        self.net, self.recipe, self.device = net.to(device), recipe, device
        self._train, self._validation = FramePool(train), FramePool(validation)
        self._train_commands, self._validation_commands = (_commands(part).to(device) for part in (train, validation))
        self._log_brightness = float(np.log(recipe.darkest)), float(np.log(recipe.brightest))
        self._weights = torch.tensor([1.0, THROTTLE_WEIGHT], device=device)

    def examples(self) -> int:
        return len(self._train)

    def loss(self, chosen: Tensor, epoch: int, generator: torch.Generator) -> Tensor:
        images = self._train.images(chosen, self.device)
        low, high = self._log_brightness
        factors = torch.exp(low + (high - low) * torch.rand(len(chosen), 1, 1, 1, generator=generator, device=self.device))
        return self._error((images * factors).clamp(0.0, 1.0), self._train_commands[chosen])

    def validate(self) -> dict[str, float]:
        total = 0.0
        for numbers in torch.arange(len(self._validation)).split(VALIDATION_BATCH):
            images = self._validation.images(numbers, self.device)
            total += float(self._error(images, self._validation_commands[numbers])) * len(numbers)
        return {"loss": total / len(self._validation)}

    def _error(self, images: Tensor, commands: Tensor) -> Tensor:
        return ((self.net(images) - commands).square() * self._weights).mean()


def train_pilot(net: PilotNet, train: Listing[Drive], validation: Listing[Drive], recipe: PilotRecipe, run: Run) -> Fitted:
    """Fit the net in place; it ends with the weights of the epoch that did best on the validation sequences."""
    return fit(PilotTask(net, train, validation, recipe, run.device), run)


def _commands(sequences: Listing[Drive]) -> Tensor:
    return torch.from_numpy(np.concatenate([sequence.actions for sequence in sequences]).astype(np.float32))


def split_for_cloning(sequences: Listing[Drive], seed: int) -> tuple[list[Drive], list[Drive]]:
    """(train, validation) by whole tub sessions; with a single session its last tenth serves as validation."""
    usable = [sequence for sequence in sequences if len(sequence) >= 10]
    if not usable:
        raise AiccError("no sequence of at least 10 frames to learn from; look at the tubs with: donkey-aicc check TUB")
    if len({sequence.session_key for sequence in usable}) > 1:
        return carve_validation(usable, seed)[:2]
    ends = [len(sequence) * 9 // 10 for sequence in usable]
    train = [sequence.part(0, end) for sequence, end in zip(usable, ends, strict=True)]
    return train, [sequence.part(end, len(sequence)) for sequence, end in zip(usable, ends, strict=True)]
