"""Paths with and without the governor, the same seed, one panel per protocol."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.faults.protocols import PROTOCOLS
from donkey_aicc.files import atomic_path
from donkey_aicc.replay.drive_picture import draw_lane
from donkey_aicc.simulator.tracks import make_track
from studies.governor.rivals import OFF, OURS
from studies.governor.table import SEVERE

WITHOUT, WITH = "#d1495b", "#12355b"


def draw_paths(drives: Sequence[Mapping[str, Any]], track: str, path: Path) -> None:
    """For each protocol the first severe drive that leaves its lane without the governor, and the same one with it."""
    from matplotlib.figure import Figure

    by_case = {(d["case"]["governor"], d["case"]["protocol"], d["case"]["severity"], d["case"]["seed"]): d for d in drives}
    figure, lane = Figure(figsize=(11, 7.5), layout="constrained"), make_track(track)
    handles: tuple[list[Any], list[Any]] = ([], [])
    for axis, protocol in zip(figure.subplots(2, 2).ravel(), PROTOCOLS, strict=True):
        draw_lane(axis, lane.centreline, lane.half_width_m)
        axis.set_aspect("equal")
        axis.axis("off")
        pair = _pair(by_case, protocol)
        axis.set_title(protocol.capitalize() + ("" if pair else ": no drive left the lane"), fontsize=11)
        if pair is None:
            continue
        off, on = pair
        axis.set_title(f"{protocol.capitalize()}:{off['case']['severity']}, seed {off['case']['seed']}", fontsize=11)
        for one, colour, label in ((off, WITHOUT, "without governor"), (on, WITH, "with governor")):
            xy = np.array(one["path"])
            axis.plot(*xy.T, color=colour, linewidth=1.6, label=label)
            axis.plot(*xy[-1], marker="X" if one["outcome"]["left_lane_at"] >= 0 else "o", color=colour, markersize=7)
        axis.plot(
            *np.array(on["path"])[min(on["case"]["begin"], len(on["path"]) - 1)],
            marker="v",
            color="#444444",
            label="fault begins",
        )
        handles = axis.get_legend_handles_labels()
    if handles[0]:
        figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(f"The same drives on '{track}' with and without the governor (X: out of the lane, dot: stopped inside)")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=100, format="png")


def _pair(by_case: Mapping[tuple[Any, ...], Any], protocol: str) -> tuple[Any, Any] | None:
    for (governor, name, severity, seed), off in sorted(by_case.items(), key=lambda item: str(item[0])):
        on = by_case.get((OURS, name, severity, seed))
        if governor != OFF or name != protocol or severity not in SEVERE or on is None:
            continue
        if off["outcome"]["left_lane_at"] >= 0:
            return off, on
    return None
