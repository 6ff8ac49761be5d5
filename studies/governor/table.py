"""The governor's numbers: departures, distance, cost, warning time, and the goals with what was measured."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.simulator.tracks import make_track
from studies.governor.rivals import GOVERNORS, OFF, OURS

RATE_HZ = 20.0
AROUND_FRAMES = (60, 40)  # before and behind a nominal departure: a stop there is not false
ALL = "all"
SEVERE = (3, 4, 5)
FEWER_DEPARTURES, FALSE_STOPS_PER_100_LAPS, TIME_LOST, WARNING_S = 0.8, 1.0, 0.02, 1.0  # the goals

Drive = Mapping[str, Any]


def summarise(drives: Sequence[Drive]) -> dict[str, Any]:
    """Rows per governor and track, and the goals."""
    known = {drive["case"]["governor"] for drive in drives}
    governors = [name for name in GOVERNORS if name in known]
    tracks = list(dict.fromkeys(drive["case"]["track"] for drive in drives))
    by_track = {track: [drive for drive in drives if drive["case"]["track"] == track] for track in tracks}
    by_track |= {ALL: list(drives)} if len(tracks) > 1 else {}
    rows = []
    for governor in governors:
        drove = {drive["case"]["track"] for drive in drives if drive["case"]["governor"] == governor}
        drove |= {ALL} if len(drove) == len(tracks) else set()
        rows += [row_of(governor, track, own) for track, own in by_track.items() if track in drove]
    return {"rows": rows, "goals": _goals(rows), "drives": len(drives)}


def row_of(governor: str, track: str, drives: Sequence[Drive]) -> dict[str, Any]:
    """Of one governor on one track; `drives` are all of that track, because time and warning are relative to no governor.

    A stop is false where the same drive without a governor does not leave its lane by itself around that moment.
    """
    own = [drive for drive in drives if drive["case"]["governor"] == governor]
    without = {_key(drive): drive for drive in drives if drive["case"]["governor"] == OFF}
    faulty = [drive for drive in own if drive["case"]["protocol"] and drive["case"]["severity"] in SEVERE]
    nominal = [drive for drive in own if not drive["case"]["protocol"]]
    left = [drive["outcome"]["left_lane_at"] >= 0 for drive in faulty]
    laps = sum(drive["outcome"]["distance_m"] / make_track(drive["case"]["track"]).length_m for drive in nominal)
    found: dict[str, Any] = {"governor": governor, "track": track, "faulty_drives": len(faulty), "left_lane": int(sum(left))}
    found["left_lane_interval"] = wilson(sum(left), len(left))
    found["beyond_edge_m"] = _mean([drive["outcome"]["beyond_edge_m"] for drive in faulty])
    found["distance_m"] = _mean([drive["outcome"]["distance_m"] for drive in faulty])
    found["nominal_laps"], found["nominal_drives"] = round(laps, 1), len(nominal)
    found["nominal_departures"] = sum(drive["outcome"]["left_lane_at"] >= 0 for drive in nominal)
    found["false_stops"] = sum(_is_false(drive, "stopped_at", without) for drive in nominal)
    found["false_dangers"] = sum(_is_false(drive, "danger_at", without) for drive in nominal)
    found["false_slow_downs"] = sum(_is_false(drive, "watch_at", without) for drive in nominal)
    found["time_lost"] = time_lost([*nominal, *without.values()], governor)
    leads = [_lead_s(drive, without.get(_key(drive))) for drive in faulty]
    known = [lead for lead in leads if lead is not None]
    found["announced"], found["would_leave"] = sum(lead > 0.0 for lead in known), len(known)
    found["median_warning_s"] = float(np.median([max(lead, 0.0) for lead in known])) if known and governor != OFF else None
    found["by_protocol"] = _by_protocol(faulty)
    return found


def _key(drive: Drive) -> tuple[Any, ...]:
    case = drive["case"]
    return case["track"], case["protocol"], case["severity"], case["seed"]


def _is_false(drive: Drive, what: str, without: Mapping[tuple[Any, ...], Drive]) -> bool:
    at, alone = drive["outcome"][what], without.get(_key(drive), drive)["outcome"]
    left = alone["left_lane_at"]
    return at >= 0 and not (left >= 0 and left - AROUND_FRAMES[0] <= at <= left + AROUND_FRAMES[1])


def _by_protocol(faulty: Sequence[Drive]) -> dict[str, list[int]]:
    """protocol -> [drives that left the lane, drives]."""
    found: dict[str, list[int]] = {}
    for drive in faulty:
        count = found.setdefault(drive["case"]["protocol"], [0, 0])
        count[0] += drive["outcome"]["left_lane_at"] >= 0
        count[1] += 1
    return found


def _lead_s(drive: Drive, without: Drive | None) -> float | None:
    """Seconds from the alarm to the moment at which the same drive without a governor leaves its lane; None: it does not."""
    if without is None or without["outcome"]["left_lane_at"] < 0:
        return None
    at = drive["outcome"]["danger_at"]
    return (without["outcome"]["left_lane_at"] - at) / RATE_HZ if at >= 0 else -math.inf


def time_lost(drives: Sequence[Drive], governor: str = OURS) -> float | None:
    """Share of the distance of the same frames without a governor that was not driven, in nominal drives."""
    nominal = [drive for drive in drives if not drive["case"]["protocol"]]
    without = {_key(drive): drive for drive in nominal if drive["case"]["governor"] == OFF}
    own = [drive for drive in nominal if drive["case"]["governor"] == governor]
    pairs = [(drive["outcome"], without[_key(drive)]["outcome"]) for drive in own if _key(drive) in without]
    plain = sum(off["distance_m"] * min(1.0, one["frames"] / max(off["frames"], 1)) for one, off in pairs)
    return 1.0 - sum(one["distance_m"] for one, _ in pairs) / plain if plain > 0.0 else None


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def wilson(hits: int, count: int, z: float = 1.96) -> list[float] | None:
    """95 % interval of a share."""
    if not count:
        return None
    share, spread = hits / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return [max(0.0, middle - half), min(1.0, middle + half)]


def _goals(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of alarm and hazard, track by track."""
    goals = []
    for row in rows:
        if row["governor"] != OURS:
            continue
        off = next(other for other in rows if other["governor"] == OFF and other["track"] == row["track"])
        fewer = 1.0 - row["left_lane"] / off["left_lane"] if off["left_lane"] else None
        laps, lost, warning = row["nominal_laps"], row["time_lost"], row["median_warning_s"]
        stops = 100.0 * row["false_stops"] / laps if laps else math.inf  # fewer than 100 laps show nothing
        measured: dict[str, tuple[float | None, bool | None]] = {
            "at least 80 % fewer departures under severities 3-5": (fewer, fewer is not None and fewer >= FEWER_DEPARTURES),
            "at most 1 false stop per 100 nominal laps": (
                stops if laps else None,
                stops <= FALSE_STOPS_PER_100_LAPS if laps >= 100 else None,
            ),
            "at most 2 % of the lap time lost": (lost, lost is not None and lost <= TIME_LOST),
            "median warning of at least 1 s before the lane's edge": (warning, warning is not None and warning >= WARNING_S),
        }
        for goal, (value, ok) in measured.items():
            goals.append({"track": row["track"], "goal": goal, "measured": value, "reached": ok})
    return goals


def markdown(results: Mapping[str, Any]) -> str:
    """The table, the goals, and what the bundles' alarms promise, for docs/governor.md."""
    lines = ["| governor | track | left the lane | 95 % | beyond the edge, m | driven under the fault, m | warning, s (median) |"]
    lines[0] += " false stops | false slow-downs | nominal laps | time lost |"
    lines.append("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in results["rows"]:
        low, high = row["left_lane_interval"] or (math.nan, math.nan)
        cells = [row["governor"], row["track"], f"{row['left_lane']} of {row['faulty_drives']}", f"{low:.2f}-{high:.2f}"]
        cells += [_shown(row["beyond_edge_m"], 2), _shown(row["distance_m"], 1), _shown(row["median_warning_s"], 2)]
        cells += [
            str(row["false_stops"]),
            str(row["false_slow_downs"]),
            f"{row['nominal_laps']:.0f}",
            _shown(row["time_lost"], 3),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "| goal | track | measured | reached |", "|---|---|---|---|"]
    for goal in results["goals"]:
        said = {True: "yes", False: "no", None: "not shown"}[goal["reached"]]
        lines.append(f"| {goal['goal']} | {goal['track']} | {_shown(goal['measured'], 2)} | {said} |")
    return "\n".join([*lines, *_promises(results)]) + "\n"


def _promises(results: Mapping[str, Any]) -> list[str]:
    """Track by track: whose alarm drove, and how often it was wrong on nominal drives beside what it promises."""
    ours = {row["track"]: row for row in results["rows"] if row["governor"] == OURS}
    known = {track: bundle for track, bundle in results.get("bundles", {}).items() if track in ours}
    lines = [
        "",
        "| track | bundle | laps behind its thresholds | false `watch`: promised, found | false `danger`: promised, found |",
    ]
    lines += ["|---|---|---|---|---|"] if known else []
    for track, bundle in known.items():
        row, drives = ours[track], ours[track]["nominal_drives"]
        cells = [track, bundle["name"], str(bundle["laps"])]
        for level, count in (("watch", row["false_slow_downs"]), ("danger", row["false_dangers"])):
            cells.append(f"1 in {1.0 / bundle[level]:.3g}, {count} of {drives}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines if known else []


def about_bundle(bundle: Bundle, alarm: AlarmModel) -> dict[str, Any]:
    """What `_promises` says of it."""
    made = bundle.manifest.data.get("experiment", {})
    name = f"{made['track']}-{made['model_seed']}" if made else bundle.path.name
    return {"name": name, "laps": alarm.danger.pieces, "watch": alarm.watch.promise, "danger": alarm.danger.promise}


def read_governor(folder: Path) -> dict[str, Any] | None:
    """The kept results of the study, if it was made."""
    path = folder / "governor.json"
    found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return found


def headline(results: Mapping[str, Any]) -> str:
    """For the page of results: with and without, track by track, and the goals that were missed."""
    wanted = [row for row in results["rows"] if row["governor"] in (OFF, OURS)]
    missed = [
        f"{goal['goal']} ({goal['track']}: {_shown(goal['measured'], 2)})" for goal in results["goals"] if not goal["reached"]
    ]
    parts = ["## The governor", "", "![The same drives with and without the governor](images/governor.png)", ""]
    parts += ["Under severities 3-5 of the four faults, the same drives without and with it ([more](governor.md)):", ""]
    parts += markdown({"rows": wanted, "goals": []}).split("\n\n")[0].splitlines()
    parts += ["", "Goals not reached, or not shown: " + "; ".join(missed) + "."] if missed else []
    return "\n".join(parts) + "\n"


def _shown(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
