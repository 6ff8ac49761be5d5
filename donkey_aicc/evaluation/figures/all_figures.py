"""Every figure of the report by name, in its order, with a caption."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from donkey_aicc.evaluation.figures.answer_figure import draw_answer
from donkey_aicc.evaluation.figures.by_horizon import draw_base_predictor, draw_metric_by_horizon
from donkey_aicc.evaluation.figures.detection import draw_detection, draw_family_weights
from donkey_aicc.evaluation.figures.frontier_figure import draw_frontier
from donkey_aicc.evaluation.figures.overview import draw_overview
from donkey_aicc.evaluation.figures.reliability import draw_reliability
from donkey_aicc.evaluation.figures.severity import draw_severity
from donkey_aicc.evaluation.tables import Beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FigureEntry:
    """`draw` returns None when the results hold nothing to draw."""

    name: str
    caption: str
    draw: "Callable[[dict[str, Any], Beside], Figure | None]"


FIGURES = (
    FigureEntry(
        "answer",
        "Look at the red bars: they should be the shortest under every fault, and hardly longer than others on nominal drives.",
        lambda results, _: draw_answer(results),
    ),
    FigureEntry(
        "overview",
        "Further left is better. A filled dot is the error under faults, a hollow one on nominal drives: a method that pulls the "
        "filled dot left and pushes the hollow one right has only become less sure of everything.",
        draw_overview,
    ),
    FigureEntry(
        "frontier",
        "Each line shows what happens as the weight of one score grows. Only what lies below the dashed line is worth more than "
        "heating every frame alike.",
        lambda results, _: draw_frontier(results),
    ),
    FigureEntry(
        "ece_by_horizon",
        "Error of the confidence by how far it looks ahead, a panel per condition. Look for lines that stay low to the right.",
        lambda results, _: draw_metric_by_horizon(results, "ece"),
    ),
    FigureEntry(
        "ace_by_horizon",
        "The same with bins of equal size (ACE): no method should look good only because of how bins were cut.",
        lambda results, _: draw_metric_by_horizon(results, "ace"),
    ),
    FigureEntry(
        "sce_by_horizon",
        "The same for both classes (SCE): no method should be good on safe frames only.",
        lambda results, _: draw_metric_by_horizon(results, "sce"),
    ),
    FigureEntry(
        "reliability",
        "Bars on the dashed diagonal mean that a confidence of 80 % is right in 80 of 100 cases. Hatched: the gap, below the "
        "diagonal too sure, above it not sure enough. Dots at the bottom: how many samples each bin holds.",
        draw_reliability,
    ),
    FigureEntry(
        "ood_detection",
        "Further right, the score sees the fault better; left of the dashed line it points the wrong way.",
        draw_detection,
    ),
    FigureEntry(
        "base_predictor",
        "The raw prediction loses its grip with distance (to the right) and under faults (lower lines).",
        lambda results, _: draw_base_predictor(results),
    ),
    FigureEntry(
        "severity",
        "A good score rises with the severity of the fault; dashed where the strongest fault scores below nominal. Beyond 2 the "
        "axis is logarithmic.",
        lambda results, _: draw_severity(results),
    ),
    FigureEntry(
        "family_weights",
        "How much caution each family of augmented faults alone would ask for; a bar of 0 means none.",
        lambda results, _: draw_family_weights(results),
    ),
)
