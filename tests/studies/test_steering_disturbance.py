"""The rule of severities: what moves the steering by how much."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.faults.fault import make_fault
from studies.steering_disturbance import NominalDriving, crossings, disturbance


class BrightnessPilot:
    """Steers by the mean brightness, so that every change of it is known."""

    def run(self, image: np.ndarray) -> tuple[float, float]:
        return float(image.mean()) / 255.0, 0.4


IMAGES = np.full((3, 30, 40, 3), 100, np.uint8)
DRIVING = NominalDriving(IMAGES, np.full(3, 100 / 255.0), [np.sin(np.arange(200) / 8.0)])


def test_a_picture_fault_moves_what_the_pilot_wants() -> None:
    moved = disturbance(
        lambda episode: make_fault("dark", 3, episode=episode, overrides={"luminance_factor": 0.2}), DRIVING, BrightnessPilot()
    )
    assert moved == pytest.approx((100 - 50) / 255.0, abs=0.01)  # exposure brings 0.2 back to 0.5


def test_bias_and_latency_move_what_is_sent_and_a_broken_car_moves_no_command() -> None:
    biased = disturbance(lambda episode: make_fault("bias", 4, episode=episode), DRIVING, BrightnessPilot())
    assert biased == pytest.approx((0.18**2 + 0.09**2) ** 0.5, rel=0.1)
    late = [disturbance(lambda episode, s=s: make_fault("latency", s), DRIVING, BrightnessPilot()) for s in (1, 5)]
    assert 0 < late[0] < late[1]
    with pytest.raises(AiccError, match="grip moves no command"):
        disturbance(lambda episode: make_fault("grip", 3), DRIVING, BrightnessPilot())


def test_targets_are_found_on_the_curve_and_out_of_reach_they_are_spread() -> None:
    grid, measured = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.1, 0.2])
    assert crossings(grid, measured, (0.05, 0.15)) == pytest.approx([0.25, 0.75])
    assert crossings(grid, measured, (0.05, 0.5, 0.6)) == pytest.approx([0.25, 0.625, 1.0])
    assert crossings(grid[::-1], measured, (0.1,)) == pytest.approx([0.5])
