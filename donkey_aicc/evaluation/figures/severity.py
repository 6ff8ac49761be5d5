"""Mean rho and delta against severity, for the test protocols and the D_aug families."""

from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.evaluation.figures.style import PALE, condition_colour, new_figure, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINEAR = 2.0  # twice the clipping point; beyond, where clipped scores no longer move, the axis is logarithmic


def draw_severity(results: dict[str, Any]) -> "Figure":
    """Severity 0 is nominal; the shaded band is where the clipped score still moves."""
    figure = new_figure(9.2, 6.2)
    grid = panels(figure, 2, 2, sharex=True)
    titles = {"protocols": "test protocols", "d_aug": "D_aug families"}
    for row, score in enumerate(("rho", "delta")):
        for column, (part, title) in enumerate(titles.items()):
            _panel(grid[row, column], results["monotonicity"][part].get(score, {}), part == "protocols")
            grid[row, column].set_title(f"{score}, {title}")
        grid[row, 0].set_ylabel(f"mean {score}, unclipped")
    for axes in grid[1]:
        axes.set_xlabel("severity (0: nominal)")
    return figure


def _panel(axes: "Axes", kinds: dict[str, Any], protocols: bool) -> None:
    import matplotlib

    palette = [matplotlib.colormaps["tab20"](shade / 19.0) for shade in range(20)]
    axes.axhspan(0.0, 1.0, color="#f1f1f1", zorder=0)
    axes.axhline(0.0, color=PALE, linewidth=0.8)
    for number, (kind, one) in enumerate(kinds.items()):
        levels = sorted(int(level) for level in one["mean_by_severity"])
        means = np.array([one["mean_by_severity"][str(level)] for level in levels], dtype=np.float64)
        colour = condition_colour(kind, number) if protocols else palette[number % len(palette)]
        dashed = one["below_nominal"]
        axes.plot(
            levels,
            means,
            color=colour,
            marker="o",
            markersize=3.5,
            linewidth=1.6,
            linestyle=(0, (3, 1.5)) if dashed else "-",
            label=f"{kind} (falls)" if dashed else kind,
        )
    axes.set_yscale("symlog", linthresh=_LINEAR, linscale=1.5)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(range(6))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=7.5)
