"""The faults that nothing was fitted on, class by class: what the governor saves, what it costs, and what nothing could save."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from donkey_aicc.alarm.timing import HELD_S, frames_in
from studies.governor.own_faults import CLASSES, OWN_FAULTS
from studies.governor.rivals import OFF, OURS
from studies.governor.table import RATE_HZ, Drive, time_lost

BRAKE_M = 0.2  # of a stop from the usual speed (tests/alarm/test_brake.py)
HELD = frames_in(HELD_S, RATE_HZ)  # above the threshold until a level begins
ALL = "all"


def class_rows(drives: Sequence[Drive]) -> list[dict[str, Any]]:
    """A row per class and one for all; a pair is the same drive without and with the governor."""
    known = {_key(drive): drive for drive in drives}
    pairs = []
    for drive in drives:
        case = drive["case"]
        off = known.get((*_key(drive)[:-1], OFF))
        if case["governor"] == OURS and case["protocol"] in OWN_FAULTS and off is not None:
            pairs.append((OWN_FAULTS[case["protocol"]].kind, case["protocol"], off, drive["outcome"]))
    return [_row(kind, [pair for pair in pairs if kind in (pair[0], ALL)]) for kind in (*CLASSES, ALL)]


def _key(drive: Drive) -> tuple[Any, ...]:
    return tuple(drive["case"][name] for name in ("track", "protocol", "severity", "seed", "governor"))


def _row(kind: str, pairs: Sequence[tuple[str, str, Drive, Mapping[str, Any]]]) -> dict[str, Any]:
    leaves = [(off, on) for _, _, off, on in pairs if off["outcome"]["left_lane_at"] >= 0]
    stays = [(off, on) for _, _, off, on in pairs if off["outcome"]["left_lane_at"] < 0]
    leads = [(off["outcome"]["left_lane_at"] - on["danger_at"]) / RATE_HZ for off, on in leaves if on["danger_at"] >= 0]
    known = [lead for lead in leads if lead > 0.0]
    late = [_too_near(off) for off, _ in leaves]
    return {
        "class": kind,
        "faults": len({name for _, name, _, _ in pairs}),
        "drives": len(pairs),
        "left_without": len(leaves),
        "left_with": sum(on["left_lane_at"] >= 0 for _, _, _, on in pairs),
        "danger_before": len(known),
        "a_second_before": sum(lead >= 1.0 for lead in known),
        "median_lead_s": float(np.median(known)) if known else None,
        "beyond_the_limit": sum(late),
        "foreseeable_left_with": sum(on["left_lane_at"] >= 0 for (_, on), too in zip(leaves, late, strict=True) if not too),
        "needless_stops": sum(on["stopped_at"] >= 0 for _, on in stays),
        "stays": len(stays),
    }


def _too_near(off: Drive) -> bool:
    """From the fault to the lane's edge the car has less way than the alarm's frames in a row and the brake need."""
    left, begin = off["outcome"]["left_lane_at"], off["case"]["begin"]
    path = np.array(off["path"][begin : begin + left + 1])
    steps = np.hypot(*np.diff(path, axis=0).T)
    return bool(steps.sum() < BRAKE_M + HELD * steps[: HELD + 1].mean())


def class_markdown(drives: Sequence[Drive]) -> str:
    """The table, and what nominal laps of the same campaign cost."""
    lines = [
        "| faults | left the lane without -> with | `danger` before leaving (a second ahead) | median lead, s "
        "| no alarm could save | left of the others | needless stops |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in class_rows(drives):
        lead = "-" if row["median_lead_s"] is None else f"{row['median_lead_s']:.2f}"
        cells = [f"{row['class']} ({row['faults']})", f"{row['left_without']} -> {row['left_with']} of {row['drives']}"]
        cells += [f"{row['danger_before']} ({row['a_second_before']})", lead, str(row["beyond_the_limit"])]
        cells += [f"{row['foreseeable_left_with']} of {row['left_without'] - row['beyond_the_limit']}"]
        lines.append("| " + " | ".join([*cells, f"{row['needless_stops']} of {row['stays']}"]) + " |")
    nominal = [drive for drive in drives if not drive["case"]["protocol"]]
    ours = [drive for drive in nominal if drive["case"]["governor"] == OURS]
    if ours:
        stops, lost = sum(drive["outcome"]["stopped_at"] >= 0 for drive in ours), time_lost(nominal)
        lines += ["", f"Nominal drives of a lap: {stops} of {len(ours)} stopped, {100 * (lost or 0.0):.1f} % of the time lost."]
    return "\n".join(lines) + "\n"
