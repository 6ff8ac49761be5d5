"""A car without a bundle: what it knows from the first frame, what it learns in four laps, and what it then warns of."""

import time

import cv2
import pytest

from donkey_aicc.alarm.health import MonitorHealth
from donkey_aicc.alarm.learning import LAPS
from donkey_aicc.errors import AiccError
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.learning_monitor import LearningMonitor
from donkey_aicc.parts.ride import Ride
from donkey_aicc.simulator.drivers import nominal_driver
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.world import World

HZ = 20


class Car:
    """A simulated car, its intake and the monitor, tick by tick."""

    def __init__(self, keep_at):
        track = make_track("loop")
        self.ride, self.driver = Ride(World(track)), nominal_driver(track, None, 1)
        self.image = self.ride.begin()
        self.intake = FrameIntake(tick_s=1.0 / HZ)
        self.monitor = LearningMonitor(MonitorHealth(), HZ, keep_at)

    def drive(self, seconds, change=lambda image: image, fault=""):
        """What was said in every tick; change: what becomes of the picture."""
        said = []
        for _ in range(round(seconds * HZ)):
            command = self.driver.run(self.image, self.ride.observation)
            seen, _ = self.intake.run(change(self.image))
            said.append(self.monitor.run(seen, *command, fault, False))
            self.image = self.ride.step(*command)
        return said


def levels(said):
    return {level for _, _, level, _ in said}


def reasons(said):
    return {reason for *_, level, reason in said if level == "danger"}


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """(car, its file) after four laps: over a minute of pictures are drawn for it."""
    file = tmp_path_factory.mktemp("car") / "learned_alarm.json"
    car = Car(file)
    first = car.drive(2)
    assert levels(first) == {"none"} and "learning: 0." in first[-1][0]
    with pytest.raises(AiccError, match="still learns"):
        car.monitor.false_alarm()
    dark = car.drive(1, lambda image: image // 30)
    assert "the picture is too dark to see anything" in reasons(dark)
    frozen = car.image.copy()
    assert any("the camera repeats old pictures" in reason for reason in reasons(car.drive(1.5, lambda image: frozen)))
    assert any("no picture" in reason for reason in reasons(car.drive(1, lambda image: None)))
    car.drive(LAPS * 15 + 2)
    while not file.is_file():
        time.sleep(0.05)
    return car, file


def test_after_four_laps_it_knows_what_is_usual(learned):
    car, file = learned
    assert file.is_file()
    calm = car.drive(15)
    assert calm[-1][0] == "ok" and "danger" not in levels(calm)
    dim = car.drive(2, lambda image: image // 3)
    assert reasons(dim) == {"the picture is much darker than in training"}
    blurred = car.drive(2, lambda image: cv2.GaussianBlur(image, (0, 0), 4))
    assert levels(blurred) != {"none"}
    again = LearningMonitor(MonitorHealth(), HZ, file)
    assert again._alarm is not None, "the next drive begins with what this one has learned"
    file.write_text("{}")
    assert LearningMonitor(MonitorHealth(), HZ, file)._alarm is None


def test_it_never_raises():
    monitor = LearningMonitor(MonitorHealth(), HZ)
    assert monitor.run(None, None, None)[2] == "danger"
    assert monitor.run(object(), "a", float("nan"), 3, object())[2] == "danger"
