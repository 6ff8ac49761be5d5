"""`python -m studies repetitions`: the main numbers of several experiments in one file, for the results page."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiments", nargs="+", metavar="EXP", help="folders of finished experiments or transfers")
    parser.add_argument(
        "--out",
        default="studies/results/repetitions.json",
        metavar="FILE",
        help="file to write (default studies/results/repetitions.json); `python -m studies results` puts it on the page",
    )
    parser.add_argument(
        "--add", action="store_true", help="keep the runs that FILE has already, but for those that are given here again"
    )


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.evaluation.report import read_results
    from donkey_aicc.files import read_json, write_json
    from studies.layout import Layout
    from studies.repetitions import collect_runs

    given = [read_results(Layout(Path(folder)).report) for folder in args.experiments]
    earlier = read_json(Path(args.out), "leave out --add to make it") if args.add else None
    collected = collect_runs(given, earlier)
    write_json(args.out, collected)
    print(f"written: {args.out} ({len(collected['runs'])} runs)")
    return 0
