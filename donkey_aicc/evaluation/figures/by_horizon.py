"""Calibration error against the horizon, one panel per condition (the paper's figures of ECE, ACE and SCE)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.calibration.catalogue import BASELINES, OURS
from donkey_aicc.evaluation.conditions import NOMINAL
from donkey_aicc.evaluation.figures.style import condition_colour, legend_panel, method_colour, new_figure, panels
from donkey_aicc.evaluation.methods import PLUS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = (*BASELINES, "pooled_temperature", OURS, PLUS)
_MARKERS = {"none": "o", "temperature": "s", "platt": "^", "isotonic": "v", "histogram": "D", "dac": "P", OURS: "o", PLUS: "o"}


def draw_metric_by_horizon(results: dict[str, Any], metric: str) -> "Figure":
    """metric: ece, ace or sce."""
    horizons = results["settings"]["horizons"]
    conditions = [*results["settings"]["protocols"], NOMINAL]
    columns = 3
    rows = (len(conditions) + 1 + columns - 1) // columns
    figure = new_figure(9.2, 2.75 * rows)
    grid = panels(figure, rows, columns, sharex=True, sharey=True)
    for number, axes in enumerate(grid.ravel()):
        if number < len(conditions):
            _panel(axes, results, metric, conditions[number], horizons)
            axes.tick_params(labelleft=True, labelbottom=True)
            if number % columns == 0:
                axes.set_ylabel(metric.upper())
            axes.set_xlabel("steps ahead, k")
        elif number == len(conditions):
            legend_panel(axes, grid[0, 0])
        else:
            axes.axis("off")
    grid[0, 0].set_ylim(bottom=0)
    return figure


def _panel(axes: "Axes", results: dict[str, Any], metric: str, condition: str, horizons: list[int]) -> None:
    for name in SHOWN:
        stored = results["by_horizon"][metric].get(name)
        if stored is None:
            continue
        mean, std = (_numbers(stored[condition][key]) for key in ("mean", "std"))
        strong = name in (OURS, PLUS)
        axes.plot(
            horizons,
            mean,
            color=method_colour(name),
            linewidth=2.4 if strong else 1.2,
            linestyle=(0, (4, 2)) if name == "pooled_temperature" else "-",
            marker=_MARKERS.get(name, ""),
            markersize=4 if strong else 3,
            label=results["calibration"][name]["label"],
            zorder=3 if strong else 2,
        )
        if strong:
            axes.fill_between(horizons, mean - std, mean + std, color=method_colour(name), alpha=0.15, linewidth=0)
    axes.set_title(condition.capitalize())
    axes.set_xticks([k for k in horizons if k == 1 or k % 10 == 0])


def draw_base_predictor(results: dict[str, Any]) -> "Figure":
    """AUROC of the raw prediction against the horizon."""
    figure = new_figure(6.4, 3.6)
    axes = panels(figure, 1, 1)[0, 0]
    horizons = results["settings"]["horizons"]
    for number, (condition, row) in enumerate(results["base_predictor"].items()):
        values = _numbers([row[str(k)]["value"] for k in horizons])
        axes.plot(
            horizons, values, color=condition_colour(condition, number), marker="o", markersize=4, label=condition.capitalize()
        )
    axes.axhline(0.5, color="#767676", linewidth=1, linestyle=(0, (4, 2)))
    axes.annotate(
        "guessing", (horizons[-1], 0.5), xytext=(0, 3), textcoords="offset points", ha="right", fontsize=8, color="#767676"
    )
    axes.set_xlabel("steps ahead, k")
    axes.set_ylabel("AUROC of p_safe")
    axes.set_xticks([k for k in horizons if k == 1 or k % 10 == 0])
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
