"""All methods on one picture: OOD ECE with its interval, nominal ECE, and somebody else's number if there is one."""

from typing import TYPE_CHECKING, Any

from donkey_aicc.evaluation.figures.style import INK, PALE, method_colour, new_figure, panels
from donkey_aicc.evaluation.tables import NOBODY, Beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_overview(results: dict[str, Any], beside: Beside = NOBODY) -> "Figure":
    """One line per method; the interval comes from drawing whole drives anew."""
    names = [n for n, one in results["calibration"].items() if one["ece"]["ood_mean"]["mean"] is not None]
    figure = new_figure(7.8, 0.29 * len(names) + 1.3)
    axes = panels(figure, 1, 1)[0, 0]
    group, place, ticks = "", 0.0, []
    for name in names:
        one = results["calibration"][name]
        if group and one["group"] != group:
            place += 0.6
        group = one["group"]
        ticks.append(place)
        _line(axes, results, name, place, beside)
        place += 1.0
    axes.set_yticks(ticks, [results["calibration"][name]["label"] for name in names])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("ECE (lower is better)")
    _legend(axes, beside)
    return figure


def _line(axes: Any, results: dict[str, Any], name: str, place: float, beside: Beside) -> None:
    colour, one = method_colour(name), results["calibration"][name]
    bounds = results["intervals"].get(name, {}).get("ood_ece", {"low": None})
    if bounds["low"] is not None:
        axes.plot(
            [bounds["low"], bounds["high"]], [place, place], color=colour, linewidth=2.2, alpha=0.55, solid_capstyle="round"
        )
    axes.scatter([one["ece"]["ood_mean"]["mean"]], [place], s=46, color=colour, zorder=4)
    if one["ece"]["nominal"]["mean"] is not None:
        axes.scatter([one["ece"]["nominal"]["mean"]], [place], s=34, facecolor="white", edgecolor=PALE, linewidth=1.3, zorder=3)
    if name in beside.ece:
        axes.scatter([beside.ece[name]["mean"]], [place], s=70, color=INK, marker="|", linewidth=1.6, zorder=3)


def _legend(axes: Any, beside: Beside) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=INK, marker="o", linewidth=2.2, alpha=0.8, label="mean OOD ECE, 95 % interval"),
        Line2D([], [], color=PALE, marker="o", markerfacecolor="white", linewidth=0, label="nominal ECE"),
    ]
    if beside.label:
        label = f"{beside.label}'s OOD ECE"
        handles.append(Line2D([], [], color=INK, marker="|", markersize=9, markeredgewidth=1.6, linewidth=0, label=label))
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False, fontsize=8.5)
