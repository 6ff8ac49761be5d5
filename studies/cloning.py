"""Cloning: the vision pilot learns to send what the recorded driver sent.

The shipped pilot goes to school: clone the expert, let the pilot drive, ask the expert what it should have done, repeat. Every
frame it learns from goes through a normal tub.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from donkey_aicc import channels
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.camera_nets import PilotNet
from donkey_aicc.progress import progress
from donkey_aicc.simulator.drivers import Expert, ExpertDriver, Temper, TemperedPilot, VisionDriver
from donkey_aicc.simulator.driving import PILOT_MODE, Marshal, drive
from donkey_aicc.simulator.record_drives import TubRecording
from donkey_aicc.simulator.world import Observation, World
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.presets import NetSettings
from donkey_aicc.training.trainer import FittedNet, Task, TrainingRun, fit
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.splits import carve_validation

if TYPE_CHECKING:
    from donkey_aicc.nets.vision_pilot import VisionPilot

VALIDATION_BATCH = 256
THROTTLE_WEIGHT = 0.5  # steering keeps the car on the track; throttle only sets the pace


@dataclass(frozen=True, kw_only=True)
class PilotRecipe(NetSettings):
    """Brightness factors are drawn log-uniformly: the pilot must go on driving in the dark, only the monitor may notice."""

    epochs: int = 12
    batch: int = 128
    lr: float = 1e-3
    lr_final: float = 1e-5
    weight_decay: float = 1e-4
    darkest: float = 0.2
    brightest: float = 1.3


class PilotTask(Task):
    name = "pilot"

    def __init__(
        self, net: PilotNet, train: Sequence[Drive], validation: Sequence[Drive], recipe: PilotRecipe, device: torch.device
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


def train_pilot(
    net: PilotNet, train: Sequence[Drive], validation: Sequence[Drive], recipe: PilotRecipe, run: TrainingRun
) -> FittedNet:
    """Fit the net in place; it ends with the weights of the epoch that did best on the validation sequences."""
    return fit(PilotTask(net, train, validation, recipe, run.device), run)


def _commands(sequences: Sequence[Drive]) -> Tensor:
    return torch.from_numpy(np.concatenate([sequence.actions for sequence in sequences]).astype(np.float32))


def split_for_cloning(sequences: Sequence[Drive], seed: int) -> tuple[list[Drive], list[Drive]]:
    """(train, validation) by whole tub sessions; with a single session its last tenth serves as validation."""
    usable = [sequence for sequence in sequences if len(sequence) >= 10]
    if not usable:
        raise AiccError("no sequence of at least 10 frames to learn from; look at the tubs with: donkey-aicc check TUB")
    if len({sequence.session_key for sequence in usable}) > 1:
        return carve_validation(usable, seed)[:2]
    ends = [len(sequence) * 9 // 10 for sequence in usable]
    train = [sequence.part(0, end) for sequence, end in zip(usable, ends, strict=True)]
    return train, [sequence.part(end, len(sequence)) for sequence, end in zip(usable, ends, strict=True)]


QUICK_RETURN = Marshal(departed_m=0.6, wait_frames=1)
LABEL_KEYS = {channels.IMAGE: "image_array", "user/angle": "float", "user/throttle": "float", channels.MODE: "str"}


class MixedDriver:
    """The pilot drives, the expert says what it would have done; the expert takes over for random spells (DAgger)."""

    def __init__(self, pilot, expert: Expert, expert_share: float, rng: np.random.Generator, spell_ticks: int = 20) -> None:
        self._vision, self._expert = VisionDriver(pilot), ExpertDriver(expert)
        self._share, self._rng, self._spell_ticks = expert_share, rng, spell_ticks
        self._tick, self._expert_drives = 0, True

    @property
    def label(self) -> tuple[float, float]:
        return self._expert.label

    def run(self, image: np.ndarray, observation: Observation) -> tuple[float, float]:
        if self._tick % self._spell_ticks == 0:
            self._expert_drives = bool(self._rng.random() < self._share)
        self._tick += 1
        by_expert = self._expert.run(image, observation)
        by_pilot = self._vision.run(image, observation)
        return by_expert if self._expert_drives else by_pilot


@dataclass(frozen=True)
class Lesson:
    """One tub of labelled frames. expert_share 1 is pure demonstration, 0 leaves all the driving to the pilot."""

    path: Path
    track: str
    seed: int
    frames: int
    expert_share: float
    noise_std: float


def plan_lessons(
    out: Path, tracks: Sequence[str], round_number: int, drives: int, frames: int, expert_share: float, seed: int
) -> list[Lesson]:
    """Drives on every track; every other one with steering bursts, so that recoveries are seen too."""
    noise = 0.35 if round_number == 0 else 0.2
    lessons = []
    for t, track in enumerate(tracks):
        for i in range(drives):
            own_seed = int(np.random.SeedSequence([seed, 77, round_number, t, i]).generate_state(1)[0])
            name = f"lesson_{round_number}_{track.replace(':', '_')}_{i}"
            lessons.append(Lesson(out / name, track, own_seed, frames, expert_share, noise if i % 2 else 0.0))
    return lessons


def give_lessons(lessons: Sequence[Lesson], pilot: "VisionPilot | None") -> int:
    """Record the lessons that are not there yet; returns how often the car had to be put back."""
    departures = 0
    for lesson in progress([lesson for lesson in lessons if not lesson.path.exists()], "lessons", unit="drive"):
        departures += _give(lesson, pilot)
    return departures


def _give(lesson: Lesson, pilot: "VisionPilot | None") -> int:
    world = World(lesson.track, seed=lesson.seed)
    rng = np.random.default_rng([lesson.seed, 13])
    world.reset("random", offset_m=float(rng.uniform(-0.2, 0.2)), heading_offset=float(rng.uniform(-0.3, 0.3)))
    expert = Expert(world.track, noise_std=lesson.noise_std, rng=rng)
    driver: ExpertDriver | MixedDriver = ExpertDriver(expert)
    if pilot is not None:  # with the temper of a nominal drive, or it would not learn to come back from where that leads
        tempered = TemperedPilot(pilot, Temper.draw(lesson.seed), lesson.seed)
        driver = MixedDriver(tempered, expert, lesson.expert_share, rng)
    unfinished = lesson.path.with_name(f".{lesson.path.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    segment = 0
    with TubRecording(unfinished, keys=LABEL_KEYS) as tub:
        for tick in drive(world, driver, lesson.frames, marshal=QUICK_RETURN):
            if tick.segment != segment:
                expert.reset()
                segment = tick.segment
            if tick.mode == PILOT_MODE:
                angle, throttle = driver.label  # what the teacher would have done, as if it had driven
                tub.write_values(tick, {"user/angle": angle, "user/throttle": throttle, channels.MODE: "user"})
    unfinished.rename(lesson.path)
    return segment


@dataclass(frozen=True)
class School:
    """Round 0 is demonstration only; then the expert lets go, round by round."""

    tracks: tuple[str, ...]
    drives: int = 2
    frames: int = 700
    shares: tuple[float, ...] = (1.0, 0.4, 0.2, 0.1, 0.0)  # of the driving that the expert does, per round
    epochs: tuple[int, ...] = (8, 5, 5, 5, 12)
    seed: int = 0
    start: Path | None = None  # a pilot that goes on learning instead of a new one

    @classmethod
    def refresher(cls, start: Path, tracks: tuple[str, ...], drives: int, frames: int, seed: int) -> "School":
        """Two rounds for a pilot that drives already, in a world that has changed."""
        return cls(tracks, drives, frames, (0.2, 0.0), (4, 8), seed, start)


def teach(school: School, work: Path, device: str = "cpu") -> "tuple[PilotNet, list[dict[str, float]]]":
    """Give all rounds of lessons and train after each on everything recorded so far. Tubs and checkpoints stay in `work`.

    Running it again on the same folder goes on after the last finished step.
    """
    import torch

    from donkey_aicc.nets.camera_nets import PilotNet
    from donkey_aicc.nets.vision_pilot import VisionPilot, load_pilot
    from donkey_aicc.tubs.load import load_drives

    torch.manual_seed(school.seed)
    net, summary = PilotNet() if school.start is None else load_pilot(school.start), []
    tubs: list[Path] = []
    for number, (share, epochs) in enumerate(zip(school.shares, school.epochs, strict=True)):
        lessons = plan_lessons(work, school.tracks, number, school.drives, school.frames, share, school.seed)
        departures = give_lessons(lessons, VisionPilot.of(net) if number or school.start else None)
        tubs += [lesson.path for lesson in lessons]
        sequences = load_drives(tubs, tau=None, min_length=20, must_be_usable=False).drives
        train, validation = split_for_cloning(sequences, school.seed)
        run = TrainingRun(work=work / f"round_{number}", seed=school.seed, device=torch.device(device), resume=True)
        fitted = train_pilot(net, train, validation, PilotRecipe(epochs=epochs), run)
        loss = fitted.history[fitted.best_epoch - 1]["loss"]
        print(f"round {number}: {sum(map(len, sequences))} frames, {departures} departures, validation loss {loss:.5f}")
        summary.append({"departures": float(departures), "validation_loss": loss})
    return net, summary
