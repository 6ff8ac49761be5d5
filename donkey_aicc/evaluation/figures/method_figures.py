"""Which method is better: the answer as a picture, and all methods.

The answer: error of the confidence per condition, raw, with one temperature, and with the scores. All methods: OOD ECE with its
interval, nominal ECE, and somebody else's number if there is one.
"""

from typing import TYPE_CHECKING, Any

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.figures.style import INK, PALE, method_colour, new_figure, panels
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL
from donkey_aicc.evaluation.tables import NONE_PUBLISHED, Published, number_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = {"none": "raw prediction", "temperature": "one temperature", OURS: "with rho and delta"}


def draw_answer(results: dict[str, Any]) -> "Figure":
    """Three bars per condition, nominal first; a number at the end of each."""
    conditions = [NOMINAL, *results["settings"]["protocols"]]
    figure = new_figure(4.4, 0.52 * len(conditions) + 0.9)  # small: its letters must be readable on a phone
    axes = panels(figure, 1, 1)[0, 0]
    for number, (name, label) in enumerate(SHOWN.items()):
        for place, condition in enumerate(conditions):
            value = number_of(results["calibration"][name]["ece"].get(condition))
            if value is None:
                continue
            at = place + 0.27 * (number - 1)
            axes.barh([at], [value], height=0.24, color=method_colour(name), label=label if place == 0 else None)
            axes.text(value + 0.004, at, f"{value:.2f}", va="center", fontsize=8, color=INK)
    axes.set_yticks(range(len(conditions)), [condition.capitalize() for condition in conditions])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("error of the confidence (ECE; shorter is better)")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(SHOWN), fontsize=8, handlelength=1.0, columnspacing=1.0)
    return figure


def draw_overview(results: dict[str, Any], published: Published = NONE_PUBLISHED) -> "Figure":
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
        _line(axes, results, name, place, published)
        place += 1.0
    axes.set_yticks(ticks, [results["calibration"][name]["label"] for name in names])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("ECE (lower is better)")
    _legend(axes, published)
    return figure


def _line(axes: Any, results: dict[str, Any], name: str, place: float, published: Published) -> None:
    colour, one = method_colour(name), results["calibration"][name]
    bounds = results["intervals"].get(name, {}).get("ood_ece", {"low": None})
    if bounds["low"] is not None:
        axes.plot(
            [bounds["low"], bounds["high"]], [place, place], color=colour, linewidth=2.2, alpha=0.55, solid_capstyle="round"
        )
    axes.scatter([one["ece"]["ood_mean"]["mean"]], [place], s=46, color=colour, zorder=4)
    if one["ece"]["nominal"]["mean"] is not None:
        axes.scatter([one["ece"]["nominal"]["mean"]], [place], s=34, facecolor="white", edgecolor=PALE, linewidth=1.3, zorder=3)
    if name in published.ece:
        axes.scatter([published.ece[name]["mean"]], [place], s=70, color=INK, marker="|", linewidth=1.6, zorder=3)


def _legend(axes: Any, published: Published) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=INK, marker="o", linewidth=2.2, alpha=0.8, label="mean OOD ECE, 95 % interval"),
        Line2D([], [], color=PALE, marker="o", markerfacecolor="white", linewidth=0, label="nominal ECE"),
    ]
    if published.label:
        label = f"{published.label}'s OOD ECE"
        handles.append(Line2D([], [], color=INK, marker="|", markersize=9, markeredgewidth=1.6, linewidth=0, label=label))
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False, fontsize=8.5)
