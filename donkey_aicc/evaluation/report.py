"""results.json, CSV tables, PNG and SVG figures and one index.html from the results of an evaluation."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.figures.all_figures import FIGURES
from donkey_aicc.evaluation.figures.style import common_look, save_figure
from donkey_aicc.evaluation.html_page import render_page
from donkey_aicc.evaluation.result_tables import all_tables
from donkey_aicc.evaluation.tables import NOBODY, Beside, Table
from donkey_aicc.files import write_atomic, write_json
from donkey_aicc.progress import progress

RESULTS, PAGE = "results.json", "index.html"


def write_report(
    results: dict[str, Any],
    out: str | Path,
    beside: Beside = NOBODY,
    sheet: bytes | None = None,
    tables: Sequence[Table] = (),
) -> Path:
    """Write everything below `out` and return the page's path.

    sheet: the contact sheet, a JPEG; tables: those of the results if none are given.
    """
    check_report_folder(out)
    folder = Path(out)
    write_json(folder / RESULTS, results)
    tables = list(tables or all_tables(results, beside))
    for table in tables:
        write_atomic(folder / "tables" / f"{table.name}.csv", table.to_csv())
    drawn: dict[str, tuple[str, bytes]] = {}
    for entry in progress(FIGURES, "drawing figures", unit="figures"):
        with common_look():
            figure = entry.draw(results, beside)
            if figure is not None:
                save_figure(figure, folder / "figures", entry.name)
                drawn[entry.name] = (entry.caption, (folder / "figures" / f"{entry.name}.svg").read_bytes())
    write_atomic(folder / PAGE, render_page(results, tables, drawn, beside.label, sheet))
    return folder / PAGE


def check_report_folder(out: str | Path) -> None:
    """To be asked before hours of scoring, not after."""
    if Path(out).is_file():
        raise AiccError(f"the report needs a folder, {out} is a file")
