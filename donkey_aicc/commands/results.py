"""`donkey-aicc results`: docs/results.md from a results.json."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", default="docs/results", help="folder with results.json (default docs/results)")
    parser.add_argument("--out", default="docs/results.md", help="page to write (default docs/results.md)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.evaluation.markdown import write_results_page
    from donkey_aicc.evaluation.report import read_results

    write_results_page(read_results(Path(args.results)), args.out)
    print(f"written: {args.out}")
    return 0
