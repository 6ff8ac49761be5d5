"""The folder of an evaluation: the score tables it was made from, results.json, CSV tables, figures and one index.html.

Score tables, all of one bundle: calibration, augmented, test, ood_<protocol>. Figures stand here by name, in the report's order,
with their captions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.figures.fault_figures import draw_detection, draw_family_weights, draw_severity
from donkey_aicc.evaluation.figures.method_figures import draw_answer, draw_overview
from donkey_aicc.evaluation.figures.reliability_figures import draw_base_predictor, draw_metric_by_horizon, draw_reliability
from donkey_aicc.evaluation.figures.style import common_look, save_figure
from donkey_aicc.evaluation.html_page import render_page
from donkey_aicc.evaluation.result_tables import all_tables
from donkey_aicc.evaluation.tables import NONE_PUBLISHED, Published, Table
from donkey_aicc.files import write_atomic, write_json
from donkey_aicc.progress import progress
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.untrusted import read_untrusted_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCORES_MARK = "scores.json"  # names the bundle that made the tables
SCORES_NAMES = ("calibration", "augmented", "test")
OOD_PREFIX = "ood_"


@dataclass(frozen=True)
class ScoreFiles:
    """What `study.evaluate` takes."""

    calibration: ScoreTable
    augmented: ScoreTable
    test: ScoreTable
    ood: Mapping[str, ScoreTable]
    marked: bool  # the folder says which bundle made them


def write_mark(folder: str | Path, fingerprint: str) -> None:
    """Say which bundle the tables of this folder belong to."""
    write_json(Path(folder) / SCORES_MARK, {"bundle": fingerprint})


def save_scores(
    folder: str | Path,
    fingerprint: str,
    *,
    calibration: ScoreTable,
    augmented: ScoreTable,
    test: ScoreTable,
    ood: Mapping[str, ScoreTable],
) -> None:
    """Write all tables as .npz with the mark of their bundle."""
    write_mark(folder, fingerprint)
    tables = {"calibration": calibration, "augmented": augmented, "test": test}
    for name, table in {**tables, **{f"{OOD_PREFIX}{protocol}": table for protocol, table in ood.items()}}.items():
        table.save(Path(folder) / f"{name}.npz")


def load_scores(folder: str | Path, fingerprint: str | None = None) -> ScoreFiles:
    """Read them; with a fingerprint, refuse tables that another bundle made."""
    folder = Path(folder)
    if not folder.is_dir():
        raise AiccError(f"no folder with score tables at {folder}")
    missing = [f"{name}.npz" for name in SCORES_NAMES if not (folder / f"{name}.npz").is_file()]
    found = sorted(folder.glob(f"{OOD_PREFIX}*.npz"))
    if missing or not found:
        lacks = ", ".join(missing + ([] if found else [f"{OOD_PREFIX}<protocol>.npz"]))
        raise AiccError(f"{folder} lacks {lacks}; evaluate from tubs, which writes them")
    marked = check_mark(folder, fingerprint)
    tables = {name: ScoreTable.load(folder / f"{name}.npz") for name in SCORES_NAMES}
    ood = {path.stem[len(OOD_PREFIX) :]: ScoreTable.load(path) for path in found}
    return ScoreFiles(**tables, ood=ood, marked=marked)


def check_mark(folder: Path, fingerprint: str | None) -> bool:
    """True if the folder names its bundle; AiccError if that is another one."""
    path = folder / SCORES_MARK
    if not path.is_file():
        return False
    try:
        stored = read_untrusted_json(path)["bundle"]
    except (OSError, AiccError, KeyError, TypeError) as error:
        raise AiccError(f"{path} is damaged ({error!r}); remove {folder} and score again") from error
    if fingerprint is not None and stored != fingerprint:
        raise AiccError(f"mixed bundles: the score tables in {folder} were made with another bundle; score them again")
    return True


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
    sheet: bytes | None = None,
    tables: Sequence[Table] = (),
    figures: Sequence[FigureEntry] = FIGURES,
) -> Path:
    """Write everything below `out` and return the page's path.

    sheet: the contact sheet, a JPEG; tables: those of the results if none are given. What has no place of its own comes last.
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
    write_atomic(folder / PAGE, render_page(results, tables, drawn, published.label, sheet))
    return folder / PAGE


def check_report_folder(out: str | Path) -> None:
    """To be asked before hours of scoring, not after."""
    if Path(out).is_file():
        raise AiccError(f"the report needs a folder, {out} is a file")
