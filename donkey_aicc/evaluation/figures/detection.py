"""How well each score detects each protocol, and which weights each D_aug family asks for."""

from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.evaluation.figures.style import INK, PALE, SCORE_COLOURS, condition_colour, new_figure, panels
from donkey_aicc.evaluation.tables import NOBODY, Beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_detection(results: dict[str, Any], beside: Beside = NOBODY) -> "Figure":
    """One line per score, one dot per protocol, a bar for their mean, a tick for the mean of somebody else."""
    rows = results["ood_detection"]
    figure = new_figure(7.4, 0.34 * len(rows) + 1.3)
    axes = panels(figure, 1, 1)[0, 0]
    for place, (name, row) in enumerate(rows.items()):
        mean = row["ood_mean"]["mean"]
        if mean is not None:
            axes.barh([place], [mean], height=0.62, color="#e3e3e3", zorder=1)
        if name in beside.ood_auroc:
            axes.scatter([beside.ood_auroc[name]["mean"]], [place], s=110, marker="|", color=INK, linewidth=1.6, zorder=4)
        for number, protocol in enumerate(results["settings"]["protocols"]):
            value = row[protocol]["mean"]
            if value is not None:
                axes.scatter(
                    [value], [place], s=32, color=condition_colour(protocol, number), edgecolor="white", linewidth=0.7, zorder=3
                )
    axes.axvline(0.5, color=PALE, linewidth=1, linestyle=(0, (4, 2)))
    axes.set_yticks(range(len(rows)), [row["label"] for row in rows.values()])
    axes.invert_yaxis()
    axes.set_xlim(0.0, 1.0)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("AUROC, nominal against anomalous frames (0.5: guessing)")
    _legend(axes, results["settings"]["protocols"], beside)
    return figure


def _legend(axes: Any, protocols: list[str], beside: Beside) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker="o", linewidth=0, color=condition_colour(p, number), label=p.capitalize())
        for number, p in enumerate(protocols)
    ]
    handles.append(Line2D([], [], linewidth=7, color="#e3e3e3", label="mean"))
    if beside.label:
        label = f"{beside.label}'s mean"
        handles.append(Line2D([], [], marker="|", markersize=9, markeredgewidth=1.6, linewidth=0, color=INK, label=label))
    axes.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=len(handles),
        frameon=False,
        fontsize=8,
        columnspacing=1,
    )


def draw_family_weights(results: dict[str, Any]) -> "Figure | None":
    """w_rho and w_delta that each family alone would give; None if they could not be fitted."""
    families = results["weights"]["by_family"]
    if "reason" in families or not families:
        return None
    figure = new_figure(6.8, 0.36 * len(families) + 1.2)
    axes = panels(figure, 1, 1)[0, 0]
    place = np.arange(len(families))
    for shift, name in ((-0.19, "rho"), (0.19, "delta")):
        values = [one[name] for one in families.values()]
        axes.barh(place + shift, values, height=0.36, color=SCORE_COLOURS[name], label=f"w_{name}")
    axes.set_yticks(place, list(families))
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("weight (0: this family asks for no caution)")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
    return figure
