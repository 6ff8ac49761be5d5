"""Fits the alarm of one grade: scales and hazard on calibration drives, thresholds on drives that had no part in either."""

from dataclasses import dataclass, replace

import numpy as np

from donkey_aicc.alarm.alarm_model import NEAR_STEPS, AlarmModel
from donkey_aicc.alarm.alarm_policy import PERSISTENCE, Threshold, conformal_threshold
from donkey_aicc.alarm.evidence import LEAST_DEPARTURES, Evidence, EvidenceStream, HazardModel, SignScales, fit_hazard
from donkey_aicc.alarm.signs import WINDOW, SignSettings, fit_reaction, lanes_of, table_signs
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.tubs.labels import departure_within

WATCH_CHANCE, DANGER_CHANCE = 0.2, 0.01  # wanted, of a false alarm per nominal drive
MISSED_DEPARTURES = 0.1  # share of the driven departures whose hazard may stay below `stop_hazard`
AHEAD_FRAMES = (20, 60)  # before a departure: where its hazard must have shown itself
LEAST_HAZARD_UNIT = 0.5
LEAST_SCORE = 0.1  # no threshold lies below: less than a tenth of the nominal range is nothing


@dataclass(frozen=True)
class TableEvidence:
    """Evidence of the N rows of a table, and the labels of the hazard."""

    evidence: Evidence
    departs: np.ndarray  # (N, K) 1 a departure within k frames, 0 none, NaN unknown


def fit_alarm(
    nominal: ScoreTable,
    statistics: ScoreStatistics,
    *,
    fresh: ScoreTable | None = None,
    driven: ScoreTable | None = None,
    chances: tuple[float, float] = (WATCH_CHANCE, DANGER_CHANCE),
) -> AlarmModel:
    """nominal: calibration drives; fresh: further nominal drives, only for the thresholds; driven: drives under D_aug faults.

    Without fresh drives every second calibration drive sets the thresholds and the others the scale.
    """
    strict = fresh is not None
    scale, held_out = (nominal, fresh) if fresh is not None else _halves(nominal)
    settings = SignSettings(fit_reaction(scale))
    scales = _fit_scales([scale] if driven is None else [scale, _before_faults(driven)], statistics, settings)
    settings = replace(settings, cruise=_cruise(nominal), motion=scales.usual("motion"))
    own, held = (table_evidence(table, statistics, settings, scales) for table in (scale, held_out))
    hazard, note, stop_hazard, unit = None, "absent, because no driven faults were given (calibrate --driven)", 0.0, 1.0
    if driven is not None:
        faulty = table_evidence(driven, statistics, settings, scales)
        hazard, note = _fit_hazard(driven, [own, faulty])
        if hazard is not None:
            stop_hazard = _stop_hazard(driven, faulty, hazard)
            calm = np.concatenate([own.evidence.features, faulty.evidence.features[_is_before_fault(driven)]])
            unit = max(float(hazard.logit(calm).max()), LEAST_HAZARD_UNIT)
    model = AlarmModel(
        scales=scales,
        signs=settings,
        hazard=hazard,
        hazard_unit=unit,
        watch=Threshold(1.0, 0.5, 0),
        danger=Threshold(1.0, 0.5, 0),
        stretch=_usual_length(held_out),
        strict=strict,
        cruise=settings.cruise,
        stop_hazard=stop_hazard,
        note=note,
    )
    largest = drive_maxima(held_out, model.score(held.evidence), held.departs)
    watch, danger = (conformal_threshold(np.maximum(largest, LEAST_SCORE), chance) for chance in chances)
    model = replace(model, watch=watch, danger=danger)
    model.check()
    return model


def table_evidence(table: ScoreTable, statistics: ScoreStatistics, settings: SignSettings, scales: SignScales) -> TableEvidence:
    """By the very code that runs on the car."""
    horizons = tuple(int(step) for step in table.horizons)
    signs = table_signs(table, statistics, settings)
    spread = statistics.scores(table).get("tta_spread") if np.isfinite(table.tta_spread).all() else None
    rows, going = lanes_of(table)
    stream = EvidenceStream(scales, horizons, len(rows), settings.window)
    parts: list[np.ndarray] | None = None
    for column, alive in zip(rows.T, going.T, strict=True):
        found = stream.update(signs[column], table.p_tta[column], None if spread is None else spread[column])
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


def persistent(score: np.ndarray) -> np.ndarray:
    """(N,) of one drive -> (N,): the least of the last PERSISTENCE frames, which is what a threshold is compared with."""
    held = np.zeros_like(score)
    for row in range(PERSISTENCE - 1, len(score)):
        held[row] = score[row - PERSISTENCE + 1 : row + 1].min()
    return held


def drive_maxima(table: ScoreTable, score: np.ndarray, departs: np.ndarray) -> np.ndarray:
    """(drives,) the largest persistent score of each nominal drive; what leads to a real departure is no false alarm."""
    near = (departs == 1.0).any(axis=1) | (table.departed == 1.0)
    for name in table.sequences():  # and as long as the signs still remember it
        own = np.flatnonzero(table.sequence == name)
        for out in np.flatnonzero(table.departed[own] == 1.0):
            near[own[out : out + 2 * WINDOW]] = True
    score = np.where(near, 0.0, score)
    return np.array([persistent(score[table.sequence == name]).max() for name in table.sequences()])


def _halves(nominal: ScoreTable) -> tuple[ScoreTable, ScoreTable]:
    names = nominal.sequences()
    if len(names) < 2:
        raise AiccError(f"the alarm needs at least 2 nominal calibration drives, got {len(names)}")
    return nominal.of_sequences(names[::2]), nominal.of_sequences(names[1::2])


def _fit_scales(tables: list[ScoreTable], statistics: ScoreStatistics, settings: SignSettings) -> SignScales:
    """The more drives, the better known how far each sign goes in nominal driving: one that is not known sets every threshold."""
    signs = np.concatenate([_calm_signs(table, statistics, settings) for table in tables])
    return SignScales.fit(signs, np.concatenate([table.sequence for table in tables]))


def _is_before_fault(driven: ScoreTable) -> np.ndarray:
    """(N,) bool: rows of a drive that no fault has touched yet."""
    calm = np.zeros(len(driven), dtype=bool)
    for name in driven.sequences():
        own = np.flatnonzero(driven.sequence == name)
        calm[own] = np.cumsum(driven.severity[own] > 0) == 0
    return calm


def _before_faults(driven: ScoreTable) -> ScoreTable:
    """Drives under faults begin nominally: so far they are as good as any other nominal drive."""
    return driven.select(_is_before_fault(driven))


def _calm_signs(table: ScoreTable, statistics: ScoreStatistics, settings: SignSettings) -> np.ndarray:
    """Without what goes on around a departure: that is not how nominal driving looks."""
    signs = table_signs(table, statistics, settings)
    for name in table.sequences():
        own = np.flatnonzero(table.sequence == name)
        for out in np.flatnonzero(table.departed[own] == 1.0):
            signs[own[max(0, out - AHEAD_FRAMES[1]) : out + AHEAD_FRAMES[1]]] = np.nan
    return signs


def _fit_hazard(driven: ScoreTable, tables: list[TableEvidence]) -> tuple[HazardModel | None, str]:
    departures = sum(bool((driven.departed[driven.sequence == name] == 1.0).any()) for name in driven.sequences())
    if departures < LEAST_DEPARTURES:
        return None, f"absent, because only {departures} driven drives left the lane; it needs {LEAST_DEPARTURES}"
    features = np.concatenate([table.evidence.features for table in tables])
    departs = np.concatenate([table.departs for table in tables])
    known = np.isfinite(departs).any(axis=1)
    return fit_hazard(features[known], departs[known], tuple(int(step) for step in driven.horizons)), ""


def _stop_hazard(driven: ScoreTable, faulty: TableEvidence, hazard: HazardModel) -> float:
    """The hazard that all but a few driven departures had shown a second or more before."""
    column = int(np.argmin(np.abs(np.array(hazard.horizons) - NEAR_STEPS)))
    near = hazard.hazard(faulty.evidence.features)[:, column]
    shown = []
    for name in driven.sequences():
        own = np.flatnonzero(driven.sequence == name)
        out = np.flatnonzero(driven.departed[own] == 1.0)
        if len(out) and out[0] > AHEAD_FRAMES[0]:
            shown.append(near[own[max(0, out[0] - AHEAD_FRAMES[1]) : out[0] - AHEAD_FRAMES[0]]].max())
    return float(np.quantile(shown, MISSED_DEPARTURES)) if shown else 0.0


def _usual_length(table: ScoreTable) -> int:
    return int(np.median([(table.sequence == name).sum() for name in table.sequences()]))


def _cruise(table: ScoreTable) -> float:
    throttle = table.actions[:, 1]
    driving = throttle[np.isfinite(throttle) & (throttle > 0.0)]
    return float(np.clip(np.median(driving), 0.0, 1.0)) if len(driving) else 0.0
