"""The columns of a tub besides images, with the known flaws of recorders taken out.

The command that was sent to the vehicle is found among the channels a tub may hold.
"""

from dataclasses import dataclass

import numpy as np

from donkey_aicc import channels
from donkey_aicc.tubs.labels import is_pilot_mode
from donkey_aicc.tubs.tub_contents import LARGEST_INDEX, LOSS, NOTE, Finding, Record, found, number, numbers, texts

BLIP_LENGTH = 5  # frames: no car is that far from the middle, exactly in it and far again within a quarter of a second
LARGEST_CTE = 1e6  # in whatever unit: beyond it, it is a damaged number
FAR_STEPS = 5.0  # "far from zero": this many times the usual change between frames


@dataclass(frozen=True)
class Telemetry:
    """N records."""

    mode: np.ndarray  # (N,) str
    cte: np.ndarray  # (N,) float32, NaN unknown
    marks: np.ndarray  # (N,) float32: 1 marked unsafe, 0 not, NaN not recorded
    protocol: np.ndarray  # (N,) str, '' nominal
    severity: np.ndarray  # (N,) int64
    episode: np.ndarray  # (N,) int64, -1 not recorded
    findings: list[Finding]


def read_telemetry(records: list[Record]) -> Telemetry:
    """Mode, cross-track error, marks and injected anomalies of each record."""
    cte, findings = _clean_cte(records)
    protocol = texts(records, channels.INJECT_PROTOCOL)
    protocol = np.where(np.isin(protocol, ("none", "None", "nominal")), "", protocol)
    severity = _integers(records, channels.INJECT_SEVERITY, unknown=0)
    return Telemetry(
        mode=texts(records, channels.MODE),
        cte=cte.astype(np.float32),
        marks=np.where(np.isfinite(marks := numbers(records, channels.UNSAFE_MARK)), marks > 0, np.nan).astype(np.float32),
        protocol=protocol,
        severity=np.where(protocol == "", 0, severity),
        episode=_integers(records, channels.INJECT_EPISODE, unknown=-1),
        findings=findings,
    )


def _integers(records: list[Record], key: str, unknown: int) -> np.ndarray:
    values = numbers(records, key)
    return np.where(np.abs(values) < LARGEST_INDEX, values, unknown).astype(np.int64)


def _clean_cte(records: list[Record]) -> tuple[np.ndarray, list[Finding]]:
    cte = numbers(records, channels.CTE)
    cte[np.abs(cte) > LARGEST_CTE] = np.nan
    findings: list[Finding] = []
    recorded = sum(channels.CTE in record.values for record in records)
    broken = recorded - int(np.isfinite(cte).sum())
    findings += found(LOSS, "cte-not-a-number", f"{broken} records have a cte that is not a number; unlabelled", broken)
    empty = _empty_first_records(records)
    findings += found(NOTE, "empty-telemetry", f"{len(empty)} sessions begin with all-zero telemetry; unlabelled", len(empty))
    cte[empty] = np.nan
    blips = zero_blips(cte)
    findings += found(NOTE, "cte-blip", f"{blips.sum()} records jump to cte 0 for a moment (lap line); unlabelled", blips.sum())
    cte[blips] = np.nan
    known = cte[np.isfinite(cte)]
    if len(known) > 1 and np.all(known == known[0]):
        findings += found(LOSS, "cte-constant", f"cte is {known[0]:g} in every record: not a measurement, ignored", len(known))
        cte[:] = np.nan
    return cte, findings


def _empty_first_records(records: list[Record]) -> list[int]:
    """Positions of first records of a session whose positions are all zero because the simulator had not answered yet."""
    positions = []
    for row, record in enumerate(records[:-1]):
        starts = row == 0 or records[row - 1].session != record.session
        if starts and _all_zero(record) and not _all_zero(records[row + 1]):
            positions.append(row)
    return positions


def _all_zero(record: Record) -> bool:
    values = [number(record.values[key]) for key in channels.LOCATION if key in record.values]
    return len(values) > 1 and all(value == 0 for value in values)


def zero_blips(cte: np.ndarray) -> np.ndarray:
    """(N,) bool: cte exactly 0 for a few frames while both neighbours are far from 0.

    Simulators do this where the nearest point of the path wraps around at the lap line.
    """
    blips = np.zeros(len(cte), dtype=bool)
    moved = np.abs(np.diff(cte))
    usual = np.median(moved[np.isfinite(moved)]) if np.isfinite(moved).any() else np.nan
    row = 1
    while row < len(cte) - 1:
        if cte[row] != 0:
            row += 1
            continue
        stop = row
        while stop < len(cte) and cte[stop] == 0:
            stop += 1
        if stop < len(cte) and stop - row <= BLIP_LENGTH:
            nearest = min(abs(cte[row - 1]), abs(cte[stop]))  # NaN neighbours compare as not far
            blips[row:stop] = nearest > FAR_STEPS * usual and nearest > 0
        row = stop
    return blips


SENT, PILOT, PILOT_ANGLE, USER, NONE = "steering/throttle", "pilot/*", "pilot/angle + user/throttle", "user/*", "none"


@dataclass(frozen=True)
class Commands:
    """N records."""

    actions: np.ndarray  # (N, 2) float32: steering, throttle clipped to [-1, 1]; NaN where none was recorded
    source: np.ndarray  # (N,) str: SENT, PILOT, PILOT_ANGLE, USER or NONE
    clipped: np.ndarray  # (N,) bool: a value lay beyond [-1, 1]
    findings: list[Finding]


def read_commands(records: list[Record], mode: np.ndarray) -> Commands:
    """What was sent if recorded, else the pilot's values in pilot mode, else the user's; decided record by record."""
    sent = _pair(records, channels.STEERING, channels.THROTTLE)
    pilot = _pair(records, "pilot/angle", "pilot/throttle")
    user = _pair(records, "user/angle", "user/throttle")
    piloted = is_pilot_mode(mode)
    findings: list[Finding] = []
    if _pilot_is_dummy(pilot[piloted], user[piloted]):
        findings += found(
            NOTE,
            "pilot-zeros",
            f"pilot/* is zero in all {piloted.sum()} pilot records while user/* changes: user/* is taken",
            int(piloted.sum()),
        )
        pilot = np.full_like(pilot, np.nan)
    steer_only = np.stack([pilot[:, 0], user[:, 1]], axis=1)
    actions = np.full_like(user, np.nan)
    source = np.full(len(records), NONE, dtype=f"U{len(PILOT_ANGLE)}")
    choices = [
        (SENT, sent, np.ones(len(records), dtype=bool)),
        (PILOT_ANGLE, steer_only, mode == "local_angle"),
        (PILOT, pilot, piloted & (mode != "local_angle")),
        (USER, user, np.ones(len(records), dtype=bool)),
    ]
    for name, values, applies in choices:
        taken = applies & (source == NONE) & np.isfinite(values).all(axis=1)
        actions[taken], source[taken] = values[taken], name
    return _clip(actions, source, findings)


def _pair(records: list[Record], steering: str, throttle: str) -> np.ndarray:
    """(N, 2) float64."""
    return np.stack([numbers(records, steering), numbers(records, throttle)], axis=1)


def _pilot_is_dummy(pilot: np.ndarray, user: np.ndarray) -> bool:
    """Some recorders wrote zeros to pilot/* and the pilot's output to user/*."""
    return len(pilot) > 0 and bool(np.all(np.nan_to_num(pilot) == 0)) and bool(np.nanmax(np.abs(user), initial=0.0) > 0)


def _clip(actions: np.ndarray, source: np.ndarray, findings: list[Finding]) -> Commands:
    beyond = np.abs(actions) > 1 + 1e-6
    clipped = beyond.any(axis=1)
    if clipped.any():
        largest = float(np.nanmax(np.abs(actions)))
        message = f"{clipped.sum()} records have commands beyond [-1, 1] (up to {largest:.3g}); clipped"
        findings = findings + found(LOSS, "command-range", message, int(clipped.sum()))
    return Commands(np.clip(actions, -1.0, 1.0).astype(np.float32), source, clipped, findings)
