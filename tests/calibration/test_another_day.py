"""calibrate --add: what drives of another day buy, said on a half of them that nothing was fitted on."""

from dataclasses import replace

import numpy as np

from donkey_aicc.alarm.alarm_fit import NominalDrives
from donkey_aicc.alarm.pieces import Piece
from donkey_aicc.calibration.another_day import what_it_buys
from tests.alarm.alarm_tables import LIGHT, alarm_table


def test_a_darker_day_is_bought_with_its_first_half():
    nominal = alarm_table(np.random.default_rng(0), 12, drive_spread=0.05)
    others = NominalDrives(piece=Piece(100, 5.0))
    day = alarm_table(np.random.default_rng(1), 4, 200, drive_spread=0.05, prefix="day")
    stats = day.frame_stats.copy()
    stats[:, LIGHT] -= 1.0
    day = replace(day, frame_stats=stats)
    without, with_half = what_it_buys(nominal, day, others)
    assert "without the added drives: danger in 4 of 4 pieces" in without
    assert "with the first half of them: danger in 0 of 4 pieces" in with_half
    (few,) = what_it_buys(nominal, day.of_sequences(day.sequences()[:1]), others)
    assert "too few to say what they buy" in few
