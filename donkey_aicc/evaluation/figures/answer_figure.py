"""The picture of the answer: error of the confidence per condition, raw, with one temperature, and with the scores."""

from typing import TYPE_CHECKING, Any

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.cells import number_of
from donkey_aicc.evaluation.conditions import NOMINAL
from donkey_aicc.evaluation.figures.style import INK, method_colour, new_figure, panels

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
