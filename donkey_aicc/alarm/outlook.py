"""The number for the driver and the state in words: what the page, the log, the tub, the terminal and the replay say.

P(stays in its lane within the next k) = 1 - hazard, never above what the alarm's level allows. Where there is no hazard but the
labels mean "on the road", it is the least confidence up to k. Where there is neither, there is no number, only the alarm.
"""

import math
from collections.abc import Sequence

import numpy as np

from donkey_aicc.alarm.alarm_policy import DANGER, NONE, WATCH
from donkey_aicc.alarm.governor_policy import SLOWED, STOPPED, WAITING, WOULD_SLOW, WOULD_STOP
from donkey_aicc.alarm.timing import CALM_S

MOST = {NONE: 1.0, WATCH: 0.9, DANGER: 0.5}  # what each level still allows

WELL, CAREFUL, BAD, BLIND = STATES = ("All well", "Careful", "Danger", "Monitor blind")  # in order of badness
LEVELS_OF = {WELL: NONE, CAREFUL: WATCH, BAD: DANGER, BLIND: DANGER}  # what a told state allows the number
_SEES_NOT = ("blind", "waiting")  # health that has no picture to judge

LET_GO = '"Let it go on"'
ADVICE = {
    STOPPED: f"The governor holds the car. Look after it; {LET_GO} works once the reason is gone.",
    SLOWED: "The governor slows the car.",
    WOULD_STOP: "The governor would stop the car now; in the mode advise it only says so.",
    WOULD_SLOW: "The governor would slow the car now; in the mode advise it only says so.",
    WAITING: 'The governor holds the car until the monitor sees. "I know: advise for this drive" lets it go without.',
}
HELD = (STOPPED, WAITING)


def outlook(levels: np.ndarray, hazard: np.ndarray | None, confidence: np.ndarray | None) -> np.ndarray:
    """(N,) levels; (N, K) hazard or confidence that mean "on the road"; -> (N, K) P(stays within k), NaN where unknown."""
    if hazard is not None:
        stays = 1.0 - np.asarray(hazard, dtype=np.float64)
    elif confidence is not None:
        stays = np.asarray(confidence, dtype=np.float64)
    else:
        raise ValueError("an outlook needs a hazard or a confidence")
    most = np.array([MOST.get(level, MOST[WATCH]) for level in levels])  # an unknown level counts as watch
    known = (stays >= 0.0) & (stays <= 1.0)
    return np.minimum.accumulate(np.where(known, np.minimum(stays, most[:, None]), np.nan), axis=1)


def outlook_now(level: str, health: str, hazard: Sequence[float] | None, confidence: Sequence[float] | None) -> list[float]:
    """Of one tick, for the car; empty while the monitor sees nothing, and where neither is known."""
    if health.startswith(_SEES_NOT) or not (hazard or confidence):
        return []
    row = outlook(np.array([level]), np.array([hazard]) if hazard else None, np.array([confidence]) if confidence else None)[0]
    return [float(value) for value in row] if np.isfinite(row).all() else []


def state_of(level: str, health: str = "", action: str = "") -> str:
    """One of STATES; '' where there is no alarm. A held car is never "All well"."""
    if health.startswith("blind"):
        return BLIND
    if level == DANGER:
        return BAD
    if level == WATCH or health.startswith(("waiting", "doubtful")) or action in HELD:
        return CAREFUL
    return WELL if level == NONE else ""


class SteadyState:
    """The state as it is told: worse at once, better only after CALM_S without anything as bad."""

    def __init__(self) -> None:
        self._told, self._since_s = "", -math.inf

    def step(self, state: str, now_s: float) -> str:
        better = state in STATES and self._told in STATES and STATES.index(state) < STATES.index(self._told)
        if not better or now_s - self._since_s >= CALM_S:
            self._told, self._since_s = state, now_s
        return self._told


def advice_of(action: str, level: str = NONE) -> str:
    """What a held or slowed car waits for, and what one can do; '' if nothing holds it."""
    if action == STOPPED and level == NONE:
        return f"The governor holds the car, and the reason is gone: press {LET_GO}."
    return ADVICE.get(action, "")


def missing_dial(has_hazard: bool, on_the_road: bool, has_predictor: bool) -> str:
    """Why there is no number; '' if there is one."""
    if has_hazard or on_the_road:
        return ""
    if not has_predictor:
        return "no number: the bundle was trained without labels; the alarm alone speaks. donkey-aicc label makes labels"
    return "no number: the bundle knows no departures; the alarm alone speaks. donkey-aicc calibrate --driven TUBS adds them"
