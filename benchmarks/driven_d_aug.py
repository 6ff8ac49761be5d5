"""How safe a car stays that really drives with a D_aug fault: the share that AICC+ presumes, measured in the simulator.

    python benchmarks/driven_d_aug.py [TRACK ...]

D_aug changes pictures of drives that went well. Here the shipped pilot sees the changed pictures and has to steer by them, at
the strengths that the shipped bundle's calibrator was fitted with. Printed is the share of safe frames, over all horizons,
divided by that of nominal drives on the same track. The test protocols have no part in it.
"""

import sys
from collections.abc import Callable

import numpy as np

from donkey_aicc.calibration.calibrator_file import read_calibrator_file
from donkey_aicc.faults.corruptions import corrupt
from donkey_aicc.faults.d_aug import SEVERITIES, VISUAL_FAMILIES
from donkey_aicc.faults.fault import Fault
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import to_model_image
from donkey_aicc.nets.vision_pilot import VisionPilot
from donkey_aicc.resources import models_dir
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.simulator.drivers import VisionDriver
from donkey_aicc.simulator.driving import drive
from donkey_aicc.simulator.tracks import TRACK_NAMES
from donkey_aicc.simulator.world import World

NOMINAL_DRIVES, FAULTY_DRIVES = 6, 2  # faulty ones: of each family and severity
FRAMES = 300  # of a drive, the 100 before the fault included


class CorruptedCamera:
    """One family at one strength, on the picture as the nets see it: D_aug's strengths were set at that size."""

    def __init__(self, family: str, strength: float, entropy: list[int]) -> None:
        self._family, self._strength, self._entropy = family, strength, entropy
        self.reset()

    def run(self, image: np.ndarray) -> np.ndarray:
        return corrupt(to_model_image(image), self._family, self._strength, self._rng)

    def reset(self) -> None:
        self._rng = np.random.default_rng(self._entropy)


def abs_cte_ahead_m(world: World, driver: VisionDriver, seed: int, fault: Callable[[int], Fault] | None) -> np.ndarray:
    """|cte| at every horizon after every frame under the fault (without one: after every frame), all in one row."""
    world.reset("random", seed=seed)
    ticks = list(drive(world, driver, FRAMES, fault))
    cte = np.array([abs(tick.observation.cte_m) for tick in ticks])
    segment = np.array([tick.segment for tick in ticks])
    counts = np.array([fault is None or tick.fault is not None for tick in ticks])
    return np.concatenate([cte[k:][counts[:-k] & (segment[:-k] == segment[k:])] for k in HORIZONS])


def print_track(track: str, strengths: dict[str, list[float]]) -> None:
    world, pilot = World(track), VisionPilot()
    pilot.load(models_dir() / "pilot")
    driver = VisionDriver(pilot)
    nominal = np.concatenate([abs_cte_ahead_m(world, driver, 1000 + seed, None) for seed in range(NOMINAL_DRIVES)])
    tau = np.median(nominal)  # as training chooses it: half of the nominal frames are safe
    rows = []
    for family in VISUAL_FAMILIES:
        row = []
        for severity in SEVERITIES:
            strength = strengths[family][severity - 1]
            found = [
                abs_cte_ahead_m(
                    world,
                    driver,
                    2000 + seed,
                    lambda episode: Fault(family, severity, CorruptedCamera(family, strength, [seed, severity, episode]), None),  # noqa: B023
                )
                for seed in range(FAULTY_DRIVES)
            ]
            row.append(float((np.concatenate(found) <= tau).mean() / (nominal <= tau).mean()))
        rows.append(row)
        print(f"{track:<9} {family:<16}" + "".join(f"{share:6.2f}" for share in row), flush=True)
    mean = np.mean(rows, axis=0)
    print(f"{track:<9} {'mean':<16}" + "".join(f"{share:6.2f}" for share in mean) + f"   all: {mean.mean():.2f}", flush=True)


def main() -> None:
    about = read_calibrator_file(Bundle.load(models_dir() / "reference"))["about"]
    strengths = {family: ladder["strengths"] for family, ladder in about["d_aug_strengths"].items()}
    print(f"{'track':<9} {'family':<16}" + "".join(f"{severity:6d}" for severity in SEVERITIES))
    for track in sys.argv[1:] or TRACK_NAMES:
        print_track(track, strengths)


if __name__ == "__main__":
    main()
