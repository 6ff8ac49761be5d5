"""Fits the alarm of one grade: scales, hazard and thresholds from nominal drives cut into pieces; others check the promise."""

from dataclasses import dataclass, replace

import numpy as np

from donkey_aicc.alarm.alarm_model import LEAST_HAZARD_UNIT, MOST_STOP_HAZARD, NEAR_STEPS, AlarmModel, Checked
from donkey_aicc.alarm.alarm_policy import Threshold, conformal_threshold
from donkey_aicc.alarm.day_watch import UsualDays
from donkey_aicc.alarm.hazard import LEAST_DEPARTURES, HazardModel, fit_hazard
from donkey_aicc.alarm.pieces import Piece, independent_pieces, piece_numbers
from donkey_aicc.alarm.response import Response, fit_response
from donkey_aicc.alarm.sign_scales import SignScales
from donkey_aicc.alarm.signs import SignSettings, table_signs
from donkey_aicc.alarm.table_alarm import TableEvidence, check_on, piece_maxima, table_evidence
from donkey_aicc.alarm.timing import BEFORE_S, frames_in
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.frame_stats import FRAME_STATS
from donkey_aicc.scoring.score_table import ScoreTable, concatenate
from donkey_aicc.scoring.statistics import ScoreStatistics

WATCH_CHANCE, DANGER_CHANCE = 0.1, 0.01  # wanted, of a false alarm per nominal piece
MISSED_DEPARTURES = 0.1  # share of the driven departures whose hazard may stay below `stop_hazard`
LEAST_SCORE = 0.1  # no threshold lies below: less than a tenth of the nominal range is nothing
FOLDS = 5  # of the pieces: each is judged by scales from the others
LUCK = 0.1  # a promise that the drives kept aside break with less than this chance has failed


@dataclass(frozen=True)
class NominalDrives:
    """Nominal drives besides the calibration drives, and what a promise is counted in.

    seen: the drives that the nets were trained on. How a car's light and steering wander has nothing to do with the nets, and
    there are four times as many of them as of calibration drives; what the nets know better there is levelled first.
    fresh: only for the thresholds. aside: nothing is fitted on them, they check the promise.
    """

    seen: ScoreTable | None = None
    fresh: ScoreTable | None = None
    aside: ScoreTable | None = None
    piece: Piece = Piece()


def fit_alarm(
    nominal: ScoreTable,
    statistics: ScoreStatistics,
    others: NominalDrives | None = None,
    driven: ScoreTable | None = None,
    *,
    chances: tuple[float, float] = (WATCH_CHANCE, DANGER_CHANCE),
) -> AlarmModel:
    """nominal: calibration drives; driven: drives under D_aug faults.

    Without fresh drives every piece of the nominal drives is judged by scales from the others, and these scores set the
    thresholds.
    """
    others = others or NominalDrives()
    piece, fresh = others.piece, others.fresh
    measured = len(nominal)
    if others.seen is not None:
        nominal = concatenate([nominal, levelled(others.seen, nominal)])
    pieces = piece_numbers(nominal, piece.frames)
    if pieces.max(initial=0) < 1:
        raise AiccError(
            f"the alarm needs at least 2 {piece} of nominal driving, got {len(nominal)} frames in all; record more laps"
        )
    cruise = _cruise(nominal)
    settings = SignSettings(_fit_response(nominal, cruise, piece.rate_hz), piece.rate_hz)
    further = [] if driven is None else [_before_faults(driven)]
    scales = _fit_scales([nominal, *further], statistics, settings, piece)
    settings = replace(settings, cruise=cruise, motion=scales.usual("motion"))
    own = table_evidence(nominal, statistics, settings, scales)
    hazard, note, stop_hazard, unit = None, "absent, because no driven faults were given (calibrate --driven)", 0.0, 1.0
    if driven is not None:
        faulty = table_evidence(driven, statistics, settings, scales)
        hazard, note = _fit_hazard(driven, [own, faulty])
        if hazard is not None:
            stop_hazard = _stop_hazard(driven, faulty, hazard, piece.rate_hz)
            calm = np.concatenate([own.evidence.features, faulty.evidence.features[_is_before_fault(driven)]])
            unit = max(float(hazard.logit(calm).max()), LEAST_HAZARD_UNIT)
    model = AlarmModel(
        scales=scales,
        signs=settings,
        hazard=hazard,
        hazard_unit=unit,
        watch=Threshold(1.0, 0.5, 0, 0.5),
        danger=Threshold(1.0, 0.5, 0, 0.5),
        piece=piece,
        cruise=settings.cruise,
        stop_hazard=stop_hazard,
        note=note,
    )
    if fresh is None:
        judged = nominal
        largest, score = _left_out_maxima(nominal, measured, pieces, further, statistics, model)
    else:
        judged, held = fresh, table_evidence(fresh, statistics, settings, scales)
        score = model.score(held.evidence)
        largest = piece_maxima(fresh, score, held.departs, piece)
    worth, seen = independent_pieces(largest), np.maximum(largest, LEAST_SCORE)
    watch = conformal_threshold(seen, chances[0], worth)
    danger = conformal_threshold(seen, chances[1], worth, tail=True)
    model = replace(model, watch=watch, danger=danger, usual=UsualDays.measure(judged, score, piece.frames))
    if others.aside is not None:
        model = _hold_to(model, check_on(model, others.aside, statistics))
    model.check()
    return model


def _left_out_maxima(
    nominal: ScoreTable,
    measured: int,
    pieces: np.ndarray,
    further: list[ScoreTable],
    statistics: ScoreStatistics,
    model: AlarmModel,
) -> tuple[np.ndarray, np.ndarray]:
    """(pieces,) largest persistent score of each, by scores and scales that it had no part in; and (rows,) these scores.

    measured: rows at the beginning that the statistics rest on.
    """
    count = int(pieces.max()) + 1
    folds = np.arange(count) * min(FOLDS, count) // count  # neighbours in one fold: they resemble each other
    largest, scores = np.zeros(count), np.zeros(len(nominal))
    for fold in range(int(folds.max()) + 1):
        out = folds[pieces] == fold
        try:
            own = ScoreStatistics.fit(nominal.select(np.flatnonzero(~out[:measured])))
            scales = _fit_scales([nominal, *further], own, model.signs, model.piece, without=out)
        except AiccError:  # so little data that the others alone have no scale
            own, scales = statistics, model.scales
        found = table_evidence(nominal, own, model.signs, scales)
        scores = np.where(out, model.score(found.evidence), scores)
        mine = piece_maxima(nominal, np.where(out, scores, 0.0), found.departs, model.piece)
        largest = np.where(folds == fold, mine, largest)
    return largest, scores


def levelled(seen: ScoreTable, nominal: ScoreTable) -> ScoreTable:
    """The drives of the training as if the nets had not seen them: errors at the level of the calibration drives."""
    if not (np.isfinite(seen.frame_stats).any() and np.isfinite(seen.rho_raw).any()):
        return seen
    stats, column = seen.frame_stats.copy(), FRAME_STATS.index("log_error")
    better = [float(np.nanmedian(np.log(np.maximum(table.rho_raw, 1e-12)))) for table in (nominal, seen)]
    stats[:, column] += np.nanmedian(nominal.frame_stats[:, column]) - np.nanmedian(stats[:, column])
    return replace(seen, frame_stats=stats, rho_raw=(seen.rho_raw * np.exp(better[0] - better[1])).astype(seen.rho_raw.dtype))


def _hold_to(model: AlarmModel, checked: Checked) -> AlarmModel:
    """A promise that drives kept aside break is not made."""
    from scipy.stats import binom  # heavy, and only fits need it

    model = replace(model, checked=checked)
    for level in ("watch", "danger"):
        threshold, raised = getattr(model, level), getattr(checked, level)
        independent = np.ceil(raised * checked.worth / max(checked.pieces, 1))  # neighbours that fail together are one failure
        if binom.sf(independent - 1, max(round(checked.worth), 1), threshold.promise) < LUCK:
            broken = min((raised + 1) / (checked.pieces + 1), 1.0 - 1e-6)
            model = replace(model, **{level: replace(threshold, promise=max(threshold.promise, broken), aim=1.0)})
    return model


def _fit_scales(
    tables: list[ScoreTable],
    statistics: ScoreStatistics,
    settings: SignSettings,
    piece: Piece,
    without: np.ndarray | None = None,
) -> SignScales:
    """The more driving, the better known how far each sign goes: one that is not known sets every threshold.

    without: (rows of the first table,) True for those that must have no part in it.
    """
    signs = [_calm_signs(table, statistics, settings) for table in tables]
    if without is not None:
        signs[0][without] = np.nan
    numbers, first = [], 0
    for table in tables:
        numbers.append(first + piece_numbers(table, piece.frames))
        first = int(numbers[-1].max(initial=first)) + 1
    return SignScales.fit(np.concatenate(signs), np.concatenate(numbers))


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
    around = frames_in(BEFORE_S[1], settings.rate_hz)
    signs = table_signs(table, statistics, settings)
    for name in table.sequences():
        own = np.flatnonzero(table.sequence == name)
        for out in np.flatnonzero(table.departed[own] == 1.0):
            signs[own[max(0, out - around) : out + around]] = np.nan
    return signs


def _fit_hazard(driven: ScoreTable, tables: list[TableEvidence]) -> tuple[HazardModel | None, str]:
    departures = sum(bool((driven.departed[driven.sequence == name] == 1.0).any()) for name in driven.sequences())
    if departures < LEAST_DEPARTURES:
        return None, f"absent, because only {departures} driven drives left the lane; it needs {LEAST_DEPARTURES}"
    features = np.concatenate([table.evidence.features for table in tables])
    departs = np.concatenate([table.departs for table in tables])
    known = np.isfinite(departs).any(axis=1)
    return fit_hazard(features[known], departs[known], tuple(int(step) for step in driven.horizons)), ""


def _stop_hazard(driven: ScoreTable, faulty: TableEvidence, hazard: HazardModel, rate_hz: float) -> float:
    """The hazard that all but a few driven departures had shown a second or more before."""
    column = int(np.argmin(np.abs(np.array(hazard.horizons) - NEAR_STEPS)))
    near = hazard.hazard(faulty.evidence.features)[:, column]
    shown, (late, early) = [], (frames_in(seconds, rate_hz) for seconds in BEFORE_S)
    for name in driven.sequences():
        own = np.flatnonzero(driven.sequence == name)
        out = np.flatnonzero(driven.departed[own] == 1.0)
        if len(out) and out[0] > late:
            shown.append(near[own[max(0, out[0] - early) : out[0] - late]].max())
    return min(float(np.quantile(shown, MISSED_DEPARTURES)), MOST_STOP_HAZARD) if shown else 0.0


def _fit_response(table: ScoreTable, cruise: float, rate_hz: float) -> Response | None:
    turn, drives = table.frame_stats[:, FRAME_STATS.index("turn_px")], [table.sequence == name for name in table.sequences()]
    return fit_response([(turn[own], table.actions[own]) for own in drives], cruise, rate_hz)


def _cruise(table: ScoreTable) -> float:
    throttle = table.actions[:, 1]
    driving = throttle[np.isfinite(throttle) & (throttle > 0.0)]
    return float(np.clip(np.median(driving), 0.0, 1.0)) if len(driving) else 0.0
