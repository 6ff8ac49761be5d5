"""Is the alarm quiet on nominal drives of the same day and of another, and does it still see what it must?

Everything goes through `AlarmStream`, the code of the car, drive after drive of one day in the order of recording.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel, AlarmStream
from donkey_aicc.alarm.alarm_policy import DANGER, NONE, WATCH
from donkey_aicc.alarm.pieces import piece_numbers
from donkey_aicc.alarm.signs import table_signs
from donkey_aicc.evaluation.metrics import auroc
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.tubs.drive import Drive
from studies.real_car.recorded_faults import CameraFiles, held_out_piece, under_fault

AS_IS, CONFIRMED, REPORTED = WAYS = ("before any adaptation", "after one confirmed lap", "every alarm reported as false")
PIECES, PIECE_FRAMES = 4, 140  # of held-out drives, under every fault
ONSET_FRAMES = 20  # a second until a fault counts: the windows of the signs must have seen it
DELAYS_S = (0.2, 0.4)
SEVERITIES = (2, 3, 4, 5)
STRETCH_FRAMES = 200  # of a tub from elsewhere, each as if the car had just been switched on
MOST_STRETCHES = 16
SOON_S = 2.0
REACT_S = 1.0  # from the beginning of an alarm to the driver's press


@dataclass(frozen=True)
class Driven:
    """N rows of a table, in its order. counts: False before the lap that the driver confirmed."""

    score: np.ndarray
    level: np.ndarray
    counts: np.ndarray


def drive(model: AlarmModel, table: ScoreTable, statistics: ScoreStatistics, way: str = AS_IS, rate_hz: float = 20.0) -> Driven:
    """What the car would have shown in these drives of one day."""
    signs = table_signs(table, statistics, model.signs)
    spread = statistics.scores(table).get("tta_spread")
    stream = AlarmStream(model, tuple(int(step) for step in table.horizons))
    score, level, counts = np.zeros(len(table)), np.full(len(table), NONE, dtype="U8"), np.full(len(table), way != CONFIRMED)
    confirmed, shown = way != CONFIRMED, 0
    for name in table.sequences():
        stream.reset()
        for row in np.flatnonzero(table.sequence == name):
            reading = stream.step(signs[row], table.p_tta[row], None if spread is None else float(spread[row]))
            score[row], level[row], counts[row] = reading.score, reading.level, confirmed
            if not confirmed and stream.lap_driven:
                stream.recentre()
                confirmed = True
            shown = shown + 1 if reading.level != NONE else 0
            if way == REPORTED and shown == round(REACT_S * rate_hz):
                stream.policy.false_alarm()
                shown = 0
    return Driven(score, level, counts)


def quietness(model: AlarmModel, table: ScoreTable, statistics: ScoreStatistics, rate_hz: float) -> dict[str, Any]:
    """way -> how many nominal pieces had which level, and in which share of their frames."""
    found: dict[str, Any] = {}
    for way in WAYS:
        driven = drive(model, table, statistics, way, rate_hz)
        own = table.select(np.flatnonzero(driven.counts))
        level = driven.level[driven.counts]
        if not len(own):
            found[way] = {"pieces": 0}
            continue
        piece = piece_numbers(own, model.piece.frames)
        found[way] = {"pieces": int(piece.max()) + 1, "frames": len(own)} | {
            name: {"pieces": len(np.unique(piece[level == name])), "share": round(float((level == name).mean()), 4)}
            for name in (WATCH, DANGER)
        }
    return found


def faulty_pieces(drives: Sequence[Drive], rate_hz: float, files: CameraFiles, seed: int = 0) -> dict[str, list[Drive]]:
    """fault -> pieces of held-out drives under it from their first frame on; only pictures change."""
    chosen = sorted(drives, key=len, reverse=True)[:PIECES]
    pieces = [held_out_piece(each, PIECE_FRAMES, seed)[0] for each in chosen if len(each) >= 2 * ONSET_FRAMES]
    made = {
        f"{protocol} {severity}": [under_fault(piece, protocol, severity, rate_hz, seed, files) for piece in pieces]
        for protocol in ("dark", "blur")
        for severity in SEVERITIES
    }
    frames = np.arange(PIECE_FRAMES)
    made["frozen"] = [_seen_at(piece, np.minimum(frames, ONSET_FRAMES // 2), "frozen") for piece in pieces]
    for delay_s in DELAYS_S:
        name, late = f"delayed {1000 * delay_s:.0f} ms", np.maximum(frames - round(delay_s * rate_hz), 0)
        made[name] = [_seen_at(piece, late, name) for piece in pieces]
    return made


def _seen_at(piece: Drive, rows: np.ndarray, name: str) -> Drive:
    """The piece with its commands, and with pictures of other moments."""
    changed = replace(piece, id=f"{piece.id}~{name}", images=np.ascontiguousarray(piece.images[rows[: len(piece)]]))
    changed.__dict__.pop("content_hash", None)
    return changed


def seen(
    model: AlarmModel, statistics: ScoreStatistics, nominal: ScoreTable, faulty: Mapping[str, ScoreTable]
) -> dict[str, dict[str, float]]:
    """fault -> AUROC of the combined sign against held-out nominal frames, and the share of the faulty frames in danger."""
    calm = drive(model, nominal, statistics).score
    found = {}
    for name, table in faulty.items():
        driven = drive(model, table, statistics)
        late = np.concatenate([np.arange(int((table.sequence == each).sum())) >= ONSET_FRAMES for each in table.sequences()])
        odd, level = driven.score[late], driven.level[late]
        area = auroc(np.concatenate([odd, calm]), np.concatenate([np.ones(len(odd)), np.zeros(len(calm))]))
        found[name] = {"auroc": round(area.value, 4), "danger": round(float((level == DANGER).mean()), 4)}
    return found


def announced(model: AlarmModel, table: ScoreTable, statistics: ScoreStatistics, rate_hz: float) -> dict[str, Any]:
    """Seconds until the first alarm, and until danger, in stretches of a tub from elsewhere, each as if just switched on."""
    signs, first = table_signs(table, statistics, model.signs), []
    for name in table.sequences():
        stream = AlarmStream(model, tuple(int(step) for step in table.horizons))
        level = np.array([stream.step(signs[row]).level for row in np.flatnonzero(table.sequence == name)])
        first.append([_first(level != NONE) / rate_hz, _first(level == DANGER) / rate_hz])
    found: dict[str, Any] = {"stretches": len(first)}
    for what, times in zip(("any", DANGER), np.array(first).T, strict=True):
        usual = float(np.median(times))
        share = round(float((times <= SOON_S).mean()), 4)
        found[what] = {"soon": share, "median_s": round(usual, 2) if np.isfinite(usual) else None}
    return found


def _first(here: np.ndarray) -> float:
    return float(here.argmax()) if here.any() else math.inf


def stretches(drives: Sequence[Drive]) -> list[Drive]:
    """Of STRETCH_FRAMES each, MOST_STRETCHES spread over the tub; what is left over at the end of a drive stays out."""
    places = [(each, start) for each in drives for start in range(0, len(each) - STRETCH_FRAMES + 1, STRETCH_FRAMES)]
    chosen = np.unique(np.linspace(0, len(places) - 1, min(MOST_STRETCHES, len(places))).astype(int))
    return [places[number][0].part(places[number][1], places[number][1] + STRETCH_FRAMES) for number in chosen]


def described(results: dict[str, Any]) -> list[str]:
    """The promise, and below it what was found, for a terminal and for a page."""
    lines = [*results["promise"], "", "| drives | | danger: pieces | danger: frames | watch: frames |", "|---|---|---|---|---|"]
    for name, found in {"same day, held out": results["same day"], **results["other days"]}.items():
        for way, cell in found.items():
            if not cell["pieces"]:
                lines.append(f"| {name} | {way} | less than a lap | | |")
                continue
            shares = [f"{100 * cell[level]['share']:.2f} %" for level in (DANGER, WATCH)]
            lines.append(f"| {name} | {way} | {cell[DANGER]['pieces']} of {cell['pieces']} | {' | '.join(shares)} |")
    for name, cell in results["elsewhere"].items():
        for what in ("any", DANGER):
            usual = "never" if cell[what]["median_s"] is None else f"after {cell[what]['median_s']:.2f} s"
            soon = f"in {100 * cell[what]['soon']:.0f} % of {cell['stretches']} stretches within {SOON_S:g} s"
            lines.append(f"{name}: {'watch or danger' if what == 'any' else what} {soon}, usually {usual}")
    if "faults" in results:
        lines += ["", "| fault | AUROC of the combined sign | frames in danger |", "|---|---|---|"]
        lines += [f"| {name} | {cell['auroc']:.3f} | {100 * cell['danger']:.0f} % |" for name, cell in results["faults"].items()]
    return lines
