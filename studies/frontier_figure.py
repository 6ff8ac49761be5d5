"""The frontier as a picture: down and left is better, with the fitted methods as points."""

from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.figures.style import INK, PALE, SCORE_COLOURS, method_colour, new_figure, panels
from donkey_aicc.evaluation.report import FigureEntry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


FRONTIER = FigureEntry(
    "frontier",
    "Each line shows what happens as the weight of one score grows. Only what lies below the dashed line is worth more than "
    "heating every frame alike.",
    lambda results, _: draw_frontier(results),
)
