"""Scores of a run by a bundle, computed on the spot or found among those computed earlier for the same pictures and weights.

And what the bundle's alarm would have said during the drive, by the very code that runs on the car.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmStream
from donkey_aicc.alarm.hands import Hands, without_steering
from donkey_aicc.alarm.outlook import LEVELS_OF, SteadyState, outlook, state_of
from donkey_aicc.alarm.signs import table_signs
from donkey_aicc.calibration.past_faults import scores_without_past
from donkey_aicc.errors import AiccError
from donkey_aicc.replay.run import SCORE_COLUMNS, Run
from donkey_aicc.scoring.score_table import FEATURE_NAMES, ScoreTable
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.load import load_drives

if TYPE_CHECKING:
    from donkey_aicc.calibration.base import Calibrator
    from donkey_aicc.nets.bundle import Bundle


def alarm_again(
    table: ScoreTable, calibrator: "Calibrator", rate_hz: float = 20.0, modes: np.ndarray | None = None
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Number columns (hazard, stays) and word columns (alarm, reason, state, today) of the rows; empty without an alarm.

    modes: (N,) who drove, None: the pilot.
    """
    if calibrator.alarm is None or calibrator.statistics is None:
        return {}, {}
    horizons = tuple(int(step) for step in table.horizons)
    signs = table_signs(table, calibrator.statistics, calibrator.alarm.signs)
    spread = calibrator.statistics.scores(table).get("tta_spread")
    stream = AlarmStream(calibrator.alarm, horizons)
    hazard = np.full((len(table), len(horizons)), np.nan)
    alarm, reason, today = np.full(len(table), "", dtype="U8"), [""] * len(table), [""] * len(table)
    state, steady, hands = np.full(len(table), "", dtype="U16"), SteadyState(), Hands(calibrator.alarm.signs.rate_hz)
    for name in table.sequences():
        stream.reset()
        for row in np.flatnonzero(table.sequence == name):
            known = np.isfinite(table.p_restored[row]).all()
            p, doubt = (table.p_restored[row], None if spread is None else float(spread[row])) if known else (None, None)
            seen = signs[row]
            if not hands.are_the_pilots(None if modes is None else str(modes[row])):
                seen, p, doubt = without_steering(seen), None, None
            reading = stream.step(seen, p, doubt)
            alarm[row], reason[row] = reading.level, reading.reason
            state[row] = steady.step(state_of(reading.level), row / rate_hz)
            today[row] = "" if stream.day is None else stream.day.statement()
            if len(reading.hazard) == len(horizons):
                hazard[row] = reading.hazard
    stays = {} if calibrator.alarm.hazard is None else {"stays": outlook(allowed(state), hazard, None)}
    words = {"alarm": alarm, "reason": np.array(reason), "state": state, "today": np.array(today)}
    return {"hazard": hazard} | stays, words


def allowed(states: np.ndarray) -> np.ndarray:
    """(N,) told states -> the levels by which the number is bounded."""
    return np.array([LEVELS_OF.get(state, "") for state in states])


SHOWN = ("rho", "delta", "hindsight", "rho_z", "delta_z")
WORTH_WORKERS = 2000  # frames; for fewer, starting worker processes takes longer than they save


def require_scores(run: Run) -> Run:
    """The run as recorded; one without any score is refused with what to do."""
    if not run.scores_from:
        raise AiccError(
            f"{run.tub} holds no scores (no aicc/p_safe, aicc/confidence or aicc/rho): it was recorded without the monitor. "
            "Compute them with --bundle BUNDLE, such as the shipped one: --bundle reference"
        )
    return run


def score_run(run: Run, bundle: "Bundle", cache_dir: str | Path | None = None, grade: str | None = None) -> Run:
    """The run with this bundle's scores, and its alarm if it has one, in place of recorded ones; what the car did stays."""
    from donkey_aicc.calibration.calibrator_file import load_calibrator, score_settings
    from donkey_aicc.calibration.score_cache import score_once

    settings = score_settings(bundle, grade)
    drives = _needed(load_drives([run.tub], tau=None, cache_dir=cache_dir).drives, run, settings.context)
    workers = os.cpu_count() or 1 if sum(len(drive) for drive in drives) > WORTH_WORKERS else 1
    table = score_once(bundle, drives, settings=settings, workers=workers, cache_dir=cache_dir)
    columns = {name: getattr(table, name) for name in ("p_safe", "p_tta", "p_restored", "restored")}
    status = np.where(table.valid, "ok", "warming up")
    notes = list(run.notes)
    words: dict[str, np.ndarray] = {}
    if bundle.calibrator_path.is_file():
        calibrator = load_calibrator(bundle, grade)
        hazard, words = alarm_again(table, calibrator, run.rate_hz, _modes(run, table.index))
        columns |= confidence_again(table, calibrator) | hazard
        today = words.pop("today", np.full(len(table), ""))
        status = np.where((today != "") & (status == "ok"), today, status)
        if "alarm" in words and "stays" not in columns and bundle.manifest.tau is None and "confidence" in columns:
            columns["stays"] = outlook(allowed(words["state"]), None, columns["confidence"])  # its labels mean "on the road"
    else:
        notes.append(f"bundle {bundle.path.name} has no calibrator: no confidence, rho or delta; make one: donkey-aicc calibrate")
        status = np.where(table.valid, "no calibrator", status)
    if not bundle.has_predictor:
        notes.append(f"bundle {bundle.path.name} was trained without labels: it has no safety predictor and gives no confidence")
    rows, found = _rows_of(run, table.index)
    placed = {name: _placed(values[found], rows, len(run)) for name, values in columns.items()}
    said = {"status": _placed_words(status[found], rows, np.full(len(run), "no score: picture or command is missing"))}
    said |= {name: _placed_words(values[found], rows, np.full(len(run), "")) for name, values in words.items()}
    outdated = (*SCORE_COLUMNS, "scores_age_s", "scores_valid")
    kept = {name: values for name, values in run.numbers.items() if name not in outdated}
    return replace(
        run,
        numbers=kept | {name: values for name, values in placed.items() if np.isfinite(values).any()},
        words=run.words | said,
        horizons=tuple(int(k) for k in table.horizons) if bundle.has_predictor else (),
        features=FEATURE_NAMES if "features" in placed else (),
        scores_from=f"computed with bundle {bundle.path.name} (grade {settings.grade})",
        notes=tuple(notes),
    )


def _needed(drives: list[Drive], run: Run, context: int) -> list[Drive]:
    """What of the tub's drives the run shows, and the frames before it that the scores look back on."""
    found = []
    for drive in drives:
        inside = np.flatnonzero((drive.indices >= run.index[0]) & (drive.indices <= run.index[-1]))
        if len(inside):
            start, stop = max(0, int(inside[0]) - context), int(inside[-1]) + 1
            found.append(drive if (start, stop) == (0, len(drive)) else drive.part(start, stop))
    if not found:
        raise AiccError(f"{run.tub}: no record of this part can be scored; see: donkey-aicc check {run.tub}")
    return found


def confidence_again(table: ScoreTable, calibrator: "Calibrator") -> dict[str, np.ndarray]:
    """What the calibrator makes of the rows with a full context; the others stay unknown."""
    valid = table.valid.astype(bool)
    columns: dict[str, np.ndarray] = {}
    if calibrator.statistics is not None:
        scores = calibrator.statistics.scores(table)
        columns = {name: np.where(valid, scores[name], np.nan) for name in SHOWN if name in scores}
        columns["features"] = calibrator.statistics.dynamics.standardised(table.features)
    probability = calibrator.probability_of(table)
    usable = valid & np.isfinite(probability).all(axis=1)
    if usable.any():
        confidence = np.full(probability.shape, np.nan)
        confidence[usable] = calibrator.predict(table.select(usable), _as_on_the_car(table, calibrator, usable))
        columns["confidence"] = confidence
    return columns


def _as_on_the_car(table: ScoreTable, calibrator: "Calibrator", rows: np.ndarray) -> dict[str, np.ndarray] | None:
    """The scores of these rows without what faults left in them; None: as they are."""
    if calibrator.alarm is None or calibrator.statistics is None:
        return None
    seen = scores_without_past(table, calibrator.statistics, calibrator.alarm, calibrator.settings.context)
    return {name: values[rows] for name, values in seen.items()}


def _modes(run: Run, index: np.ndarray) -> np.ndarray:
    """(N,) who drove, of these records of the tub."""
    known = dict(zip(run.index.tolist(), run.words.get("mode", np.full(len(run), "")).tolist(), strict=True))
    return np.array([known.get(int(number), "") for number in index])


def _rows_of(run: Run, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows of the run, rows of the table) that belong to the same record."""
    row_of = {int(number): row for row, number in enumerate(run.index)}
    pairs = [(row_of[int(number)], place) for place, number in enumerate(index) if int(number) in row_of]
    rows, found = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(rows, dtype=np.int64), np.array(found, dtype=np.int64)


def _placed(values: np.ndarray, rows: np.ndarray, length: int) -> np.ndarray:
    column = np.full((length, *values.shape[1:]), np.nan, dtype=np.float32)
    column[rows] = values
    return column


def _placed_words(values: np.ndarray, rows: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The words at their rows; the others keep what the column says."""
    placed = column.astype(object)
    placed[rows] = values
    return placed.astype(str)
