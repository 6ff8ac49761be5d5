"""The folder of an evaluation: results.json, CSV tables, figures by name in the report's order, and one index.html."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.figures.fault_figures import FaultPictures, draw_detection, draw_family_weights, draw_severity
from donkey_aicc.evaluation.figures.method_figures import draw_answer, draw_overview
from donkey_aicc.evaluation.figures.reliability_figures import draw_base_predictor, draw_metric_by_horizon, draw_reliability
from donkey_aicc.evaluation.figures.style import common_look, save_figure
from donkey_aicc.evaluation.html_page import render_page
from donkey_aicc.evaluation.result_tables import all_tables
from donkey_aicc.evaluation.tables import NONE_PUBLISHED, Published, Table
from donkey_aicc.files import write_atomic, write_json
from donkey_aicc.progress import progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FigureEntry:
    """`draw` returns None when the results hold nothing to draw."""

    name: str
    caption: str
    draw: "Callable[[dict[str, Any], Published], Figure | None]"


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


RESULTS, PAGE = "results.json", "index.html"


def write_report(
    results: dict[str, Any],
    out: str | Path,
    published: Published = NONE_PUBLISHED,
    faults: FaultPictures | None = None,
    tables: Sequence[Table] = (),
    figures: Sequence[FigureEntry] = FIGURES,
) -> Path:
    """Write everything below `out` and return the page's path.

    faults: what they look like; tables: those of the results if none are given. What has no place of its own comes last.
    """
    check_report_folder(out)
    folder = Path(out)
    write_json(folder / RESULTS, results)
    tables = list(tables or all_tables(results, published))
    for table in tables:
        write_atomic(folder / "tables" / f"{table.name}.csv", table.to_csv())
    drawn: dict[str, tuple[str, bytes]] = {}
    for entry in progress(figures, "drawing figures", unit="figures"):
        with common_look():
            figure = entry.draw(results, published)
            if figure is not None:
                save_figure(figure, folder / "figures", entry.name)
                drawn[entry.name] = (entry.caption, (folder / "figures" / f"{entry.name}.svg").read_bytes())
    write_atomic(folder / PAGE, render_page(results, tables, drawn, published.label, faults))
    return folder / PAGE


def check_report_folder(out: str | Path) -> None:
    """To be asked before hours of scoring, not after."""
    if Path(out).is_file():
        raise AiccError(f"the report needs a folder, {out} is a file")
