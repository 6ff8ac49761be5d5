"""How good warnings are on held-out drives: hazard and alarm per condition and as a table."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel
from donkey_aicc.alarm.table_alarm import TableEvidence, persistent, piece_maxima, table_evidence
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.evaluation.metrics import Measured, auroc, brier, ece_binary, nll
from donkey_aicc.evaluation.tables import HIGHER, LOWER, Column, Row, Table, Value, cell, rounded
from donkey_aicc.scoring.score_table import ScoreTable

METRICS = {"nll": nll, "brier": brier, "ece": ece_binary, "auroc": auroc}
WARNING_FRAMES = 100  # an alarm that began earlier before a departure announces something else
NO_ALARM = "the bundle's calibrator has no alarm; make it with donkey-aicc calibrate"


def measure_alarm(calibrator: Calibrator | None, tables: Mapping[str, ScoreTable], rate_hz: float = 20.0) -> dict[str, Any]:
    """tables: condition -> drives. Hazard metrics are means over the horizons at which both classes occur."""
    if calibrator is None or calibrator.alarm is None or calibrator.statistics is None:
        return {"reason": NO_ALARM}
    model, found = calibrator.alarm, {}
    for name, table in tables.items():
        evidence = table_evidence(table, calibrator.statistics, model.signs, model.scales)
        found[name] = _hazard(model, evidence) | _alarm(model, table, evidence, rate_hz)
    promises = {level: rounded(getattr(model, level).promise) for level in ("watch", "danger")}
    return {"conditions": found, "promises": promises, "hazard": model.note or "fitted on driven faults"}


def _hazard(model: AlarmModel, evidence: TableEvidence) -> dict[str, Any]:
    if model.hazard is None:
        return {f"hazard_{name}": cell(Measured(float("nan"), model.note)) for name in METRICS}
    p = model.hazard.hazard(evidence.evidence.features)
    found = {}
    for name, metric in METRICS.items():
        values = []
        for column in range(p.shape[1]):
            y = evidence.departs[:, column]
            known = np.isfinite(y)
            measured = metric(p[known, column], y[known]) if known.any() else Measured(float("nan"), "no label")
            values.append(measured.value)
        usable = [value for value in values if np.isfinite(value)]
        found[f"hazard_{name}"] = cell(
            Measured(float(np.mean(usable))) if usable else Measured(float("nan"), "no departure at any horizon")
        )
    return found


def _alarm(model: AlarmModel, table: ScoreTable, evidence: TableEvidence, rate_hz: float) -> dict[str, Any]:
    """False alarms per drive, and departures with an alarm in the seconds before."""
    score = model.score(evidence.evidence)
    largest = piece_maxima(table, score, evidence.departs, model.piece)
    leads, departures = [], 0
    for name in table.sequences():
        own = table.sequence == name
        out = np.flatnonzero(table.departed[own] == 1.0)
        if not len(out) or not out[0]:
            continue
        departures += 1
        first = max(0, out[0] - WARNING_FRAMES)
        raised = np.flatnonzero(persistent(score[own], model.signs.rate_hz)[first : out[0]] > model.danger.value)
        if len(raised):
            leads.append((out[0] - first - raised[0]) / rate_hz)
    return {
        "drives": len(largest),
        "alarmed_drives": int((largest > model.danger.value).sum()),
        "departures": departures,
        "announced": len(leads),
        "median_lead_s": cell(Measured(float(np.median(leads))) if leads else Measured(float("nan"), "none announced")),
    }


def alarm_table(results: Mapping[str, Any]) -> Table:
    """One row per condition."""
    stored = results.get("alarm", {"reason": "not measured"})
    columns = [Column(f"hazard_{name}", f"Hazard: {name.upper()}", 3, HIGHER if name == "auroc" else LOWER) for name in METRICS]
    columns += [Column("departures", "Departures", 0), Column("announced", "Announced", 0)]
    columns += [Column("median_lead_s", "Median lead, s", 2, HIGHER), Column("alarmed_drives", "Drives with an alarm", text=True)]
    rows = []
    for name, one in stored.get("conditions", {}).items():
        values = {key: Value.of(value) if isinstance(value, dict) else Value(value) for key, value in one.items()}
        values["alarmed_drives"] = Value(text=f"{one['alarmed_drives']} of {one['drives']}")
        rows.append(Row(name, values))
    note = stored.get("reason", "") or (
        f"Alarm: level danger, promised at most {stored['promises']['danger']:g} per nominal drive; in nominal drives each is"
        f" false. Departure: the car leaves its lane. Hazard: {stored['hazard']}."
    )
    return Table("alarm", "Alarm and hazard of leaving the lane", columns, rows, note, first="Condition")
