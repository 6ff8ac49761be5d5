"""Direct and history on drives in which only the movement tells what comes."""

import numpy as np
import pytest

from donkey_aicc.training.presets import NetSettings
from donkey_aicc.tubs.drive import make_drive
from studies import predictor_kinds
from studies.predictor_kinds import compare_predictors, describe_kinds

FRAMES = 60


def moving_bar(number: int):
    """A bar wanders to the left or to the right, and a single picture of it does not say which: left is safe."""
    rng = np.random.default_rng(number)
    way = np.repeat(rng.choice([-1, 1], FRAMES // 20), 20)
    at = (20 + np.cumsum(2 * way) + rng.integers(0, 64)) % 60
    images = np.zeros((FRAMES, 64, 64, 3), np.uint8)
    for frame, column in enumerate(at):
        images[frame, :, column : column + 4] = 255
    safe = np.concatenate([way[1:] < 0, [way[-1] < 0]])
    return make_drive(f"t{number}", "s", images, np.zeros((FRAMES, 2)), safe=safe.astype(float))


def test_history_wins_where_movement_decides_and_the_result_is_kept(tmp_path, monkeypatch):
    drives = [moving_bar(number) for number in range(12)]
    other = [moving_bar(number) for number in range(20, 23)]
    results = compare_predictors(drives, tmp_path, NetSettings(epochs=6, batch=16, lr=3e-3), seed=0, another_day=other)
    row = results["horizons"]["1"]
    assert row["history"]["value"] > row["direct"]["value"] + 0.15
    assert row["gain"]["low"] <= row["history"]["value"] - row["direct"]["value"] <= row["gain"]["high"]
    assert sum("k =  1" in line for line in describe_kinds(results)) == 2
    day = results["another_day"]
    assert (day["drives"], day["frames"]) == (3, 3 * FRAMES) and day["horizons"]["1"]["history"]["value"] > 0.6
    assert results["horizons"]["50"]["history"]["value"] is None or results["frames"] > 0
    monkeypatch.setattr(predictor_kinds, "split_sequences", lambda *_, **__: pytest.fail("trained again"))
    assert compare_predictors(drives, tmp_path, NetSettings(epochs=6, batch=16, lr=3e-3)) == results
