"""A whole drive in one picture: the way on its track, and what the monitor said over time, with the faults shaded.

A second drive lies beside the first on the map and in the panels, such as the same one with the governor on.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path
from donkey_aicc.replay.run import Run
from donkey_aicc.tubs.near_duplicates import stretches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#12355b", "#d1495b")  # of the first and the second drive
FAULT_COLOURS = {"dark": "#5b5f97", "blur": "#2a9d8f", "bias": "#e76f51", "latency": "#e9a820"}
OTHER_FAULT = "#888888"
SAME_S = 2.0  # a shorter pause, such as putting the car back, does not end a fault
LABELLED_S = 3.0  # shorter pauses of the scores are shaded without a word
SMOOTH_S = 0.5  # single frames flicker
LARGEST_STEP_M = 0.6  # further apart, the car was put back: no line


def faults_of(run: Run) -> list[tuple[str, float, float]]:
    """(fault, from, to) in seconds of every injected stretch."""
    found: list[tuple[str, float, float]] = []
    names = run.words.get("inject_protocol", np.full(len(run), ""))
    for at, name in zip(run.t.tolist(), names.tolist(), strict=True):
        if name and found and found[-1][0] == name and at - found[-1][2] < SAME_S:
            found[-1] = (name, found[-1][1], at)
        elif name:
            found.append((name, at, at))
    return found


def certainty(run: Run, name: str) -> np.ndarray:
    """(N,) max(c, 1 - c) of a probability, averaged over the horizons: 1 is sure either way, 0.5 is "cannot tell"."""
    values = run.numbers.get(name, np.full((len(run), 1), np.nan)).reshape(len(run), -1)
    return np.maximum(values, 1.0 - values).mean(axis=1)


def check_picture_path(path: str | Path) -> None:
    """To be asked before minutes of scoring, not after."""
    if Path(path).suffix.lower() != ".png":
        raise AiccError(f"--picture must end in .png, got {path}")


def write_picture(runs: Sequence[Run], path: str | Path, names: Sequence[str] = ()) -> str:
    """Write it and say what is in it; names: of the drives, for the legend."""
    from matplotlib.figure import Figure

    first, panels = runs[0], [panel for panel in _panels(runs) if any(np.isfinite(line).any() for _, _, line, _ in panel[2])]
    figure = Figure(figsize=(14, 7.5), layout="constrained")
    tall = [1.6, *(1.0 for _ in panels[1:])]
    grid = figure.add_gridspec(len(tall), 2, width_ratios=(1, 1.8), height_ratios=tall)
    _draw_ways(figure.add_subplot(grid[:, 0]), runs, names)
    axes: list[Axes] = []
    for row, (label, limits, lines) in enumerate(panels):
        axis = figure.add_subplot(grid[row, 1], sharex=axes[0] if axes else None)
        for t, colour, values, name in lines:
            axis.plot(t, values, color=colour, linewidth=1.5, label=name or None)
        axis.set(ylabel=label, ylim=limits)
        if any(name for *_, name in lines):
            axis.legend(loc="lower left", frameon=False, ncols=2)
        axes.append(axis)
        axis.tick_params(labelbottom=row == len(panels) - 1)
    if axes:
        axes[-1].set(xlabel="seconds", xlim=(0, max(float(run.t[-1]) for run in runs)))
        _shade(axes, first)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=100, format="png")
    return f"{path}: {' and '.join(run.name for run in runs)}"


Line = tuple[np.ndarray, str, np.ndarray, str]  # t, colour, values, name


def _panels(runs: Sequence[Run]) -> Iterator[tuple[str, tuple[float | None, float | None], list[Line]]]:
    def lines(of: Any, name: str = "") -> list[Line]:
        return [(run.t, colour, of(run), name) for run, colour in zip(runs, COLOURS, strict=False)]

    raw = [(run.t, "#bbbbbb", _smooth(run, certainty(run, "p_safe")), "predictor alone") for run in runs[:1]]
    calibrated = lines(lambda run: _smooth(run, certainty(run, "confidence")), "calibrated")
    yield "certainty", (0.5, 1.02), raw + (calibrated if len(runs) == 1 else [(*line[:3], "") for line in calibrated])
    for name in ("rho", "delta"):
        yield name, (-0.03, 1.05), lines(lambda run, name=name: run.numbers.get(name, np.full(len(run), np.nan)))
    yield "|cte| m", (0.0, None), lines(lambda run: np.abs(run.numbers.get("cte", np.full(len(run), np.nan))))


def _smooth(run: Run, values: np.ndarray) -> np.ndarray:
    """Running mean of what is known."""
    known, kernel = np.isfinite(values), np.ones(max(1, round(SMOOTH_S * run.rate_hz)))
    total = np.convolve(np.where(known, values, 0.0), kernel)[: len(values)]
    count = np.convolve(known, kernel)[: len(values)]
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _shade(axes: "Sequence[Axes]", run: Run) -> None:
    for name, start, stop in faults_of(run):
        for axis in axes:
            axis.axvspan(start, stop, color=FAULT_COLOURS.get(name, OTHER_FAULT), alpha=0.22, linewidth=0)
        axes[0].text((start + stop) / 2, 1.0, name, ha="center", va="top", fontsize=11, color="#333333")
    ready = run.numbers.get("scores_valid")
    if ready is None:
        return
    for first, end in stretches(ready != 1.0):
        start, stop = run.t[first], run.t[min(end, len(run) - 1)]
        for axis in axes:
            axis.axvspan(start, stop, color="#000000", alpha=0.06, linewidth=0, hatch="//")
        if stop - start > LABELLED_S:
            axes[0].text(start + 0.2, 0.97, "warming up", va="top", fontsize=8, color="#777777")


def _draw_ways(axis: "Axes", runs: Sequence[Run], names: Sequence[str]) -> None:
    """The track if it is known, every way on it, and where the first fault begins."""
    if runs[0].track:
        draw_lane(axis, np.array(runs[0].track["points"]), runs[0].track["half_width_m"])
    axis.set_aspect("equal")
    axis.axis("off")
    for number, (run, colour) in enumerate(zip(runs, COLOURS, strict=False)):
        if not run.has_position:
            continue
        xy = np.stack([run.numbers["x"], run.numbers["y"]], axis=1).astype(np.float64)
        shown = xy.copy()
        shown[1:][~(np.hypot(*np.diff(xy, axis=0).T) <= LARGEST_STEP_M)] = np.nan
        axis.plot(*shown.T, color=colour, linewidth=1.4, label=names[number] if names else run.name)
        axis.plot(*xy[-1], marker="o", color=colour)
        for name, start, stop in faults_of(run) if number == 0 else ():
            rows, colour = slice(run.row_at(start), run.row_at(stop) + 1), FAULT_COLOURS.get(name, OTHER_FAULT)
            if len(runs) == 1:
                axis.plot(*shown[rows].T, color=colour, linewidth=3.0, label=name)
            else:
                axis.plot(*xy[rows.start], "v", color=colour, markersize=10, label=f"{name} begins", zorder=9)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)


def draw_lane(axis: "Axes", centreline: np.ndarray, half_width_m: float) -> None:
    """Both edges of the lane; centreline: (P, 2) metres, closed."""
    line = np.vstack([centreline, centreline[:1]])
    along = np.gradient(line, axis=0)
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
    for side in (-1.0, 1.0):
        axis.plot(*(line + side * half_width_m * normal).T, color="#bbbbbb", linewidth=1.2)
