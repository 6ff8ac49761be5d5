"""Every figure of the report by name, in its order, with a caption."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from donkey_aicc.evaluation.figures.by_horizon import draw_base_predictor, draw_metric_by_horizon
from donkey_aicc.evaluation.figures.detection import draw_detection, draw_family_weights
from donkey_aicc.evaluation.figures.frontier_figure import draw_frontier
from donkey_aicc.evaluation.figures.overview import draw_overview
from donkey_aicc.evaluation.figures.reliability import draw_reliability
from donkey_aicc.evaluation.figures.severity import draw_severity

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FigureEntry:
    """`draw` returns None when the results hold nothing to draw."""

    name: str
    caption: str
    draw: "Callable[[dict[str, Any]], Figure | None]"


FIGURES = (
    FigureEntry("overview", "OOD ECE of every method with its price on nominal drives.", draw_overview),
    FigureEntry(
        "frontier",
        "OOD ECE against nominal ECE as the weight of each score grows. Only what lies below the dashed line is worth more than "
        "heating every frame alike.",
        draw_frontier,
    ),
    FigureEntry("ece_by_horizon", "ECE against the horizon.", lambda results: draw_metric_by_horizon(results, "ece")),
    FigureEntry("ace_by_horizon", "ACE against the horizon.", lambda results: draw_metric_by_horizon(results, "ace")),
    FigureEntry("sce_by_horizon", "SCE against the horizon.", lambda results: draw_metric_by_horizon(results, "sce")),
    FigureEntry(
        "reliability",
        "Reliability over all protocols and horizons 5 to 50. Hatched: the gap between confidence and the share that was right. "
        "Dots at the bottom: how many samples each bin holds.",
        draw_reliability,
    ),
    FigureEntry("ood_detection", "Detecting each protocol.", draw_detection),
    FigureEntry("base_predictor", "The raw prediction loses its grip with distance and under anomaly.", draw_base_predictor),
    FigureEntry(
        "severity",
        "Scores against severity; dashed where the strongest anomaly scores below nominal. Beyond 2 the axis is logarithmic.",
        draw_severity,
    ),
    FigureEntry("family_weights", "Weights that each D_aug family alone would give.", draw_family_weights),
)
