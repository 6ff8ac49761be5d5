"""Tables of the comparison between closed and open loop, from open_loop.json alone."""

from pathlib import Path
from typing import Any

from donkey_aicc.evaluation.tables import Column, Row, Table, Value
from donkey_aicc.files import read_json
from studies.loop_comparison import LOOPS, OPEN_LOOP, POOLED


def read_open_loop(folder: str | Path) -> dict[str, Any] | None:
    """open_loop.json of that folder; None where there is none."""
    path = Path(folder) / f"{OPEN_LOOP}.json"
    return read_json(path, "make it with: python -m studies experiment --extras") if path.exists() else None


def loop_tables(results: dict[str, Any]) -> list[Table]:
    """What the scores detect, and where car and scores stand."""
    return [_auroc_table(results), _means_table(results)]


def _auroc_table(results: dict[str, Any]) -> Table:
    columns = [Column("frames", "Frames", 0)]
    for score, label in results["settings"]["scores"].items():
        columns += [Column(f"{score}_{loop}", f"{label}, {loop}") for loop in LOOPS]
    columns.append(Column("rho_difference", "rho, closed - open", text=True))
    rows = [Row("no fault", _aurocs(dict.fromkeys(LOOPS, results["without_fault"])) | _frames(results["without_fault"]))]
    for fault in results["faults"].values():
        for label, cell in _labelled(fault):
            difference = cell["closed_minus_open"]["rho"]
            bounds = f" ({difference['low']:+.3f} to {difference['high']:+.3f})" if difference["low"] is not None else ""
            values = _aurocs(cell) | {"rho_difference": Value(text=f"{difference['value']:+.3f}{bounds}")}
            rows.append(Row(label, values | _frames(cell), fault["label"]))
    about, settings = results["about"], results["settings"]
    note = (
        " ".join(results["conclusion"])
        + f" AUROC of frames under the fault against {settings['nominal_test_frames']} nominal test frames of "
        f"{settings['nominal_test_drives']} drives. {settings['drives']} drives of {about['frames']} frames for each fault and "
        f"severity, the fault after {about['warm_up_frames']}: in closed loop the car executes the faulty commands; in open loop "
        "the same fault changes the recorded commands of the same drive without a fault. Both count the same frames, up to a "
        "departure. Camera frames are never touched. The context of the first faulty frames still holds the start from rest, "
        "which lifts rho in both loops: compare the loops with each other. In brackets: 95 % over drives drawn anew."
    )
    return Table(OPEN_LOOP, "Is the gap between perception and dynamics closed by the loop?", columns, rows, note, "Severity")


def _means_table(results: dict[str, Any]) -> Table:
    columns = [Column("departures", "Departures", text=True)]
    columns += [Column(f"cte_{loop}", f"mean |cte|, m, {loop}") for loop in LOOPS]
    for score in ("rho", "delta"):
        columns += [Column(f"{score}_{loop}", f"mean {score}, {loop}", 2) for loop in LOOPS]
    columns += [Column(f"feature_{loop}", f"feature of delta that moves most, {loop}", text=True) for loop in LOOPS]
    rows = [Row("no fault", _means(dict.fromkeys(LOOPS, results["without_fault"])))]
    for fault in results["faults"].values():
        for severity, cell in fault["severities"].items():
            if severity != POOLED:
                departed = Value(text=f"{cell['departures']} of {cell['drives_recorded']}")
                rows.append(Row(severity, _means(cell) | {"departures": departed}, fault["label"]))
    note = (
        "Means over the same frames. rho and delta are unclipped: 0 is the nominal mean, 1 stands two nominal standard "
        "deviations above it. The shift of a feature is in nominal standard deviations."
    )
    return Table("open_loop_means", "The same drives: path and scores", columns, rows, note, "Severity")


def _labelled(fault: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    cells = [("all" if name == POOLED else name, cell) for name, cell in fault["severities"].items()]
    return cells + [(f"all, frames {name} of the fault", cell) for name, cell in fault["ages"].items()]


def _frames(cell: dict[str, Any]) -> dict[str, Value]:
    return {"frames": Value(cell["frames"])}


def _aurocs(cell: dict[str, Any]) -> dict[str, Value]:
    return {f"{score}_{loop}": Value(measured["auroc"]) for loop in LOOPS for score, measured in cell[loop]["scores"].items()}


def _means(cell: dict[str, Any]) -> dict[str, Value]:
    found = {}
    for loop in LOOPS:
        side = cell[loop]
        found[f"cte_{loop}"] = Value(side["mean_abs_cte_m"])
        for score in ("rho", "delta"):
            found[f"{score}_{loop}"] = Value(side["scores"][score]["mean"])
        name = side["most_shifted"]
        found[f"feature_{loop}"] = Value(text=f"{name} {side['feature_shift'][name]:+.1f}")
    return found
