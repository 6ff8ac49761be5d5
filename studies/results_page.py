"""Two pages from results.json, so that no number there is typed by hand: all tables for the study, one page for readers."""

from pathlib import Path
from typing import Any

from donkey_aicc.evaluation.result_tables import all_tables
from donkey_aicc.evaluation.tables import Column, Row, Table, Value
from donkey_aicc.files import write_atomic
from studies.loop_tables import loop_tables
from studies.paper_numbers import PAPER
from studies.repetition_tables import repetition_tables

SHOWN_FIGURES = {
    "calibration": "overview",
    "ece_by_protocol": "ece_by_horizon",
    "frontier": "frontier",
    "ood_detection": "ood_detection",
    "open_loop": "open_loop",
}
MAIN_ROWS = ("none", "temperature", "dac", "tta_rho_delta", "aicc_plus", "aicc_robust", "uniform_heating", "base_rate")
HEADLINE = """# Results in one page

The question: when a fault hits the camera or the steering, does the confidence still say how often the car stays safe? We drove
the embedded simulator under four faults (dark, blurred, biased, late) and compared every method on the same frames. ECE is the
mean gap between what a method says and what happens; 0 is perfect. A method that looks good under faults and bad on nominal
drives has only learnt to doubt everything: so both columns count.

> These numbers are from the simulator's former world and the bundle of then (17 November 2026). The world has changed since, and
> the shipped bundle was trained anew in it; its own run under the four faults is still to be made (`make paper`).

![OOD and nominal ECE of every method](../studies/results/figures/overview.png)

| Method | ECE under faults | 95 % interval | ECE nominal | NLL under faults | NLL nominal |
|---|---|---|---|---|---|
"""
ENDING = """
All tables, figures and the numbers behind them are in [studies/results](../studies/results/README.md); what was fixed before any
of them was seen is in [the log](../studies/log.md). `make results` writes this page from `studies/results/results.json`, the run
`python -m studies experiment --out exp --preset {preset} --track {track} --seed {seed}`.
"""
OPENING = """# Results of the study

Made by `make results` from [`results.json`](results.json), which is `report/results.json` of

```bash
python -m studies experiment --out exp --preset {preset} --track {track} --seed {seed}
```

[The log](../log.md) says what was fixed before any of these numbers was seen, and discusses them. Columns "paper" hold
the published numbers of a physical car; best values are bold.
"""


def results_page(
    results: dict[str, Any], open_loop: dict[str, Any] | None = None, repetitions: dict[str, Any] | None = None
) -> str:
    """The whole page; open_loop: the comparison of closed and open loop, repetitions: other runs, where they were made."""
    parts = [OPENING.format(**_about(results)), "## In plain words\n"]
    parts.append("\n".join(f"- **{said['verdict']}**: {_escaped(said['text'])}" for said in results["summary"]) + "\n")
    if results["notes"]:
        parts.append("\n".join(f"> {_escaped(note)}" for note in results["notes"]) + "\n")
    tables = all_tables(results, PAPER)
    tables += repetition_tables(repetitions) if repetitions is not None else []
    tables += loop_tables(open_loop) if open_loop is not None else []
    parts += [_section(table) for table in tables]
    return "\n".join(parts)


def headline_page(results: dict[str, Any]) -> str:
    """One page for readers: the main table, the main picture, what holds and what does not."""
    rows = [_headline_row(results, name) for name in MAIN_ROWS if name in results["calibration"]]
    verdicts = {"holds": "What holds", "fails": "What does not hold", "open": "What is open"}
    parts = [HEADLINE + "\n".join(rows) + "\n"]
    for verdict, title in verdicts.items():
        said = [f"- {_escaped(each['text'])}" for each in results["summary"] if each["verdict"] == verdict]
        if said:
            parts.append(f"## {title}\n\n" + "\n".join(said) + "\n")
    return "\n".join(parts) + ENDING.format(**_about(results))


def _headline_row(results: dict[str, Any], name: str) -> str:
    one, bounds = results["calibration"][name], results["intervals"].get(name, {}).get("ood_ece", {"low": None})
    between = "–" if bounds["low"] is None else f"{bounds['low']:.3f} to {bounds['high']:.3f}"
    numbers = [one[metric][where]["mean"] for metric in ("ece", "nll") for where in ("ood_mean", "nominal")]
    ece, nominal, nll, nominal_nll = ("–" if number is None else f"{number:.3f}" for number in numbers)
    return f"| {_escaped(one['label'])} | {ece} | {between} | {nominal} | {nll} | {nominal_nll} |"


def _about(results: dict[str, Any]) -> dict[str, Any]:
    about = {"preset": "quick", "track": "loop", "seed": 0} | results["about"]
    return {key: about[key] for key in ("preset", "track", "seed")}


def write_results_pages(
    all_tables_path: str | Path,
    headline_path: str | Path,
    results: dict[str, Any],
    open_loop: dict[str, Any] | None = None,
    repetitions: dict[str, Any] | None = None,
) -> None:
    write_atomic(all_tables_path, results_page(results, open_loop, repetitions))
    write_atomic(headline_path, headline_page(results))


def _section(table: Table) -> str:
    lines = [f"## {table.title}", ""]
    if table.name in SHOWN_FIGURES:
        lines += [f"![{table.title}](figures/{SHOWN_FIGURES[table.name]}.png)", ""]
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
