"""`python -m studies results`: the results pages from a results.json."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--results", default="studies/results", help="folder of results.json and, if made, open_loop.json and repetitions.json"
    )
    parser.add_argument("--headline", default="docs/results.md", help="the one page for readers (default docs/results.md)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.evaluation.report import read_results
    from studies.loop_tables import read_open_loop
    from studies.repetitions import read_repetitions
    from studies.results_page import write_results_pages

    folder = Path(args.results)
    page = folder / "README.md"
    write_results_pages(page, args.headline, read_results(folder), read_open_loop(folder), read_repetitions(folder))
    print(f"written: {page} and {args.headline}")
    return 0
