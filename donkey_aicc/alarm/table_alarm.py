"""What the alarm makes of a whole table, by the very code that runs on the car."""

from dataclasses import dataclass

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel, Checked
from donkey_aicc.alarm.evidence import Evidence, EvidenceStream
from donkey_aicc.alarm.pieces import Piece, independent_pieces, piece_numbers
from donkey_aicc.alarm.sign_scales import SignScales
from donkey_aicc.alarm.signs import SignSettings, lanes_of, table_signs
from donkey_aicc.alarm.timing import HELD_S, WINDOW_S, frames_in
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.tubs.labels import departure_within


@dataclass(frozen=True)
class TableEvidence:
    """Evidence of the N rows of a table, and the labels of the hazard."""

    evidence: Evidence
    departs: np.ndarray  # (N, K) 1 a departure within k frames, 0 none, NaN unknown


def table_evidence(table: ScoreTable, statistics: ScoreStatistics, settings: SignSettings, scales: SignScales) -> TableEvidence:
    """By the very code that runs on the car."""
    horizons = tuple(int(step) for step in table.horizons)
    signs = table_signs(table, statistics, settings)
    spread = statistics.scores(table).get("tta_spread") if np.isfinite(table.tta_spread).all() else None
    rows, going = lanes_of(table)
    stream = EvidenceStream(scales, horizons, len(rows), settings.rate_hz)
    parts: list[np.ndarray] | None = None
    for column, alive in zip(rows.T, going.T, strict=True):
        found = stream.update(signs[column], table.p_restored[column], None if spread is None else spread[column])
        values = [found.deviations, found.strangeness, found.features]
        parts = parts or [np.zeros((len(table), *each.shape[1:])) for each in values]
        for whole, each in zip(parts, values, strict=True):
            whole[column[alive]] = each[alive]
    assert parts is not None
    departs = np.full((len(table), len(horizons)), np.nan, dtype=np.float32)
    for name in table.sequences():
        own = table.sequence == name
        departs[own] = departure_within(table.departed[own], horizons)
    return TableEvidence(Evidence(*parts), departs)


def persistent(score: np.ndarray, rate_hz: float = 20.0) -> np.ndarray:
    """(N,) of one drive -> (N,): the least of the last HELD_S, which is what a threshold is compared with."""
    frames = frames_in(HELD_S, rate_hz)
    held = np.zeros_like(score)
    for row in range(frames - 1, len(score)):
        held[row] = score[row - frames + 1 : row + 1].min()
    return held


def piece_maxima(table: ScoreTable, score: np.ndarray, departs: np.ndarray, piece: Piece) -> np.ndarray:
    """(pieces,) the largest persistent score of each nominal piece; what leads to a real departure is no false alarm."""
    near = (departs == 1.0).any(axis=1) | (table.departed == 1.0)
    held, remembered = np.zeros(len(table)), 2 * frames_in(WINDOW_S, piece.rate_hz)
    for name in table.sequences():
        own = np.flatnonzero(table.sequence == name)
        for out in np.flatnonzero(table.departed[own] == 1.0):  # and as long as the signs still remember it
            near[own[out : out + remembered]] = True
        held[own] = persistent(np.where(near[own], 0.0, score[own]), piece.rate_hz)
    pieces = piece_numbers(table, piece.frames)
    largest = np.zeros(int(pieces.max(initial=-1)) + 1)
    np.maximum.at(largest, pieces, held)
    return largest


def check_on(model: AlarmModel, table: ScoreTable, statistics: ScoreStatistics) -> Checked:
    """What the alarm does on nominal drives that it was not fitted on."""
    found = table_evidence(table, statistics, model.signs, model.scales)
    score = model.score(found.evidence)
    largest = piece_maxima(table, score, found.departs, model.piece)
    watch, danger = (int((largest > threshold.value).sum()) for threshold in (model.watch, model.danger))
    share = float((score > model.danger.value).mean())
    return Checked(len(largest), round(independent_pieces(largest), 2), watch, danger, round(share, 4))
