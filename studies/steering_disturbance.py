"""The one rule behind all severities: how far a fault moves the steering that reaches the car, on nominal frames.

Root mean square of (steering under the fault - steering without it), in units of full lock, over recorded nominal drives. It
looks at driving only: no predictor, score or label is involved, so it can be run on every track before anything is trained.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from donkey_aicc import channels
from donkey_aicc.errors import AiccError
from donkey_aicc.faults.fault import Fault, make_fault
from donkey_aicc.tubs.find_tubs import find_tubs, read_tub
from donkey_aicc.tubs.tub_contents import numbers

TARGETS = (0.03, 0.06, 0.10, 0.15, 0.22)  # of full lock, for severities 1-5
GRIDS = {
    "dark": ("luminance_factor", (0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.014, 0.01, 0.006)),
    "blur": ("sigma_px", (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0)),
}
VISUAL_GRID = (0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.8, 1.0)
SETTLED_FRAMES = 40  # an exposure has adapted by then


@dataclass(frozen=True, eq=False)
class NominalDriving:
    """What a pilot saw and wanted: images (N, H, W, 3) uint8 of single moments, and whole drives of steering."""

    images: np.ndarray
    wanted: np.ndarray  # (N,) steering of the pilot on these images
    steering: list[np.ndarray]


def read_driving(folder: Path, pilot: Any, frames: int = 120) -> NominalDriving:
    """Frames spread over all tubs below a folder, and the steering of every tub."""
    files, steering = [], []
    for tub in find_tubs([folder]):
        contents = read_tub(tub)
        steering.append(numbers(contents.records, "pilot/angle"))
        files += [contents.image_dir / str(record.values[channels.IMAGE]) for record in contents.records]
    chosen = [files[i] for i in np.unique(np.linspace(0, len(files) - 1, frames).astype(int))]
    images = np.stack([cv2.imread(str(file))[..., ::-1] for file in chosen])
    return NominalDriving(images, np.array([pilot.run(image)[0] for image in images]), steering)


def disturbance(fault: Callable[[int], Fault], driving: NominalDriving, pilot: Any, episodes: int = 2) -> float:
    """Root mean square over all moments and some episodes; fault(episode) makes a fresh fault."""
    squares: list[np.ndarray] = []
    for episode in range(episodes):
        one = fault(episode)
        if one.sensor is not None and one.command is None:
            squares.append(_seen(one, driving, pilot) ** 2)
        elif one.command is not None:
            squares += [_sent(fault(episode), steering) ** 2 for steering in driving.steering]
        else:
            raise AiccError(f"{one.protocol} moves no command: the rule of steering disturbance says nothing about it")
    return float(np.sqrt(np.concatenate(squares).mean()))


def _seen(fault: Fault, driving: NominalDriving, pilot: Any) -> np.ndarray:
    assert fault.sensor is not None
    for _ in range(SETTLED_FRAMES):
        fault.sensor.run(driving.images[0])
    return np.array([pilot.run(fault.sensor.run(image))[0] for image in driving.images]) - driving.wanted


def _sent(fault: Fault, steering: np.ndarray) -> np.ndarray:
    """A late frame makes a pilot want what it would have wanted then, so its steering stands for the frame."""
    assert fault.command is not None
    sent = []
    for wanted in steering:
        seen = np.array([[wanted]]) if fault.sensor is None else fault.sensor.run(np.array([[wanted]]))
        sent.append(fault.command.run(float(seen[0, 0]), 0.4)[0])
    return np.array(sent) - steering


def rows(fault: str, driving: NominalDriving, pilot: Any, targets: Sequence[float] = TARGETS) -> list[float]:
    """The parameter of a picture fault for each severity; what is out of reach is spread over the rest of its scale."""
    name, grid = GRIDS.get(fault, ("strength", VISUAL_GRID))

    def measure(value: float) -> float:
        return disturbance(lambda episode: make_fault(fault, 3, episode=episode, overrides={name: value}), driving, pilot)

    return crossings(np.array(grid), np.array([measure(value) for value in grid]), targets)


def crossings(grid: np.ndarray, measured: np.ndarray, targets: Sequence[float]) -> list[float]:
    """Where a curve over the grid (harmless to harsh) first reaches each target, between two points by a straight line."""
    rising = np.maximum.accumulate(measured)
    found: list[float] = []
    for number, target in enumerate(targets):
        above = np.flatnonzero(rising >= target)
        if not len(above):
            start = found[-1] if found else float(grid[0])
            return found + np.linspace(start, float(grid[-1]), len(targets) - number + 1)[1:].tolist()
        i = int(above[0])
        share = 1.0 if i == 0 or rising[i] == rising[i - 1] else (target - rising[i - 1]) / (rising[i] - rising[i - 1])
        found.append(float(grid[i] if i == 0 else grid[i - 1] + share * (grid[i] - grid[i - 1])))
    return found
