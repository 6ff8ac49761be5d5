"""Which method is better: the answer as a picture, all methods, and what a score buys.

The answer: error of the confidence per condition, raw, with one temperature, and with the scores. All methods: OOD ECE with its
interval, nominal ECE, and somebody else's number if there is one. What a score buys: mean OOD ECE against nominal ECE while its
weight grows, with the fitted methods as points.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.figures.style import INK, PALE, SCORE_COLOURS, method_colour, new_figure, panels
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL
from donkey_aicc.evaluation.tables import NOBODY, Beside, number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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


POINTS = {
    "none": "None",
    "temperature": "Temp.",
    "dac": "DAC",
    "tta": "TTA",
    OURS: "Ours",
    "tta_rho_two_sided": "TTA + |rho|",
    "tta_latent": "TTA + latent",
    "pooled_temperature": "Pooled T",
    "base_rate": "Base rate",
}
_CONTROLS = ("pooled_temperature", "base_rate")
_WIDTH_PT, _HEIGHT_PT = 350.0, 330.0  # about the size of the plotting area, to keep labels apart


def draw_frontier(results: dict[str, Any]) -> "Figure":
    """Down and left is better. A curve below the dashed one is worth more than heating everything."""
    figure = new_figure(7.6, 5.2)
    axes = panels(figure, 1, 1)[0, 0]
    for name, curve in results["frontier"]["curves"].items():
        x, y = (np.array([np.nan if v is None else v for v in curve[key]]) for key in ("nominal_ece", "ood_ece"))
        uniform = name == "uniform"
        axes.plot(
            x,
            y,
            color=SCORE_COLOURS[name],
            linewidth=2.0 if uniform or name == "rho_delta" else 1.4,
            linestyle=(0, (5, 2)) if uniform else "-",
            marker="." if not uniform else "",
            markersize=4,
            label=curve["label"],
        )
    points = _fitted(results)
    right = 1.15 * max([x for x, _ in points.values()] + [0.05])
    top = 1.12 * max([y for _, y in points.values()] + [0.05])
    axes.set_xlim(0.0, right)
    axes.set_ylim(0.0, top)
    _mark(axes, points, right, top)
    axes.set_xlabel("nominal ECE (lower is better)")
    axes.set_ylabel("mean OOD ECE (lower is better)")
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, title="weight of the score\ngrowing from 0", alignment="left"
    )
    return figure


def _fitted(results: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Nominal and OOD ECE of the methods that are shown as points."""
    found = {name: results["calibration"][name]["ece"] for name in POINTS}
    pairs = {name: (ece["nominal"]["mean"], ece["ood_mean"]["mean"]) for name, ece in found.items()}
    return {name: pair for name, pair in pairs.items() if None not in pair}


def _mark(axes: "Axes", points: dict[str, tuple[float, float]], right: float, top: float) -> None:
    scale = np.array([_WIDTH_PT / right, _HEIGHT_PT / top])
    taken = [np.array(point) * scale for point in points.values()]
    for name, (x, y) in points.items():
        marker = "X" if name in _CONTROLS else "o"
        axes.scatter([x], [y], s=64, color=method_colour(name), edgecolor="white", linewidth=1.2, marker=marker, zorder=5)
        centre, offset = _free_place(np.array([x, y]) * scale, POINTS[name], taken)
        taken.append(centre)
        axes.annotate(
            POINTS[name],
            (x, y),
            xytext=tuple(offset),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8.5,
            color=PALE if name in _CONTROLS else INK,
            fontweight="bold" if name == OURS else "normal",
            zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3},
        )


def _free_place(point: np.ndarray, label: str, taken: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Centre of the label (in points) and its offset: the side that lies farthest from all other points and labels."""
    half = 2.6 * len(label)
    sides = [(half + 8, 0), (half + 6, 10), (half + 6, -10), (0, 13), (0, -13), (-half - 8, 0), (-half - 6, 10), (-half - 6, -10)]
    best, best_gap = np.array(sides[0]), -1.0
    for side in sides:
        centre = point + side
        if centre[0] - half < 2.0 or centre[0] + half > _WIDTH_PT or not 8.0 < centre[1] < _HEIGHT_PT - 8.0:
            continue
        # Labels are wide and low: height counts more than width.
        gap = min(float(np.hypot((centre[0] - other[0]) / half * 14.0, (centre[1] - other[1]) * 1.3)) for other in taken)
        if gap > best_gap + 0.5:
            best, best_gap = np.array(side), gap
    return point + best, best
