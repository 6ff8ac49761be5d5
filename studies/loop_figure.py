"""Closed loop beside open loop: where the car drives, and what rho and delta make of it."""

from typing import TYPE_CHECKING, Any

from donkey_aicc.evaluation.figures.style import PALE, SCORE_COLOURS, new_figure, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PATH_COLOUR = "#444444"
_PANELS = {"cte": "Where the car is", "rho": "What rho sees", "rho_two_sided": "What |rho| sees", "delta": "What delta sees"}
_LOOPS: dict[str, tuple[str, dict[str, Any]]] = {
    "closed": ("closed loop: the car really drives so", {"linestyle": "-", "marker": "o", "linewidth": 2.0}),
    "open": ("open loop: only the recorded commands are changed", {"linestyle": (0, (3, 2)), "marker": "s", "linewidth": 1.4}),
}


def draw_loops(results: dict[str, Any]) -> "Figure":
    """One line of panels per fault; x: severity (0: the same drives without a fault). Bars: 95 % over drives drawn anew."""
    faults = results["faults"]
    figure = new_figure(10.6, 2.45 * len(faults) + 0.7)
    grid = panels(figure, len(faults), len(_PANELS), sharex=True)
    furthest = 1.15 * max(_cte(cell[loop]) for one in faults.values() for cell in one["severities"].values() for loop in _LOOPS)
    for line, fault in enumerate(faults.values()):
        for column, (quantity, title) in enumerate(_PANELS.items()):
            axes = grid[line, column]
            _panel(axes, results["without_fault"], fault["severities"], quantity)
            axes.set_ylim(*((0.0, furthest) if quantity == "cte" else (0.0, 1.03)))
            if line == 0:
                axes.set_title(title)
            if line == len(faults) - 1:
                axes.set_xlabel("severity (0: no fault)")
        grid[line, 0].set_ylabel(f"{fault['label']}\n\nmean |cte|, m")
        grid[line, 1].set_ylabel("AUROC against nominal drives")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    return figure


def _panel(axes: "Axes", without_fault: dict[str, Any], severities: dict[str, Any], quantity: str) -> None:
    levels = [name for name in severities if name.isdigit()]
    x = [0, *(int(name) for name in levels)]
    for number, (loop, (label, look)) in enumerate(_LOOPS.items()):
        sides = [without_fault, *(severities[name][loop] for name in levels)]
        colour = SCORE_COLOURS.get(quantity, _PATH_COLOUR)
        face = colour if loop == "closed" else "white"
        y = [_cte(side) if quantity == "cte" else side["scores"][quantity]["auroc"] for side in sides]
        axes.plot(x, y, color=colour, markerfacecolor=face, markersize=5, label=label, zorder=3, **look)
        if quantity != "cte":
            _bars(axes, [place + 0.16 * number - 0.08 for place in x], [side["scores"][quantity] for side in sides], colour)
    if quantity != "cte":
        axes.axhline(0.5, color=PALE, linewidth=1, linestyle=(0, (1, 2)))
    axes.set_xticks(x)


def _bars(axes: "Axes", x: list[float], cells: list[dict[str, Any]], colour: str) -> None:
    for place, cell in zip(x, cells, strict=True):
        if cell["low"] is not None:
            axes.plot([place, place], [cell["low"], cell["high"]], color=colour, linewidth=1, alpha=0.55, zorder=2)


def _cte(side: dict[str, Any]) -> float:
    return float(side["mean_abs_cte_m"] or 0.0)
