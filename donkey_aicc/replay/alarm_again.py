"""What a bundle's alarm would have said during a recorded drive, by the very code that runs on the car."""

from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.calibration.alarm import AlarmStream
from donkey_aicc.calibration.alarm_signs import table_signs
from donkey_aicc.scoring.score_table import ScoreTable

if TYPE_CHECKING:
    from donkey_aicc.calibration.base import Calibrator


def alarm_again(table: ScoreTable, calibrator: "Calibrator") -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Number columns (hazard) and word columns (alarm, reason) of the table's rows; empty for a bundle without an alarm."""
    if calibrator.alarm is None or calibrator.statistics is None:
        return {}, {}
    horizons = tuple(int(step) for step in table.horizons)
    signs = table_signs(table, calibrator.statistics, calibrator.alarm.signs)
    spread = calibrator.statistics.scores(table).get("tta_spread")
    stream = AlarmStream(calibrator.alarm, horizons)
    hazard = np.full((len(table), len(horizons)), np.nan)
    alarm, reason = np.full(len(table), "", dtype="U8"), [""] * len(table)
    for name in table.sequences():
        stream.reset()
        for row in np.flatnonzero(table.sequence == name):
            known = np.isfinite(table.p_tta[row]).all()
            p, doubt = (table.p_tta[row], None if spread is None else float(spread[row])) if known else (None, None)
            reading = stream.step(signs[row], p, doubt)
            alarm[row], reason[row] = reading.level, reading.reason
            if len(reading.hazard) == len(horizons):
                hazard[row] = reading.hazard
    return {"hazard": hazard}, {"alarm": alarm, "reason": np.array(reason)}
