"""results.json, CSV tables, PNG and SVG figures and one index.html from the results of an evaluation."""

from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.beside import NOBODY, Beside
from donkey_aicc.evaluation.figures.all_figures import FIGURES
from donkey_aicc.evaluation.figures.style import common_look, save_figure
from donkey_aicc.evaluation.html_page import render_page
from donkey_aicc.evaluation.result_tables import all_tables
from donkey_aicc.files import write_atomic, write_json
from donkey_aicc.progress import progress
from donkey_aicc.untrusted import read_untrusted_json

RESULTS, RUNTIME, PAGE = "results.json", "runtime.json", "index.html"


def write_report(results: dict[str, Any], out: str | Path, beside: Beside = NOBODY, sheet: bytes | None = None) -> Path:
    """Write everything below `out` and return the page's path. sheet: the contact sheet, a JPEG.

    Times differ from run to run, so they stand in runtime.json: results.json is the same for the same tables and seed.
    """
    check_report_folder(out)
    folder = Path(out)
    timeless = {name: value for name, value in results.items() if name != "runtime"}
    write_json(folder / RESULTS, timeless)
    write_json(folder / RUNTIME, results["runtime"])
    tables = all_tables(results, beside)
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


def read_results(folder: str | Path) -> dict[str, Any]:
    """What `write_report` wrote, runtime included, so that the page can be drawn anew."""
    path = Path(folder) / RESULTS
    try:
        results = read_untrusted_json(path)
        results["runtime"] = read_untrusted_json(Path(folder) / RUNTIME)
    except (OSError, AiccError, TypeError) as error:
        raise AiccError(f"{path} cannot be read ({error}); make it with: donkey-aicc evaluate --out {folder}") from error
    return results
