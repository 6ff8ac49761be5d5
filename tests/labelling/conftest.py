"""A drive over a grey road with green beside it, and a person who knows which is which."""

import numpy as np
import pytest

from donkey_aicc.labelling.footage import Footage, general_features
from donkey_aicc.labelling.session import LabelSession
from donkey_aicc.tubs.drive import make_drive

FRAMES, RATE_HZ = 600, 20.0
ROAD, GRASS = (90, 90, 95), (60, 150, 70)


def off_road(drive: int) -> np.ndarray:
    """(N,) bool: every few seconds the car leaves the road for a while."""
    return np.sin(np.arange(FRAMES) / 25.0 + drive) < -0.3


def picture(off: bool, rng: np.random.Generator) -> np.ndarray:
    """(64, 64, 3) uint8: sky, floor, and noise."""
    image = np.full((64, 64, 3), (180, 200, 220), dtype=np.float64)
    image[24:], image[24:40, :20] = GRASS if off else ROAD, GRASS
    return np.clip(image + rng.normal(0, 6, image.shape) + rng.normal(0, 8), 0, 255).astype(np.uint8)


def drives_of(count: int = 3):
    rng = np.random.default_rng(0)
    return [
        make_drive(
            "tub",
            str(number),
            np.stack([picture(off, rng) for off in off_road(number)]),
            np.zeros((FRAMES, 2)),
            indices=np.arange(FRAMES) + 1000 * number,
            times_s=1_700_000_000 + 100.0 * number + np.arange(FRAMES) / RATE_HZ,
        )
        for number in range(count)
    ]


@pytest.fixture(scope="session")
def footage(tmp_path_factory) -> Footage:
    return Footage(drives_of(), {"tub": tmp_path_factory.mktemp("tubs") / "tub"})


@pytest.fixture(scope="session")
def features(footage):
    return general_features(footage.drives)


@pytest.fixture(scope="session")
def truth() -> np.ndarray:
    """(N,) class numbers: 0 unsafe, 1 safe."""
    return (~np.concatenate([off_road(number) for number in range(3)])).astype(int)


@pytest.fixture
def make_session(footage, features, tmp_path):
    """A labelling at tmp_path / labels.csv; called again it goes on where the last one stopped."""
    return lambda **options: LabelSession(footage, features, tmp_path / "labels.csv", **options)
