"""One HTML file with everything in it, in the look of the cockpit: the answer first, no link to another file."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.evaluation.answer import four_numbers, sentence
from donkey_aicc.evaluation.figures.fault_figures import FaultPictures
from donkey_aicc.evaluation.tables import Column, Table, Value
from donkey_aicc.web.whole_page import whole_page, with_styles_inside

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).resolve().parent / "page"
NARROW = ("base_predictor", "family_weights")


@dataclass(frozen=True)
class Section:
    """A heading with tables and figures, by name, in reading order; `folded` ones can be opened."""

    anchor: str
    title: str
    short: str  # in the navigation
    content: tuple[str, ...]
    folded: tuple[str, ...] = ()


SECTIONS = (
    Section("calibration", "Calibration", "Calibration", ("calibration", "fig:overview", "ece_by_protocol")),
    Section(
        "horizons",
        "By horizon and confidence",
        "Horizons",
        ("fig:ece_by_horizon", "fig:reliability"),
        ("fig:ace_by_horizon", "fig:sce_by_horizon"),
    ),
    Section("worth", "Is the difference real?", "Tests", ("wilcoxon",)),
    Section("ablation", "Ablation and weights", "Ablation", ("ablation", "weights", "fig:family_weights", "family_weights")),
    Section(
        "detection",
        "Detecting anomalies",
        "Detection",
        ("fig:ood_detection", "ood_detection", "fig:severity", "monotonicity_protocols"),
        ("monotonicity_d_aug",),
    ),
    Section("predictor", "The predictor", "Predictor", ("fig:base_predictor", "base_predictor")),
    Section("warning", "Early warning", "Warning", ("alarm",)),
    Section("setup", "Data", "Data", ("data",)),
)


def _sections(tables: Mapping[str, Table], figures: Mapping[str, tuple[str, bytes]]) -> list[Section]:
    """With what there is; what no section names, as a study adds it, comes last."""
    there = [*(f"fig:{name}" for name in figures), *tables]
    placed = {"fig:answer", *(name for section in SECTIONS for name in section.content + section.folded)}
    further = Section("further", "Further", "Further", tuple(name for name in there if name not in placed))

    def known(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if name in there)

    found = [replace(section, content=known(section.content), folded=known(section.folded)) for section in (*SECTIONS, further)]
    return [section for section in found if section.content or section.folded]


def render_page(
    results: Mapping[str, Any],
    tables: Sequence[Table],
    figures: Mapping[str, tuple[str, bytes]],
    beside: str = "",
    faults: FaultPictures | None = None,
) -> str:
    """figures: name -> (caption, SVG); beside: whose numbers stand in the columns beside ours; faults: what they look like."""
    by_name = {table.name: table for table in tables}

    def title_of(name: str) -> str:
        return figures[name[4:]][0] if name[4:] in figures else by_name[name].title

    page = (
        _templates()
        .from_string(whole_page(FOLDER))
        .render(
            title="Anomaly-informed confidence: evaluation",
            lead=_lead(results),
            about={name.replace("_", " "): said for name, value in results["about"].items() if (said := _fact(value))},
            answer=sentence(results),
            numbers=four_numbers(results),
            summary=results["summary"],
            notes=results["notes"],
            faults=faults or [],
            sections=_sections(by_name, figures),
            tables=by_name,
            figures=figures,
            narrow=NARROW,
            title_of=title_of,
            footer=f" Columns named {beside} hold published results of another car on another track." if beside else "",
            script=(FOLDER / "report.js").read_text(encoding="utf-8"),
        )
    )
    return with_styles_inside(page, FOLDER)


def render_table(table: Table) -> str:
    """The table alone, as it stands on the page."""
    return _templates().get_template("parts.html").module.table(table)  # type: ignore[attr-defined]


@cache
def _templates() -> "Environment":
    """What is no markup is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    made = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined)
    made.filters |= {
        "base64": lambda data: base64.b64encode(data).decode(),
        "breakable": lambda label: escape(label).replace("_", Markup("_<wbr>")),
        "shown": lambda value, column: _shown(value, column, Markup),
    }
    return made


def _shown(value: Value | None, column: Column, markup: Any) -> str:
    if value is None or value.text:
        return value.text if value else ""
    if value.number is None:
        return "" if column.paper else "–"
    number = f"{value.number:.{column.digits}f}"
    if float(number) == 0.0:  # neither "-0.000" nor a p-value of zero
        number = f"{value.number:.1e}" if value.number and column.digits > 3 else number.lstrip("-")
    if column.spread and value.spread is not None and f"{value.spread:.{column.digits}f}".strip("0.") != "":
        return markup(f"{number} <small>±{value.spread:.{column.digits}f}</small>")
    return number


def _lead(results: Mapping[str, Any]) -> str:
    protocols = results["settings"]["protocols"]
    splits = len(results["settings"]["splits"])
    frames = sum(results["data"][name]["frames"] for name in protocols)
    return (
        f"{frames} frames under {', '.join(protocols)} and {results['data']['nominal']['frames']} nominal test frames; "
        f"{splits} random split{'s' * (splits != 1)} of {results['data']['calibration']['sequences']} calibration drives."
    )


def _fact(value: Any) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)
