"""How good warnings are on held-out drives.

Hazard and alarm per condition and as a table; and how early low confidence warns of a departure, and how often for nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel
from donkey_aicc.alarm.table_alarm import TableEvidence, persistent, piece_maxima, table_evidence
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.errors import AiccError
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


@dataclass(frozen=True)
class LeadTimes:
    """What an alarm `confidence < threshold` would have achieved on recorded driving."""

    lead_s: np.ndarray  # (departures,) seconds from the first alarm in the window to the departure, NaN missed
    false_alarms: int  # alarm episodes that no departure followed within the window
    frames: int

    @property
    def departures(self) -> int:
        return len(self.lead_s)

    @property
    def missed(self) -> int:
        return int(np.isnan(self.lead_s).sum())

    def median_s(self) -> float:
        """Median lead of the departures that were announced, NaN if none was."""
        announced = self.lead_s[~np.isnan(self.lead_s)]
        return float(np.median(announced)) if len(announced) else float("nan")

    def false_alarms_per_lap(self, frames_per_lap: float) -> float:
        """frames_per_lap: track length / (speed / frame rate). NaN without driving."""
        if not frames_per_lap > 0:
            raise AiccError(f"frames_per_lap must be > 0, got {frames_per_lap}")
        return self.false_alarms * frames_per_lap / self.frames if self.frames else float("nan")


def lead_times(
    confidence: np.ndarray,
    cte_m: np.ndarray,
    sequence: np.ndarray,
    limit_m: float,
    threshold: float,
    rate_hz: float,
    window_s: float = 3.0,
) -> LeadTimes:
    """confidence, cte_m, sequence: (N,), frames in driving order within each sequence.

    A departure is the first frame with |cte| > limit after frames inside. Its lead counts from the earliest alarm in the
    window before it. An alarm episode is a run of alarm frames on the track; it is false if no departure lies within
    the window after its last frame. Frames with unknown confidence raise no alarm.
    """
    for name, value in (("limit_m", limit_m), ("rate_hz", rate_hz), ("window_s", window_s)):
        if not value > 0:
            raise AiccError(f"{name} must be > 0, got {value}")
    window = max(1, round(window_s * rate_hz))
    leads, false_alarms, frames = [], 0, 0
    for name in dict.fromkeys(sequence.tolist()):
        rows = sequence == name
        outside = np.abs(np.nan_to_num(cte_m[rows])) > limit_m
        alarm = (confidence[rows] < threshold) & ~outside
        starts = np.flatnonzero(outside[1:] & ~outside[:-1]) + 1
        leads += [_lead(alarm, outside, int(start), window) / rate_hz for start in starts]
        false_alarms += _false_episodes(alarm, starts, window)
        frames += int((~outside).sum())
    return LeadTimes(np.array(leads, dtype=np.float64), false_alarms, frames)


def _lead(alarm: np.ndarray, outside: np.ndarray, start: int, window: int) -> float:
    """Frames from the first alarm to the departure, looking back neither beyond the window nor beyond the last departure."""
    before = np.flatnonzero(outside[:start])
    first = max(start - window, int(before[-1]) + 1 if len(before) else 0)
    alarms = np.flatnonzero(alarm[first:start])
    return float(start - first - alarms[0]) if len(alarms) else float("nan")


def _false_episodes(alarm: np.ndarray, departures: np.ndarray, window: int) -> int:
    edges = np.diff(np.concatenate([[0], alarm.astype(np.int8), [0]]))
    last = np.flatnonzero(edges == -1) - 1
    return sum(not ((departures > end) & (departures <= end + window)).any() for end in last)
