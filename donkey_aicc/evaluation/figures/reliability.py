"""Reliability diagrams over all protocols and the horizons 5 to 50 (the paper's figure)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.calibration.catalogue import BASELINES, OURS
from donkey_aicc.evaluation.figures.style import INK, PALE, method_colour, new_figure, panels
from donkey_aicc.evaluation.methods import HEATED_TO_OURS, PLUS
from donkey_aicc.evaluation.tables import NOBODY, Beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = (*BASELINES, OURS, PLUS, HEATED_TO_OURS)
_COLUMNS = 3
_SHORT = {HEATED_TO_OURS: "Uniform heating", OURS: "Ours"}


def draw_reliability(results: dict[str, Any], beside: Beside = NOBODY) -> "Figure":
    """Bars: share of right predictions; the hatched part up to the diagonal is the gap."""
    names = [name for name in SHOWN if name in results["reliability"]["methods"]]
    rows = (len(names) + _COLUMNS - 1) // _COLUMNS
    figure = new_figure(8.4, 2.8 * rows)
    grid = panels(figure, rows, _COLUMNS, sharex=True, sharey=True)
    edges = np.array(results["reliability"]["edges"])
    for number, axes in enumerate(grid.ravel()):
        if number >= len(names):
            axes.axis("off")
            continue
        name = names[number]
        _panel(axes, edges, results["reliability"]["methods"][name], method_colour(name))
        axes.set_title(_SHORT.get(name, results["calibration"][name]["label"]), color=method_colour(name))
        _error(axes, results["reliability"]["methods"][name]["error"], beside.reliability_error.get(name), beside.label)
        axes.tick_params(labelleft=True, labelbottom=True)
        if number % _COLUMNS == 0:
            axes.set_ylabel("share right")
        if number >= len(names) - _COLUMNS:
            axes.set_xlabel("confidence in the prediction")
    return figure


def _panel(axes: "Axes", edges: np.ndarray, stored: dict[str, Any], colour: str) -> None:
    left = np.maximum(edges[:-1], 0.5)
    width = edges[1:] - left
    count = np.array(stored["count"], dtype=np.float64)
    filled = np.array([value is not None for value in stored["accuracy"]]) & (count > 0)
    accuracy, confidence = (_filled(stored[key]) for key in ("accuracy", "confidence"))
    axes.bar(
        left[filled], accuracy[filled], width[filled], align="edge", color=colour, alpha=0.75, edgecolor="white", linewidth=0.6
    )
    bottom, height = np.minimum(accuracy, confidence), np.abs(accuracy - confidence)
    axes.bar(
        left[filled],
        height[filled],
        width[filled],
        bottom=bottom[filled],
        align="edge",
        facecolor="none",
        edgecolor=INK,
        hatch="////",
        linewidth=0.5,
        alpha=0.55,
    )
    axes.plot([0.5, 1.0], [0.5, 1.0], color=PALE, linestyle=(0, (4, 2)), linewidth=1)
    share = count / max(count.sum(), 1.0)
    axes.scatter(
        left + width / 2, np.full(len(left), 0.035), s=90 * share + 0.5, color=INK, alpha=0.6, linewidth=0, clip_on=False
    )
    axes.set_xlim(0.5, 1.0)
    axes.set_ylim(0.0, 1.02)


def _error(axes: "Axes", error: float | None, other: float | None, label: str) -> None:
    text = "no samples" if error is None else f"error {100 * error:.1f}"
    if other is not None:
        text += f"\n{label} {100 * other:.1f}"
    axes.text(0.03, 0.96, text, transform=axes.transAxes, va="top", fontsize=9, color=INK)


def _filled(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
