"""The three trainings in order, and what is measured of the finished nets.

Finished weights are rounded to 16 bits, which halves the bundle, where the outputs show that it costs nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.preprocess import NO_HISTORY, ActionStats, input_channels
from donkey_aicc.nets.trained_nets import Nets
from donkey_aicc.training.exact_resume import derived_seed
from donkey_aicc.training.frames import FramePool, encode_all
from donkey_aicc.training.presets import Preset
from donkey_aicc.training.train_camera_nets import (
    Past,
    SafetyTask,
    VaeTask,
    auroc_per_horizon,
    masked_bce,
    pool_labels,
    reconstruction_mse,
    safety_logits,
)
from donkey_aicc.training.train_dynamics import DynamicsTask, LatentPool, dynamics_gate, roll_out, spread_starts
from donkey_aicc.training.trainer import FittedNet, Task, TrainingRun, fit
from donkey_aicc.training.warnings_and_pictures import reconstruction_sheet, rollout_sheet, vae_warnings
from donkey_aicc.tubs.drive import Drive

NIL = 2e-3  # change of the output, RMS over its standard deviation, that is far below every other source of error


@torch.no_grad()
def round_weights(net: nn.Module, outputs: Callable[[], Tensor]) -> dict[str, Any]:
    """Round the net in place and measure what that does to `outputs()`; undone when it does more than NIL."""
    exact = {name: value.clone() for name, value in net.state_dict().items()}
    before = outputs()
    net.load_state_dict({name: v.half().float() if v.is_floating_point() else v for name, v in exact.items()})
    after = outputs()
    spread = before.std().clamp(min=1e-12)
    change = float((after - before).square().mean().sqrt() / spread)
    nil = change <= NIL  # False for NaN: a value beyond the range of float16
    if not nil:
        net.load_state_dict(exact)
    return {"dtype": "float16" if nil else "float32", "output_change": change if change == change else None}


PROBE_FRAMES = 64
PROBE_WINDOW = 30


@dataclass(frozen=True)
class Sides:
    """Whole sequences per purpose; validation is taken out of the training share."""

    train: list[Drive]
    validation: list[Drive]
    calibration: list[Drive]
    test: list[Drive]

    def named(self) -> dict[str, list[Drive]]:
        return {"train": self.train, "validation": self.validation, "calibration": self.calibration, "test": self.test}

    def all(self) -> list[Drive]:
        return [sequence for side in self.named().values() for sequence in side]

    def ids(self) -> dict[str, list[str]]:
        return {name: [sequence.id for sequence in side] for name, side in self.named().items()}

    def frame_counts(self) -> dict[str, int]:
        return {name: sum(len(sequence) for sequence in side) for name, side in self.named().items()}


@dataclass(frozen=True)
class HeldOutMetrics:
    metrics: dict[str, Any]
    gate: dict[str, Any]


class Stages:
    """Call train_vae, train_dynamics and, given labels, train_safety in this order, then measure and draw."""

    def __init__(
        self,
        sides: Sides,
        preset: Preset,
        horizons: tuple[int, ...],
        stats: ActionStats,
        run: TrainingRun,
        start: Nets | None = None,  # whose world model is trained further
    ) -> None:
        self.start = start
        self.preset, self.horizons, self.stats, self.run, self.device = preset, horizons, stats, run, run.device
        self.train, self.validation, self.test = FramePool(sides.train), FramePool(sides.validation), FramePool(sides.test)
        self.safety: SafetyCNN | None = None
        self.precision: dict[str, Any] = {}
        self.best_epochs: dict[str, int] = {}
        self.warnings: list[str] = []

    def train_vae(self) -> None:
        self._begin("vae")
        self.vae = VAE()
        if self.start is not None:
            self.vae.load_state_dict(self.start.vae.state_dict())
        self._fit(VaeTask(self.vae, self.train, self.validation, self.preset.vae, self.device), ("vae",))
        self.vae.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        # rounded before anything is encoded, so that the dynamics net learns the latents that the bundle will give
        probe = self.validation.images(_probe(self.validation), self.device)
        self.precision["vae"] = round_weights(self.vae, lambda: self.vae(probe))

    def train_dynamics(self, context: int) -> None:
        self.latents = self._encoded(self.train, "encoding training frames")
        self.held_out = self._encoded(self.validation, "encoding validation frames")
        self._begin("dynamics")
        self.dynamics = LatentDynamics()
        if self.start is not None:
            self.dynamics.load_state_dict(self.start.dynamics.state_dict())
        task = DynamicsTask(self.dynamics, self.latents, self.held_out, self.preset.dynamics, self.device)
        self._fit(task, ("vae", "dynamics"))
        length = min(PROBE_WINDOW, task.frames_per_example)
        starts = spread_starts(self.held_out.frames.window_starts(length), 8)
        latents, actions = self.held_out.windows(starts, length, self.device)
        self.precision["dynamics"] = round_weights(self.dynamics, lambda: roll_out(self.dynamics, latents, actions, length // 2))

    def train_safety(self, lags: tuple[int, ...] = NO_HISTORY) -> None:
        past = self.past = Past(lags, self.stats)
        self._begin("safety")
        safety = self.safety = SafetyCNN(len(self.horizons), inputs=input_channels(lags))
        task = SafetyTask(safety, self.train, self.validation, self.horizons, self.preset.safety, self.device, past)
        self._fit(task, ("safety",), lags=list(lags))
        safety.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        probe = self.validation.inputs(_probe(self.validation).numpy(), lags, self.stats, self.device)
        self.precision["safety"] = round_weights(safety, lambda: safety(probe))

    def _begin(self, stage: str) -> None:
        """First weights from a seed of the stage's own: the stages before have drawn a number that a resumed run does not."""
        torch.manual_seed(derived_seed(self.run.seed, "weights", stage) % 2**32)

    def measure(self, context: int) -> HeldOutMetrics:
        """Validation figures chose the epochs; the test figures were never looked at before."""
        mean = self.latents.latents.mean(dim=0)
        test = self._encoded(self.test, "encoding test frames")
        mse = reconstruction_mse(self.vae, self.validation, self.device)
        self.warnings += vae_warnings(self.held_out.latents, mse, _mean_picture_error(self.train, self.validation, self.device))
        metrics: dict[str, Any] = {
            "best_epochs": self.best_epochs,
            "validation": {"vae_mse": mse, **self._safety_figures(self.validation)},
            "test": {
                "vae_mse": reconstruction_mse(self.vae, self.test, self.device),
                **self._safety_figures(self.test),
                "dynamics": dynamics_gate(self.dynamics, test, mean, context, self.device),
            },
        }
        return HeldOutMetrics(metrics, dynamics_gate(self.dynamics, self.held_out, mean, context, self.device))

    def draw(self, context: int) -> None:
        """Contact sheets in the work folder."""
        reconstruction_sheet(self.run.work / "reconstruction.png", self.vae, self.validation, self.device)
        shown = min(context, self.preset.dynamics.context)
        rollout_sheet(self.run.work / "rollout.png", self.vae, self.dynamics, self.held_out, shown, self.device)

    def _fit(self, task: Task, sections: Sequence[str], **more: Any) -> FittedNet:
        """A stage may be resumed only with the settings of everything it was made from."""
        settings = {
            f"{section}.{name}": value for section in sections for name, value in asdict(getattr(self.preset, section)).items()
        }
        fitted = fit(task, replace(self.run, made_with={**self.run.made_with, **settings, **more}))
        self.best_epochs[task.name] = fitted.best_epoch
        return fitted

    def _encoded(self, pool: FramePool, title: str) -> LatentPool:
        return LatentPool.make(pool, encode_all(self.vae, pool, self.device, title, self.run.workers.is_main), self.stats)

    def _safety_figures(self, pool: FramePool) -> dict[str, Any]:
        if self.safety is None:
            return {}
        logits, labels = safety_logits(self.safety, pool, self.device, self.past), pool_labels(pool, self.horizons)
        areas = auroc_per_horizon(logits, labels, self.horizons)
        return {"safety_loss": float(masked_bce(logits, labels)), "auroc": {str(k): area for k, area in areas.items()}}


def _probe(pool: FramePool) -> torch.Tensor:
    return torch.linspace(0, len(pool) - 1, min(PROBE_FRAMES, len(pool))).long()


def _mean_picture_error(train: FramePool, validation: FramePool, device: torch.device) -> float:
    """Per-pixel error on validation frames of a decoder that always draws the mean training frame."""
    mean = train.images(_probe(train), device).mean(dim=0)
    return float((validation.images(_probe(validation), device) - mean).square().mean())
