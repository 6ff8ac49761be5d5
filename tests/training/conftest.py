"""Small synthetic drives: a white stripe wanders left and right with the steering."""

import numpy as np
import pytest
import torch

from donkey_aicc.tubs.drive import Drive, make_drive


def drive(number: int, frames: int = 24) -> Drive:
    rng = np.random.default_rng(number)
    steering = 0.6 * np.sin(np.arange(frames) / 6 + number) + 0.1 * rng.standard_normal(frames)
    place = np.clip(np.cumsum(steering), -12, 12)
    images = np.full((frames, 64, 64, 3), 70, dtype=np.uint8)
    for image, column in zip(images, (32 + place).astype(int), strict=True):
        image[20:, column - 3 : column + 3] = 240
        image[:20] = (90, 130, 200)
    actions = np.stack([steering.clip(-1, 1), np.full(frames, 0.3)], axis=1)
    safe = (np.abs(place) <= 5).astype(np.float32)
    return make_drive(f"tub_{number}", "24-01-01_0", images, actions, cte=place / 10, safe=safe)


@pytest.fixture(scope="session")
def drives() -> list[Drive]:
    return [drive(number) for number in range(8)]


@pytest.fixture(autouse=True)
def one_thread():
    """Equal weights need the same order of additions, and tests share the machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def drive_with():
    """drive_with(number, frames) makes one more drive."""
    return drive
