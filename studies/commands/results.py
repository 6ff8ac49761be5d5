"""`python -m studies results`: the results pages from the results of all runs."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiments", nargs="*", metavar="EXP", help="finished experiments to take in first")
    parser.add_argument("--results", default="studies/results", help="folder of runs/*.json and, if made, open_loop.json")
    parser.add_argument("--headline", default="docs/results.md", help="the one page for readers (default docs/results.md)")


def run(args: argparse.Namespace) -> int:
    from studies.all_runs import collect, read_runs
    from studies.governor.table import read_governor
    from studies.grade_rows import read_times
    from studies.loop_tables import read_open_loop
    from studies.restored_page import restored_section
    from studies.results_page import write_results_pages

    folder = Path(args.results)
    for path in collect(args.experiments, folder):
        print(f"taken in: {path}")
    page = folder / "README.md"
    beside = read_open_loop(folder), read_governor(folder), read_times(folder), restored_section(folder)
    write_results_pages(page, Path(args.headline), read_runs(folder), *beside)
    print(f"written: {page} and {args.headline}")
    return 0
