"""Two pages from the results of all runs, so that no number there is typed by hand: all tables, and one page for readers."""

from pathlib import Path
from typing import Any

from donkey_aicc.evaluation.tables import Column, Row, Table, Value
from donkey_aicc.files import write_atomic
from studies.all_runs import Runs, one_per_track
from studies.governor.table import headline
from studies.grade_rows import grade_table
from studies.loop_tables import loop_tables
from studies.predictor_rows import predictor_table
from studies.run_tables import main_table, oracle_table, predictor_baselines, run_tables, safety_table, seed_table, verdicts
from studies.study_report import study_tables

SHOWN_FIGURES = {
    "calibration": "overview",
    "ece_by_protocol": "ece_by_horizon",
    "frontier": "frontier",
    "ood_detection": "ood_detection",
    "open_loop": "open_loop",
}
HEADLINE = """# Results in one page

The question: when a fault hits the camera or the steering, does the confidence still tell how often the car stays safe? We drove
in the embedded simulator under four faults (dark, blurred, biased, late) on {count} ({tracks}) and compared every method on
the same frames. Each track has its own drives, its own training and its own severities, set by one rule that looks only at
steering. Everything was [frozen](../studies/results/frozen) before the first drive under a fault was scored.

ECE is the mean gap between what a method says and what happens; 0 is perfect. NLL and Brier also reward sharp answers. A method
that looks good under faults and bad on nominal drives has only learned to doubt everything, so look at both columns. A method can
also be lucky with the share of safe frames; the worst-share columns show how it would do with the least favourable share.

"""
READING = """
A claim *holds* on a track if its whole 95 % interval (whole drives resampled) is on the right side of zero.
"""
ENDING = """
All tables and figures, and the numbers behind them, are in [studies/results](../studies/results/README.md). [The
log](../studies/log.md) says what we knew when, and what we did not run. `make paper-all` makes every run again; `make results`
writes this page from `studies/results/runs`.
"""
OPENING = """# Results of the study

Made by `make results` from [`runs`](runs), one `results.json` for each of

{commands}

[`frozen`](frozen) holds what was fixed before the first drive under a test protocol was scored; each run names the hash of its
file. [The log](../log.md) says what we knew when. Columns "paper" hold the published numbers of a physical car; best values are
bold. All runs come first, side by side, then every table of the reference run, `{reference}`.
"""


def results_page(runs: Runs, open_loop: dict[str, Any] | None = None) -> str:
    """The whole page; open_loop: the comparison of closed and open loop of the reference run, where it was made."""
    name, reference = next(iter(runs.items()))
    commands = "\n".join(f"- `{command_of(results)}` (frozen {results['about']['frozen'][:12]})" for results in runs.values())
    parts = [OPENING.format(commands=commands, reference=name)]
    parts += [_section(table) for table in run_tables(runs, one_per_track(runs))]
    for run, results in runs.items():
        if "predictors" in results:
            parts.append(_section(predictor_table(results["predictors"], f"Predictors on the same frames: {run}")))
    parts += [_section(grade_table(results["grades"], f"Grades of scoring: {run}")) for run, results in runs.items()]
    parts += [f"## The reference run, {name}, in plain words\n"]
    parts.append("\n".join(f"- **{said['verdict']}**: {_escaped(said['text'])}" for said in reference["summary"]) + "\n")
    if reference["notes"]:
        parts.append("\n".join(f"> {_escaped(note)}" for note in reference["notes"]) + "\n")
    tables = study_tables(reference)
    tables += loop_tables(open_loop) if open_loop is not None else []
    parts += [_section(table) for table in tables]
    return "\n".join(parts)


def headline_page(
    runs: Runs,
    open_loop: dict[str, Any] | None = None,
    governor: dict[str, Any] | None = None,
    times: dict[str, Any] | None = None,
    restored: str = "",
) -> str:
    """One page for readers: the main table and picture, and on how many tracks each claim holds. restored: that section."""
    tracks = one_per_track(runs)
    names = ", ".join(results["about"]["track"] for results in tracks.values())
    parts = [HEADLINE.format(count="one track" if len(tracks) == 1 else f"{len(tracks)} tracks", tracks=names)]
    parts.append("![OOD and nominal ECE of every method on loop](../studies/results/figures/overview.png)\n")
    parts.append(_section(main_table(tracks)))
    parts += [restored] if restored else []
    parts.append("## What holds on how many tracks" + "\n" + READING)
    for group, lines in verdicts(tracks).items():
        parts.append(f"### {group}\n\n" + "\n".join(f"- {_escaped(line)}" for line in lines) + "\n")
    if len(runs) > len(tracks):
        parts.append(_section(seed_table(runs)))
    parts += [_section(table) for table in (oracle_table(tracks), predictor_baselines(tracks), safety_table(tracks))]
    reference = next(iter(runs.values()))
    parts.append(_section(grade_table(reference["grades"], times=times)))
    if open_loop is not None:
        parts.append("## Closed against open loop\n\n" + " ".join(open_loop["conclusion"]) + "\n")
    if governor is not None:
        parts.append(headline(governor))
    return "\n".join(parts) + ENDING


def command_of(results: dict[str, Any]) -> str:
    """What makes this run again."""
    about = results["about"]
    words = f"python -m studies experiment --out exp --preset {about['preset']} --track {about['track']} --seed {about['seed']}"
    words += f" --model-seed {about['model_seed']}"
    words += f" --start models/{about['started_from']}" if about.get("started_from") else ""
    return words + (" --extras" if about.get("extras") else "")


def write_results_pages(
    all_tables_path: Path,
    headline_path: Path,
    runs: Runs,
    open_loop: dict[str, Any] | None = None,
    governor: dict[str, Any] | None = None,
    times: dict[str, Any] | None = None,
    restored: str = "",
) -> None:
    write_atomic(all_tables_path, results_page(runs, open_loop))
    write_atomic(headline_path, headline_page(runs, open_loop, governor, times, restored))


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
