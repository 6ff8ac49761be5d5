"""How well the dial and the reasons read on recorded drives: P(stays in its lane for the next second), and why it fell."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_policy import NONE
from donkey_aicc.alarm.reasons import KINDS, kind_of
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.evaluation.metrics import ece_binary, nll
from donkey_aicc.faults.protocols import D_AUG_DRIVEN, PROTOCOLS
from donkey_aicc.replay.score_run import alarm_again
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.tubs.labels import departure_within

HORIZON_S = 1.0
WELL, LOW = 0.9, 0.5  # the dial of a sound drive stays above the one, and falls to the other before a departure
LONGEST_LEAD_S = 5.0  # an earlier fall announces something else
# What is right to say of each fault. A fault that no one can name more closely may be called by its kind.
RIGHT = {
    **dict.fromkeys(
        ("dark", "blur", "jpeg", "desaturation", "fog", "speckle", "salt_and_pepper", "pixelation", "colour_jitter", "frost"),
        ("picture",),
    ),
    **dict.fromkeys(("over_exposure", "occlusion", "camera_pitch"), ("picture",)),
    **dict.fromkeys(("bias", "steering_gain", "one_wheel", "grip"), ("steering", "steering or timing")),
    **dict.fromkeys(("latency", "frozen", "frame_drop"), ("timing", "steering or timing")),
    **dict.fromkeys(("speed_mismatch", "drag"), ("steering", "steering or timing", "picture moves")),
}


@dataclass(frozen=True)
class ToldDrive:
    """One drive, from the start of its fault on (nominal: from its start), until it leaves the lane."""

    fault: str
    severity: int
    stays: np.ndarray  # (N,) the dial, at HORIZON_S
    hazard: np.ndarray  # (N,) P(leaves within it), before the alarm's level bounds the dial
    departs: np.ndarray  # (N,) 1 within it, 0 not, NaN unknown
    left_at: int  # row; -1: it stayed
    reason: str  # that the alarm gave longest; '' if it was silent


def told_drives(table: ScoreTable, calibrator: Calibrator, rate_hz: float, *, under_faults: bool) -> list[ToldDrive]:
    """Every sequence of a scored table, by the code of the car. under_faults: one without a fault is the rest of a drive that was
    put back on the lane, and counts as none."""
    numbers, words = alarm_again(table, calibrator)
    near = int(np.argmin(np.abs(table.horizons - HORIZON_S * rate_hz)))
    step, found = int(table.horizons[near]), []
    for name in table.sequences():
        own = np.flatnonzero(table.sequence == name)
        under = np.flatnonzero(table.severity[own] > 0)
        first = int(under[0]) if len(under) else 0
        if under_faults and not len(under):
            continue
        own = own[first:]
        out = np.flatnonzero(table.departed[own] == 1.0)
        left = int(out[0]) if len(out) else -1
        departs = departure_within(table.departed[own], (step,))[:, 0]
        rows = own[:left] if len(out) else own
        said = Counter(words["reason"][row] for row in rows if words["alarm"][row] != NONE)
        found.append(
            ToldDrive(
                fault=str(table.protocol[own[0]]) if len(under) else "",
                severity=int(table.severity[own[0]]),
                stays=numbers["stays"][rows, near],
                hazard=numbers["hazard"][rows, near],
                departs=departs[: len(rows)],
                left_at=left,
                reason=said.most_common(1)[0][0] if said else "",
            )
        )
    return found


def conditions(drives: Sequence[ToldDrive]) -> dict[str, list[ToldDrive]]:
    """What the table of the number has rows for."""
    found = {"nominal": [one for one in drives if not one.fault]}
    found |= {fault: [one for one in drives if one.fault == fault] for fault in PROTOCOLS}
    found["these, severities 3-5"] = [one for one in drives if one.fault in PROTOCOLS and one.severity >= 3]
    found["faults of D_aug"] = [one for one in drives if one.fault in D_AUG_DRIVEN]
    found["other faults"] = [one for one in drives if one.fault and one.fault not in (*PROTOCOLS, *D_AUG_DRIVEN)]
    return {name: own for name, own in found.items() if own}


def number_row(drives: Sequence[ToldDrive], rate_hz: float) -> dict[str, Any]:
    """One row of the table of the number."""
    stays, hazard, departs = (np.concatenate([getattr(one, name) for one in drives]) for name in ("stays", "hazard", "departs"))
    known = np.isfinite(hazard) & np.isfinite(departs)
    p, y = hazard[known], departs[known]
    half = max(1, round(rate_hz / 2))
    jumps = np.concatenate([np.abs(one.stays[half:] - one.stays[:-half])[::half] for one in drives])
    left = [one for one in drives if one.left_at >= 0]
    leads = [_lead_s(one, rate_hz) for one in left]
    return {
        "drives": len(drives),
        "left": len(left),
        "well": float((stays >= WELL).mean()),
        "jump": float(100.0 * jumps.mean()) if len(jumps) else float("nan"),
        "in_time": sum(lead >= HORIZON_S for lead in leads),
        "lead": float(np.median(leads)) if leads else float("nan"),
        "ece": ece_binary(p, y).value,
        "nll": nll(p, y).value,
        "constant": nll(np.full(len(y), np.clip(y.mean(), 1e-3, 1.0)), y).value,
    }


def _lead_s(one: ToldDrive, rate_hz: float) -> float:
    """Seconds before the departure from which on the dial was low to the end; 0: it was not."""
    last = one.stays[-round(LONGEST_LEAD_S * rate_hz) :]
    high = np.flatnonzero(~(last <= LOW))
    return float(len(last) - (high[-1] + 1 if len(high) else 0)) / rate_hz


def number_table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """condition -> `number_row`, as markdown."""
    lines = [
        "| drives | number | left the lane | dial at least 90 % | mean jump per 0.5 s | at most 50 % a second before | "
        "median lead, s | ECE of the hazard | NLL | NLL of a constant |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|---|---|")
    for name, row in rows.items():
        cells = [name, row["drives"], row["left"], f"{100 * row['well']:.1f} %", f"{row['jump']:.1f}"]
        cells += [f"{row['in_time']} of {row['left']}", "-" if np.isnan(row["lead"]) else f"{row['lead']:.2f}"]
        cells += [f"{row[key]:.3f}" for key in ("ece", "nll", "constant")]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def reason_table(drives: Sequence[ToldDrive]) -> str:
    """Fault by kind of reason: how many drives; and the reason given most often."""
    kinds = [*KINDS, "silent"]
    lines = ["| fault | " + " | ".join(kinds) + " | right | said most often |", "|---" * (len(kinds) + 3) + "|"]
    for fault in dict.fromkeys(one.fault for one in drives):
        own = [one for one in drives if one.fault == fault]
        counts = Counter(kind_of(one.reason) if one.reason else "silent" for one in own)
        spoken = len(own) - counts["silent"]
        right = sum(counts[kind] for kind in RIGHT.get(fault, ()))
        most = Counter(one.reason for one in own if one.reason).most_common(1)
        cells = [fault or "nominal", *(str(counts[kind] or "") for kind in kinds), f"{right} of {spoken}" if fault else ""]
        lines.append("| " + " | ".join([*cells, most[0][0] if most else ""]) + " |")
    return "\n".join(lines)
