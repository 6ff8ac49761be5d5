"""Low confidence as an alarm: how long before a departure it comes, and how often per lap for nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.catalogue import OURS, make_calibrator
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.evaluation.summary import FACT, Statement
from donkey_aicc.evaluation.tables import HIGHER, LOWER, Column, Row, Table, Value, rounded
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import Scores, ScoreStatistics
from studies.lead_times import LeadTimes, lead_times

ALLOWED_PER_LAP = 1.0
WARNING_METHODS = ("none", "temperature", "dac", OURS)
_CANDIDATES = 60


@dataclass(frozen=True)
class Driving:
    """What is needed to speak of seconds, laps and departures."""

    departed_m: float  # |cte| beyond which the car has left its lane
    rate_hz: float = 20.0
    frames_per_lap: float | None = None  # None: false alarms per 1000 frames instead of per lap
    window_s: float = 3.0  # an alarm up to this long before a departure announces it

    def __post_init__(self) -> None:
        for name in ("departed_m", "rate_hz", "window_s"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} must be > 0, got {getattr(self, name)}")
        if self.frames_per_lap is not None and not self.frames_per_lap > 0:
            raise ConfigError(f"frames_per_lap must be > 0, got {self.frames_per_lap}")

    @property
    def unit_frames(self) -> float:
        return self.frames_per_lap or 1000.0


@dataclass(frozen=True)
class _Signal:
    """Least confidence over the horizons, frame by frame; NaN (no alarm) while the context is not full."""

    value: np.ndarray
    table: ScoreTable

    def judge(self, threshold: float, driving: Driving) -> LeadTimes:
        return lead_times(
            self.value,
            self.table.cte,
            self.table.sequence,
            limit_m=driving.departed_m,
            threshold=threshold,
            rate_hz=driving.rate_hz,
            window_s=driving.window_s,
        )


@dataclass(frozen=True)
class _Scored:
    """A table with the scores of its valid rows, which all methods share."""

    table: ScoreTable
    valid: np.ndarray
    part: ScoreTable
    scores: Scores

    @classmethod
    def of(cls, table: ScoreTable, statistics: ScoreStatistics) -> "_Scored":
        valid = table.valid.astype(bool)
        part = table.select(valid)
        return cls(table, valid, part, statistics.scores(part))

    def signal(self, calibrator: Calibrator) -> _Signal:
        value = np.full(len(self.table), np.nan)
        value[self.valid] = calibrator.predict(self.part, self.scores).min(axis=1)
        return _Signal(value, self.table)


def warning_section(whole: Pool, test: ScoreTable, ood: Mapping[str, ScoreTable], driving: Driving | None) -> dict[str, Any]:
    if driving is None:
        return {"reason": "the size of a departure was not given"}
    if not np.isfinite(test.cte).any():
        return {"reason": "no cross-track error was recorded"}
    fitted = {}
    for name in WARNING_METHODS:
        try:
            fitted[name] = make_calibrator(name).fit(whole.nominal, whole)
        except AiccError:
            continue  # the calibration table says why this row is missing
    return {
        "departed_m": driving.departed_m,
        "rate_hz": driving.rate_hz,
        "window_s": driving.window_s,
        "unit": "lap" if driving.frames_per_lap else "1000 frames",
        "unit_frames": rounded(driving.unit_frames),
        "methods": early_warning(fitted, whole.statistics, test, ood, driving),
    }


def early_warning(
    calibrators: Mapping[str, Calibrator],
    statistics: ScoreStatistics,
    test: ScoreTable,
    ood: Mapping[str, ScoreTable],
    driving: Driving,
) -> dict[str, Any]:
    """Per method, at the threshold that costs one false alarm per nominal lap."""
    found: dict[str, Any] = {}
    calm = _Scored.of(test, statistics)
    stirred = {protocol: _Scored.of(table, statistics) for protocol, table in ood.items()}
    for name, calibrator in calibrators.items():
        nominal = calm.signal(calibrator)
        odd = {protocol: scored.signal(calibrator) for protocol, scored in stirred.items()}
        found[name] = _judged(nominal, odd, _threshold_for(nominal, driving), driving)
    return found


def _threshold_for(nominal: _Signal, driving: Driving) -> float:
    """The largest threshold below which every candidate keeps to the allowed false alarms on nominal driving."""
    known = nominal.value[np.isfinite(nominal.value)]
    chosen = 0.0
    for threshold in np.unique(np.quantile(known, np.linspace(0.0, 1.0, _CANDIDATES))):
        if nominal.judge(float(threshold), driving).false_alarms_per_lap(driving.unit_frames) > ALLOWED_PER_LAP:
            break
        chosen = float(threshold)
    return chosen


def _judged(nominal: _Signal, odd: Mapping[str, _Signal], threshold: float, driving: Driving) -> dict[str, Any]:
    calm = nominal.judge(threshold, driving)
    found: dict[str, Any] = {
        "threshold": rounded(threshold),
        "nominal": _numbers(calm, driving),
        "protocols": {},
    }
    for protocol, signal in odd.items():
        found["protocols"][protocol] = _numbers(signal.judge(threshold, driving), driving)
    return found


def _numbers(times: LeadTimes, driving: Driving) -> dict[str, Any]:
    announced = times.departures - times.missed
    numbers: dict[str, Any] = {
        "departures": times.departures,
        "announced": announced,
        "announced_share": rounded(announced / times.departures) if times.departures else None,
        "median_lead_s": rounded(times.median_s()),
        "false_alarms": times.false_alarms,
        "false_alarms_per_unit": rounded(times.false_alarms_per_lap(driving.unit_frames)),
    }
    if not times.departures:
        numbers["reason"] = "no departure"
    elif not announced:
        numbers["reason"] = "no departure was announced"
    return numbers


def early_warning_table(results: dict[str, Any]) -> Table:
    """Lead time and false alarms."""
    stored = results["early_warning"]
    unit = stored.get("unit", "lap")
    columns = [
        Column("threshold", "Threshold"),
        Column("announced", "Announced", 0, HIGHER),
        Column("departures", "Departures", 0),
        Column("median_lead_s", "Median lead, s (mean of protocols)", 2, HIGHER),
        Column("nominal_false_alarms", f"False alarms per {unit}, nominal", 2, LOWER),
    ]
    protocols = results["settings"]["protocols"]
    columns += [Column(f"{name}_lead_s", f"{name.capitalize()}: lead, s", 2) for name in protocols]
    columns += [Column(f"{name}_announced", f"{name.capitalize()}: announced", text=True) for name in protocols]
    rows = []
    title = f"at one false alarm per nominal {unit}"
    for name, one in stored.get("methods", {}).items():
        rows.append(_warning_row(results["calibration"][name]["label"], one, title, name == OURS))
    note = stored.get("reason", "") or (
        f"Alarm: the least confidence over all horizons is below the threshold. Departure: |cte| over "
        f"{stored['departed_m']:g} m. "
        f"The lead counts from the first alarm in the {stored['window_s']:g} s before it. Fitted on all calibration drives."
    )
    return Table("early_warning", "Early warning", columns, rows, note)


def _warning_row(label: str, one: dict[str, Any], group: str, strong: bool) -> Row:
    protocols = one["protocols"]
    leads = [n["median_lead_s"] for n in protocols.values() if n["median_lead_s"] is not None]
    values = {
        "threshold": Value(one["threshold"]),
        "announced": Value(sum(n["announced"] for n in protocols.values())),
        "departures": Value(sum(n["departures"] for n in protocols.values())),
        "median_lead_s": Value(sum(leads) / len(leads) if leads else None, reason="no departure was announced"),
        "nominal_false_alarms": Value(one["nominal"]["false_alarms_per_unit"]),
    }
    for name, numbers in protocols.items():
        values[f"{name}_lead_s"] = Value(numbers["median_lead_s"], reason=numbers.get("reason", ""))
        values[f"{name}_announced"] = Value(text=f"{numbers['announced']} of {numbers['departures']}")
    return Row(label, values, group, strong=strong, ranked=group.endswith(("lap", "frames")))


def said_of_warnings(results: dict[str, Any]) -> Statement | None:
    methods = results["early_warning"].get("methods", {})
    if OURS not in methods or "temperature" not in methods:
        return None
    parts = []
    for name in ("temperature", OURS):
        protocols = methods[name]["protocols"].values()
        departures, announced = (sum(one[key] for one in protocols) for key in ("departures", "announced"))
        if not departures:
            return None
        parts.append(f"{announced} of {departures} with {results['calibration'][name]['label']}")
    unit = results["early_warning"]["unit"]
    return {"verdict": FACT, "text": f"At one false alarm per nominal {unit}, departures announced in time: {', '.join(parts)}."}
