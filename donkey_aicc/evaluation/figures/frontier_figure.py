"""Mean OOD ECE against nominal ECE while the weight of a score grows, with the fitted methods as points."""

from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.figures.style import INK, METHOD_COLOURS, PALE, SCORE_COLOURS, new_figure, panels
from donkey_aicc.evaluation.methods import PLUS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = {
    "none": "None",
    "temperature": "Temp.",
    "dac": "DAC",
    "tta": "TTA",
    OURS: "Ours",
    PLUS: "AICC+",
    "tta_rho_two_sided": "TTA + |rho|",
    "tta_latent": "TTA + latent",
    "pooled_temperature": "Pooled T",
    "base_rate": "Base rate",
}
_CONTROLS = ("pooled_temperature", "base_rate")


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
    _points(axes, results)
    axes.set_xlabel("nominal ECE (lower is better)")
    axes.set_ylabel("mean OOD ECE (lower is better)")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, title="weight of the score\ngrowing from 0", alignment="left"
    )
    return figure


def _points(axes: "Axes", results: dict[str, Any]) -> None:
    placed: list[tuple[float, float]] = []
    for name, label in POINTS.items():
        ece = results["calibration"][name]["ece"]
        x, y = ece["nominal"]["mean"], ece["ood_mean"]["mean"]
        if x is None or y is None:
            continue
        marker = "X" if name in _CONTROLS else "o"
        axes.scatter([x], [y], s=64, color=METHOD_COLOURS[name], edgecolor="white", linewidth=1.2, marker=marker, zorder=5)
        axes.annotate(
            label,
            (x, y),
            xytext=_offset(x, y, placed),
            textcoords="offset points",
            fontsize=8.5,
            color=INK if name not in _CONTROLS else PALE,
            fontweight="bold" if name in (OURS, PLUS) else "normal",
            zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.4},
        )
        placed.append((x, y))


def _offset(x: float, y: float, placed: list[tuple[float, float]]) -> tuple[int, int]:
    """Labels of points that lie close together go to different sides."""
    near = sum(abs(x - other_x) < 0.03 and abs(y - other_y) < 0.02 for other_x, other_y in placed)
    return ((7, 5), (7, -11), (-32, 7), (-34, -12))[near % 4]
