"""The one training loop: AdamW, cosine, clipping, checkpoints, the best epoch by validation.

A `Task` says what is particular to a net. The loop is resumable to the very same result: the order of the data and
all other randomness follow from (seed, stage, epoch, step).
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from donkey_aicc.errors import AiccError
from donkey_aicc.progress import Progress
from donkey_aicc.training.distributed import Workers
from donkey_aicc.training.exact_resume import (
    Position,
    derived_seed,
    generator_for,
    load_checkpoint,
    save_checkpoint,
    stop_requested,
)
from donkey_aicc.training.presets import NetSettings

WARMUP_STEPS = 20  # of a linearly rising learning rate: the first Adam steps are the wildest


class Task(ABC):
    """One net to train: its data, its loss and its validation."""

    name: str
    net: nn.Module
    recipe: NetSettings
    frames_per_example: int = 1

    @abstractmethod
    def examples(self) -> int:
        """How many training examples there are to choose from."""

    def examples_per_epoch(self) -> int:
        return self.examples()

    @abstractmethod
    def loss(self, chosen: Tensor, epoch: int, generator: torch.Generator) -> Tensor:
        """Mean loss of the chosen examples (numbers below `examples()`)."""

    @abstractmethod
    def validate(self) -> dict[str, float]:
        """Measures on the validation sequences; `loss` decides which epoch is best."""


@dataclass(frozen=True)
class TrainingRun:
    """Where and how a training runs; shared by all stages."""

    work: Path  # checkpoints and curves
    seed: int
    device: torch.device
    workers: Workers = Workers()
    resume: bool = False
    made_with: dict[str, Any] = field(default_factory=dict)
    after_epoch: Callable[[str, list[dict[str, float]]], None] = lambda stage, history: None

    def checkpoint(self, stage: str) -> Path:
        return self.work / f"{stage}.checkpoint.safetensors"


@dataclass(frozen=True)
class FittedNet:
    """One row per epoch in `history`; the net holds the weights of `best_epoch` (counted from 1)."""

    history: list[dict[str, float]]
    best_epoch: int


def fit(task: Task, run: TrainingRun) -> FittedNet:
    """Train the task's net in place; on return it holds the weights of the best epoch, in evaluation mode."""
    loop = _Loop(task, run)
    loop.start()
    for epoch in range(loop.position.epoch, task.recipe.epochs):
        loop.run_epoch(epoch)
    return loop.finish()


class _Loop:
    def __init__(self, task: Task, run: TrainingRun) -> None:
        if not task.examples():
            raise AiccError(f"{task.name}: there is not one training example; check the tubs with: donkey-aicc check")
        self.task, self.run = task, run
        recipe = task.recipe
        self.optimiser = torch.optim.AdamW(task.net.parameters(), lr=recipe.lr, weight_decay=recipe.weight_decay)
        self.per_epoch = min(task.examples_per_epoch(), task.examples())
        # a last batch of one example would break batch normalisation; a smaller one is left out, another epoch sees it
        self.steps = max(self.per_epoch // recipe.batch, 1)
        self.position = Position(made_with=run.made_with)
        self.best: dict[str, Tensor] = _copied(task.net)

    def start(self) -> None:
        path = self.run.checkpoint(self.task.name)
        if self.run.resume and path.exists():
            self.best, self.position = load_checkpoint(path, self.task.net, self.optimiser, self.run.made_with)
        self.run.workers.copy_from_main(self.task.net)

    def run_epoch(self, epoch: int) -> None:
        task, started, before = self.task, time.monotonic(), self.position.seconds
        order = torch.randperm(task.examples(), generator=generator_for(self.run.seed, task.name, "order", epoch))
        task.net.train()
        title = f"{task.name} epoch {epoch + 1}/{task.recipe.epochs}"
        total = self.steps * task.recipe.batch * task.frames_per_example
        with Progress(title, total, "frames") if self.run.workers.is_main else nullcontext() as bar:
            for step in range(self.position.step, self.steps):
                chosen = order[: self.per_epoch][step * task.recipe.batch : (step + 1) * task.recipe.batch]
                loss = self.take_step(chosen, epoch, step)
                self.position.loss_sum += loss
                self.position.step = step + 1
                self.position.seconds = before + time.monotonic() - started
                if bar is not None:
                    bar.advance(len(chosen) * task.frames_per_example, loss=self.position.loss_sum / (step + 1))
                if self.run.workers.any(stop_requested()):
                    self.save()
                    raise KeyboardInterrupt
        self.end_epoch(epoch, before + time.monotonic() - started)

    def take_step(self, chosen: Tensor, epoch: int, step: int) -> float:
        task, run = self.task, self.run
        self.set_lr(epoch * self.steps + step)
        mine = run.workers.share(chosen)
        seed = derived_seed(run.seed, task.name, "step", epoch, step, run.workers.rank)
        torch.manual_seed(seed)  # for dropout layers inside the nets
        self.optimiser.zero_grad(set_to_none=True)
        value = 0.0
        if len(mine):
            with _mixed_precision(run.device):
                loss = task.loss(mine, epoch, torch.Generator(run.device).manual_seed(seed)) * (len(mine) / len(chosen))
            loss.backward()
            value = float(loss.detach()) * len(chosen) / len(mine)
        run.workers.sum_gradients(task.net)
        torch.nn.utils.clip_grad_norm_(task.net.parameters(), task.recipe.clip)
        self.optimiser.step()
        if run.workers.any(not math.isfinite(value)):
            raise AiccError(
                f"{task.name}: the loss became {value} in epoch {epoch + 1}; lower --set {task.name}.lr and start again"
            )
        return value

    def set_lr(self, step: int) -> None:
        recipe, total = self.task.recipe, self.steps * self.task.recipe.epochs
        lr = recipe.lr_final + (recipe.lr - recipe.lr_final) * 0.5 * (1 + math.cos(math.pi * step / total))
        warm = min(1.0, (step + 1) / min(WARMUP_STEPS, max(total // 10, 1)))
        for group in self.optimiser.param_groups:
            group["lr"] = lr * warm

    def end_epoch(self, epoch: int, seconds: float) -> None:
        task, position = self.task, self.position
        self.run.workers.average_buffers(task.net)
        if self.run.workers.is_main:
            task.net.eval()
            with torch.no_grad():
                measures = task.validate()
            row = {"epoch": epoch + 1, "train_loss": position.loss_sum / self.steps, **measures, "seconds": round(seconds, 2)}
            position.history.append(row)
            if math.isfinite(measures["loss"]) and (position.best_loss is None or measures["loss"] < position.best_loss):
                position.best_epoch, position.best_loss = epoch + 1, measures["loss"]
                self.best = _copied(task.net)
        position.epoch, position.step, position.loss_sum, position.seconds = epoch + 1, 0, 0.0, 0.0
        self.save()
        if self.run.workers.is_main:
            self.run.after_epoch(task.name, position.history)
        self.run.workers.wait()

    def save(self) -> None:
        if self.run.workers.is_main:
            save_checkpoint(self.run.checkpoint(self.task.name), self.task.net, self.optimiser, self.best, self.position)

    def finish(self) -> FittedNet:
        if self.run.workers.is_main:
            self.task.net.load_state_dict(self.best)
        self.run.workers.copy_from_main(self.task.net)
        self.task.net.eval()
        return FittedNet(self.position.history, self.position.best_epoch)


def _copied(net: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in net.state_dict().items()}


def _mixed_precision(device: torch.device) -> torch.autocast:
    """bfloat16 on GPUs that have it; on CPUs it is slower than float32."""
    wanted = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=wanted)
