"""`python -m studies results`: docs/results.md from a results.json."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--results", default="docs/results", help="folder of results.json and, if made, open_loop.json and repetitions.json"
    )
    parser.add_argument("--out", default="docs/results.md", help="page to write (default docs/results.md)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.evaluation.report import read_results
    from studies.loop_tables import read_open_loop
    from studies.repetitions import read_repetitions
    from studies.results_page import write_results_page

    folder = Path(args.results)
    write_results_page(args.out, read_results(folder), read_open_loop(folder), read_repetitions(folder))
    print(f"written: {args.out}")
    return 0
