"""The picture tells when a lap is round, and a split into blocks keeps laps whole."""

import numpy as np

from donkey_aicc.tubs.drive import make_drive
from donkey_aicc.tubs.laps import find_lap, lap_starts
from donkey_aicc.tubs.split_units import choose_method
from donkey_aicc.tubs.splits import split_sequences

LAP = 120


def driven(laps, seed=0, lap=LAP):
    """A made-up track: a wall of coloured blocks all round, seen in passing, with a grainy camera and no lap like the other."""
    rng = np.random.default_rng(0)
    wall = np.kron(rng.integers(40, 216, (8, 8 * lap // 10)), np.ones((8, 10)))
    rng = np.random.default_rng(seed)
    place = np.concatenate([np.linspace(0, 1, rng.integers(lap - 8, lap + 9), endpoint=False) for _ in range(laps)])
    columns = ((place * wall.shape[1])[:, None] + np.arange(64)).astype(int) % wall.shape[1]
    grey = wall[:, columns].transpose(1, 0, 2) + rng.normal(0, 12, (len(place), 64, 64))
    images = np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[..., None], 3, axis=3)
    return make_drive("tub", f"s{seed}", images, np.zeros((len(place), 2)), times_s=np.arange(len(place)) / 20.0), place


def test_a_lap_is_found_and_cut_where_the_car_is_at_the_start_again():
    drive, place = driven(8)
    lap = find_lap([drive])
    assert lap is not None and abs(lap.frames - LAP) <= 8 and abs(lap.seconds - LAP / 20) < 0.5
    starts = lap_starts(drive, lap.frames)
    assert len(starts) >= 7 and np.abs((place[starts] + 0.5) % 1 - 0.5).max() < 0.08


def test_noise_and_a_short_drive_have_no_lap():
    rng = np.random.default_rng(1)
    noise = make_drive("tub", "s", rng.integers(0, 256, (600, 64, 64, 3), dtype=np.uint8), np.zeros((600, 2)))
    assert find_lap([noise]) is None and find_lap([driven(1)[0]]) is None and find_lap([]) is None


def test_every_side_of_a_split_into_blocks_sees_every_place():
    drive, place = driven(40)
    method = choose_method([drive], guard_s=1.0, context=20)
    assert method.mode == "block" and method.lap
    split = split_sequences([drive], seed=0, method=method)
    for side in (split.calibration, split.test):
        rows = np.concatenate([np.searchsorted(drive.indices, part.indices) for part in side])
        assert np.histogram(place[rows], bins=10, range=(0, 1))[0].min() > 0.5 * len(rows) / 10
