"""docs/results.md from results.json: the report's tables in Markdown, so that no number there is typed by hand."""

from pathlib import Path
from typing import Any

from donkey_aicc.evaluation.result_tables import all_tables
from donkey_aicc.evaluation.tables import Column, Row, Table, Value
from donkey_aicc.files import write_atomic
from studies.loop_tables import loop_tables
from studies.repetition_tables import repetition_tables

SHOWN_FIGURES = {
    "calibration": "overview",
    "ece_by_protocol": "ece_by_horizon",
    "frontier": "frontier",
    "ood_detection": "ood_detection",
    "open_loop": "open_loop",
}
OPENING = """# Results

Made by `make results` from [`results/results.json`](results/results.json), which is `report/results.json` of

```bash
python -m studies experiment --out exp --preset {preset} --track {track} --seed {seed}
```

[Experiments](experiments.md) says what was fixed before any of these numbers was seen, and discusses them. Columns "paper" hold
the published numbers of a physical car; best values are bold.
"""


def results_page(
    results: dict[str, Any], open_loop: dict[str, Any] | None = None, repetitions: dict[str, Any] | None = None
) -> str:
    """The whole page; open_loop: the comparison of closed and open loop, repetitions: other runs, where they were made."""
    about = {"preset": "quick", "track": "loop", "seed": 0} | results["about"]
    parts = [OPENING.format(**{key: about[key] for key in ("preset", "track", "seed")}), "## In plain words\n"]
    parts.append("\n".join(f"- **{said['verdict']}**: {_escaped(said['text'])}" for said in results["summary"]) + "\n")
    if results["notes"]:
        parts.append("\n".join(f"> {_escaped(note)}" for note in results["notes"]) + "\n")
    tables = all_tables(results)
    tables += repetition_tables(repetitions) if repetitions is not None else []
    tables += loop_tables(open_loop) if open_loop is not None else []
    parts += [_section(table) for table in tables]
    return "\n".join(parts)


def write_results_page(
    path: str | Path,
    results: dict[str, Any],
    open_loop: dict[str, Any] | None = None,
    repetitions: dict[str, Any] | None = None,
) -> None:
    write_atomic(path, results_page(results, open_loop, repetitions))


def _section(table: Table) -> str:
    lines = [f"## {table.title}", ""]
    if table.name in SHOWN_FIGURES:
        lines += [f"![{table.title}](results/{SHOWN_FIGURES[table.name]}.png)", ""]
    lines.append("| " + " | ".join([table.first, *(_heading(column) for column in table.columns)]) + " |")
    lines.append("|" + "---|" * (1 + len(table.columns)))
    group = ""
    for row in table.rows:
        if row.group and row.group != group:
            group = row.group
            lines.append(f"| *{_escaped(group)}* |" + " |" * len(table.columns))
        cells = [_cell(table, row, column) for column in table.columns]
        lines.append("| " + " | ".join([_escaped(row.label), *cells]) + " |")
    if table.note:
        lines += ["", _escaped(table.note)]
    return "\n".join(lines) + "\n"


def _heading(column: Column) -> str:
    label = _escaped(column.label)
    return f"*{label}*" if column.paper else label


def _cell(table: Table, row: Row, column: Column) -> str:
    value = row.values.get(column.key, Value())
    if value.text:
        return _escaped(value.text)
    if value.number is None:
        return "–"
    text = f"{value.number:.{column.digits}f}"
    if value.spread is not None and column.spread:
        text += f" ± {value.spread:.{column.digits}f}"
    return f"**{text}**" if table.is_best(row, column) else text


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
