"""One HTML file with everything in it, in the look of the cockpit: the answer first, no link to another file."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from donkey_aicc.evaluation.answer import four_numbers, sentence
from donkey_aicc.evaluation.figures.fault_figures import cut_sheet
from donkey_aicc.evaluation.tables import Column, Row, Table, Value
from donkey_aicc.web.whole_page import whole_page, with_styles_inside

FOLDER = Path(__file__).resolve().parent / "page"
NARROW = ("base_predictor", "family_weights")
NAMED_ROWS = 4


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


def _with_the_rest(tables: Mapping[str, Table], figures: Mapping[str, tuple[str, bytes]]) -> tuple[Section, ...]:
    """What no section names, as a study adds it, comes last."""
    placed = {"fig:answer", *(name for section in SECTIONS for name in section.content + section.folded)}
    rest = tuple(name for name in (*(f"fig:{name}" for name in figures), *tables) if name not in placed)
    return (*SECTIONS, *([Section("further", "Further", "Further", rest)] if rest else []))


def render_page(
    results: Mapping[str, Any],
    tables: Sequence[Table],
    figures: Mapping[str, tuple[str, bytes]],
    beside: str = "",
    sheet: bytes | None = None,
) -> str:
    """figures: name -> (caption, SVG); beside: whose numbers stand in the columns beside ours; sheet: the contact sheet."""
    by_name = {table.name: table for table in tables}
    chosen = _with_the_rest(by_name, figures)
    sections = "\n".join(_section(section, by_name, figures) for section in chosen)
    rows = cut_sheet(sheet) if sheet else []
    faults = [("faults", "Faults")] if rows else []
    links = [("answer", "Answer"), ("summary", "Summary"), *faults, *((section.anchor, section.short) for section in chosen)]
    page = Template(whole_page(FOLDER)).substitute(
        title="Anomaly-informed confidence: evaluation",
        script=(FOLDER / "report.js").read_text(encoding="utf-8"),
        lead=_lead(results),
        about=_about(results["about"]),
        nav="".join(f'<a href="#{anchor}">{escape(title)}</a>' for anchor, title in links),
        body=_answer(results, figures) + _summary(results) + _faults(rows) + sections,
        footer="Every number on this page is in results.json and, table by table, in tables/*.csv."
        + (f" Columns named {beside} hold published results of another car on another track." if beside else ""),
    )
    return with_styles_inside(page, FOLDER)


def _answer(results: Mapping[str, Any], figures: Mapping[str, tuple[str, bytes]]) -> str:
    numbers = "".join(
        f"<li><strong>{escape(one.shown)}</strong><span>{escape(one.name)}</span><small>{escape(one.reading)}</small></li>"
        for one in four_numbers(results)
    )
    return (
        f'<section id="answer" class="card"><h2>The answer</h2><p class="answer">{escape(sentence(results))}</p>'
        f'<ul class="numbers">{numbers}</ul>{_item("fig:answer", {}, figures)}</section>\n'
    )


def _faults(sheet: Sequence[tuple[str, Sequence[tuple[str, bytes]]]]) -> str:
    if not sheet:
        return ""
    caption = "One frame per fault and severity, as the model sees it. Look whether you would call the strongest still drivable."
    rows = "".join(
        f"<h3>{escape(name.capitalize())}</h3><ul>{''.join(_tile(name, *tile) for tile in tiles)}</ul>" for name, tiles in sheet
    )
    head = f'<section id="faults"><h2>What the faults look like</h2><p class="note">{caption}</p>'
    return f'{head}<div class="tiles">{rows}</div></section>\n'


def _tile(fault: str, label: str, picture: bytes) -> str:
    return f'<li><img alt="{escape(fault)}" src="{_inside(picture, "jpeg")}">{escape(label)}</li>'


def _inside(picture: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"


def _figure(name: str, caption: str, svg: bytes) -> str:
    narrow = ' class="narrow"' if name in NARROW else ""
    return (
        f'<figure{narrow} id="figure-{name}"><div class="scroll" tabindex="0" role="region" aria-label="figure {escape(name)}">'
        f'<img alt="{escape(caption)}" src="{_inside(svg, "svg+xml")}"></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _lead(results: Mapping[str, Any]) -> str:
    protocols = results["settings"]["protocols"]
    splits = len(results["settings"]["splits"])
    frames = sum(results["data"][name]["frames"] for name in protocols)
    return escape(
        f"{frames} frames under {', '.join(protocols)} and {results['data']['nominal']['frames']} nominal test frames; "
        f"{splits} random split{'s' * (splits != 1)} of {results['data']['calibration']['sequences']} calibration drives."
    )


def _about(facts: Mapping[str, Any]) -> str:
    shown = {name.replace("_", " "): _fact(value) for name, value in facts.items()}
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in shown.items() if value)
    return f'<dl class="about">{lines}</dl>' if lines else ""


def _summary(results: Mapping[str, Any]) -> str:
    lines = [
        f'<li><span class="verdict {one["verdict"]}">{one["verdict"]}</span><span>{escape(one["text"])}</span></li>'
        for one in results["summary"]
    ]
    notes = "".join(f"<p>{escape(note)}</p>" for note in results["notes"])
    return (
        '<section id="summary"><h2>In plain words</h2>'
        '<p class="note">Holds and fails: the 95 % interval excludes zero, where there is one. Open: it does not.</p>'
        f'<ul class="summary">{"".join(lines)}</ul>' + (f'<div class="notes">{notes}</div>' if notes else "") + "</section>\n"
    )


def _section(section: Section, tables: Mapping[str, Table], figures: Mapping[str, tuple[str, bytes]]) -> str:
    parts = [f'<section id="{section.anchor}"><h2>{escape(section.title)}</h2>']
    parts += [_item(name, tables, figures) for name in section.content if name.startswith("fig:") or name in tables]
    for name in section.folded:
        title = figures[name[4:]][0] if name.startswith("fig:") and name[4:] in figures else ""
        title = tables[name].title if name in tables else title
        parts.append(f"<details><summary>{escape(title)}</summary>{_item(name, tables, figures)}</details>")
    return "\n".join([*parts, "</section>"])


def _item(name: str, tables: Mapping[str, Table], figures: Mapping[str, tuple[str, bytes]]) -> str:
    if not name.startswith("fig:"):
        return render_table(tables[name])
    if name[4:] not in figures:
        return ""
    caption, svg = figures[name[4:]]
    return _figure(name[4:], caption, svg)


def render_table(table: Table) -> str:
    """The table with its note, and the reasons of empty cells below it."""
    head = "".join(f'<th scope="col"{_kind(column)}><button>{_breakable(column.label)}</button></th>' for column in table.columns)
    groups = list(dict.fromkeys(row.group for row in table.rows))  # each once, with all its rows
    lines, group = [], ""
    for row in sorted(table.rows, key=lambda row: groups.index(row.group)):
        if row.group != group:
            group = row.group
            lines.append(f'<tr class="group"><th colspan="{len(table.columns) + 1}"><span>{escape(group)}</span></th></tr>')
        lines.append(_row(table, row))
    shown = (
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="table-{table.name}"><table><thead><tr>'
        f'<th scope="col"><button>{escape(table.first)}</button></th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
        if table.rows
        else ""
    )
    return (
        f'<h3 id="table-{table.name}">{escape(table.title)}</h3>{shown}<p class="note">{escape(table.note)}</p>{_reasons(table)}'
    )


def _breakable(label: str) -> str:
    """A long name of a score may go on in the next line: a table of many must fit on paper."""
    return escape(label).replace("_", "_<wbr>")


def _row(table: Table, row: Row) -> str:
    cells = "".join(_cell(table, row, column) for column in table.columns)
    strong = ' class="strong"' if row.strong else ""
    return f'<tr{strong}><th scope="row">{escape(row.label)}</th>{cells}</tr>'


def _cell(table: Table, row: Row, column: Column) -> str:
    shown = _shown(row.values[column.key], column) if column.key in row.values else ""
    return f"<td{_kind(column, table.is_best(row, column))}>{shown}</td>"


def _shown(value: Value, column: Column) -> str:
    if value.text:
        return escape(value.text)
    if value.number is None:
        return "" if column.paper else "–"
    number = f"{value.number:.{column.digits}f}"
    if float(number) == 0.0:  # neither "-0.000" nor a p-value of zero
        number = f"{value.number:.1e}" if value.number and column.digits > 3 else number.lstrip("-")
    if column.spread and value.spread is not None and f"{value.spread:.{column.digits}f}".strip("0.") != "":
        number += f" <small>±{value.spread:.{column.digits}f}</small>"
    return number


def _kind(column: Column, best: bool = False) -> str:
    names = [name for name, on in (("paper", column.paper), ("text", column.text), ("best", best)) if on]
    return f' class="{" ".join(names)}"' if names else ""


def _reasons(table: Table) -> str:
    """Each reason once, with the rows it belongs to."""
    rows_of: dict[str, list[str]] = {}
    for row in table.rows:
        for value in row.values.values():
            if value.number is None and not value.text and value.reason and value.reason != "not measured":
                rows_of.setdefault(value.reason, []).append(row.label)
    return "".join(f'<p class="note">– {escape(_named(rows))}: {escape(reason)}</p>' for reason, rows in rows_of.items())


def _named(rows: Sequence[str]) -> str:
    names = list(dict.fromkeys(rows))
    return ", ".join(names) if len(names) <= NAMED_ROWS else f"{names[0]}, {names[1]} and {len(names) - 2} others"


def _fact(value: Any) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)
