"""Learning mode: an alarm without nets. It knows at once when there is nothing to see; its thresholds come with the laps.

Light, contrast, sharpness, colours, motion, repeats, jerk, and whether the picture follows the steering: the same signs, scales
and promises as those of a bundle (`signs.py`, `sign_scales.py`), from the first nominal laps of this very car.
"""

from dataclasses import dataclass, replace

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel
from donkey_aicc.alarm.alarm_policy import Threshold, conformal_threshold
from donkey_aicc.alarm.evidence import EvidenceStream
from donkey_aicc.alarm.pieces import PIECE_S, Piece
from donkey_aicc.alarm.response import fit_response
from donkey_aicc.alarm.sign_scales import SignScales
from donkey_aicc.alarm.signs import FROM_SCORES, SIGNS, SignSettings, SignStream
from donkey_aicc.alarm.table_alarm import persistent
from donkey_aicc.scoring.frame_stats import FRAME_STATS

LAPS = 4  # pieces of a lap's length; each is judged by scales from the other three
CHANCE = 0.1  # wanted, of a watch per piece; four pieces promise 1 in 5
LEAST_SCORE = 1.0  # the edge of what nominal driving reached
# The watch. In the simulator further laps reached 1.2, a blur of four pixels 2.3 to 2.9, a third of the light 7.
DANGER_TIMES = 1.8
NO_HORIZON = (20,)  # of an alarm without a hazard: a second
# Of the mean luminance and of its spread, 0..1. Below, a camera gives its own noise, or one colour.
DARKEST, PLAINEST = 0.05, 0.02
_LIGHT, _CONTRAST, _TURN = (FRAME_STATS.index(name) for name in ("light", "contrast", "turn_px"))


def nothing_to_see(stats: np.ndarray) -> str:
    """Why no picture of this kind can be driven by, whatever is nominal; '' for one that can. stats: (8,) of one frame."""
    light = float(np.exp(stats[_LIGHT]))
    if light < DARKEST:
        return "the picture is too dark to see anything"
    return "the picture is one plain surface" if light * float(np.exp(stats[_CONTRAST])) < PLAINEST else ""


@dataclass(frozen=True)
class Laps:
    """Nominal driving: N frames in driving order, in sequences without a gap."""

    frame_stats: np.ndarray  # (N, 8)
    actions: np.ndarray  # (N, 2)
    sequence: np.ndarray  # (N,)


def learn_alarm(laps: Laps, rate_hz: float) -> AlarmModel:
    """The alarm of a car that drove these laps well. Raises AiccError where they are too few."""
    frames = round(PIECE_S * rate_hz)
    throttle = laps.actions[:, 1]
    cruise = float(np.clip(np.median(throttle[throttle > 0.0]), 0.0, 1.0)) if (throttle > 0.0).any() else 0.0
    turns, drives = laps.frame_stats[:, _TURN], [laps.sequence == name for name in np.unique(laps.sequence)]
    response = fit_response([(turns[own], laps.actions[own]) for own in drives], cruise, rate_hz)
    settings = SignSettings(response, rate_hz)
    signs, pieces = laps_signs(laps, settings), np.arange(len(laps.sequence)) // frames
    pieces = np.minimum(pieces, max(len(signs) // frames - 1, 0))
    scales = SignScales.fit(signs, pieces)
    largest = []
    for piece in np.unique(pieces):
        own = pieces == piece
        others = SignScales.fit(signs[~own], pieces[~own])
        stream = EvidenceStream(others, NO_HORIZON, rate_hz=rate_hz)
        found = np.array([stream.update(row[None]).strangeness[0] for row in signs[own]])
        largest.append(float(persistent(found, rate_hz).max()))
    watch = conformal_threshold(np.maximum(largest, LEAST_SCORE), CHANCE)
    danger = Threshold(DANGER_TIMES * watch.value, watch.promise, watch.pieces, watch.promise)
    settings = replace(settings, cruise=cruise, motion=scales.usual("motion"))
    note = "absent: learning mode has no nets"
    return AlarmModel(scales, settings, None, 1.0, watch, danger, Piece(frames, PIECE_S), cruise, 0.0, note)


def laps_signs(laps: Laps, settings: SignSettings) -> np.ndarray:
    """(N, S) by the very code that runs on the car."""
    stream, slow = SignStream(1, settings), np.full((1, FROM_SCORES), np.nan)
    found, last = np.full((len(laps.sequence), len(SIGNS)), np.nan), None
    for row, sequence in enumerate(laps.sequence):
        if sequence != last:
            stream.reset()
        last = sequence
        found[row] = stream.update(laps.frame_stats[row : row + 1], laps.actions[row : row + 1], slow)[0]
    return found
