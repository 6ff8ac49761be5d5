"""The command that was sent to the vehicle, found among the channels a tub may hold."""

from dataclasses import dataclass

import numpy as np

from donkey_aicc import channels
from donkey_aicc.tubs.findings import LOSS, NOTE, Finding, found
from donkey_aicc.tubs.labels import is_pilot_mode
from donkey_aicc.tubs.tub_contents import Record, numbers

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
