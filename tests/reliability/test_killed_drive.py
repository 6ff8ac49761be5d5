"""kill -9 of a whole drive at random moments: every record written before can be read, and the next drive starts."""

import random
import time

import pytest

from donkey_aicc.car.start_checks import tub_damage
from donkey_aicc.tubs.find_tubs import read_tub
from tests.car_under_test import make_car, start

KILLS = 3
PATIENCE_S = 120.0


def pictures(car):
    return list((car / "data").rglob("*.jpg"))


@pytest.mark.slow
def test_what_was_recorded_before_a_kill_is_kept(tmp_path):
    rng = random.Random(1)
    car = make_car(tmp_path / "car")
    for number in range(1, KILLS + 1):
        before, ends_at = len(pictures(car)), time.monotonic() + PATIENCE_S
        driving = start(car, "--headless", "--fast", "--model", "models/straight")
        while len(pictures(car)) < before + 10 and time.monotonic() < ends_at:
            assert driving.poll() is None, driving.communicate()[1][-800:]
            time.sleep(0.05)
        time.sleep(rng.uniform(0.0, 1.0))
        driving.kill()
        driving.communicate()
        tubs = sorted((car / "data").glob("tub_*"))
        assert len(tubs) == number
        newest = max(tubs, key=lambda tub: (tub / "manifest.json").stat().st_mtime)
        written = len(list((newest / "images").iterdir()))
        assert len(read_tub(newest).records) >= written - 1 >= 9
        assert tub_damage(newest) == "" or "cut short" in tub_damage(newest) or "do not agree" in tub_damage(newest)
