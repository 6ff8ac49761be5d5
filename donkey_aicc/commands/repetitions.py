"""`donkey-aicc repetitions`: the main numbers of several experiments in one file, for the results page."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiments", nargs="+", metavar="EXP", help="folders of finished experiments or transfers")
    parser.add_argument(
        "--out",
        default="docs/results/repetitions.json",
        metavar="FILE",
        help="file to write (default docs/results/repetitions.json); `donkey-aicc results` puts it on the page",
    )


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.evaluation.repetitions import collect_runs
    from donkey_aicc.evaluation.report import read_results
    from donkey_aicc.experiment.layout import Layout
    from donkey_aicc.files import write_json

    collected = collect_runs([read_results(Layout(Path(folder)).report) for folder in args.experiments])
    write_json(args.out, collected)
    print(f"written: {args.out} ({len(collected['runs'])} runs)")
    return 0
