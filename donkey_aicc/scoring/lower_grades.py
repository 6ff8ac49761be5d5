"""Score tables at a lower grade, out of those at a higher one: nothing has to be scored again."""

from dataclasses import replace

import numpy as np

from donkey_aicc.errors import one_of
from donkey_aicc.scoring.score_table import FEATURE_NAMES, ScoreTable
from donkey_aicc.scoring.settings import FULL, GRADES, HALF, LIGHT

_ROLLOUT = 3  # features of the look ahead, the first of FEATURE_NAMES


def table_at(table: ScoreTable, grade: str) -> ScoreTable:
    """table: scored at grade full. Grade light has constants for the features of the look ahead, as on the car."""
    one_of("grade", grade, GRADES)
    if grade == FULL:
        return table
    assert table.features.shape[1] == len(FEATURE_NAMES)
    ahead = table.half_rollout if grade == HALF else np.zeros((len(table), _ROLLOUT))
    features = np.concatenate([ahead, table.features[:, _ROLLOUT:]], axis=1)
    return replace(table, features=features, valid=table.valid.astype(bool) & np.isfinite(ahead).all(axis=1))


def grades_of(table: ScoreTable, grade: str = FULL) -> tuple[str, ...]:
    """The grades that can be fitted on a table that was scored at `grade`; a table without half rollouts lacks grade half."""
    if grade != FULL:
        return (grade,)
    return GRADES if np.isfinite(table.half_rollout).any() else (FULL, LIGHT)
