"""`python -m studies decide`: which restorations, which gate and which calibrator, on faults of D_aug that were driven."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", help="folder of an experiment whose scores to fit on are there")
    parser.add_argument("--only", choices=("views", "methods"), help="one of the two tables alone")


def run(args: argparse.Namespace) -> int:
    from studies.decision import decide_method, decide_views

    if args.only != "methods":
        print(decide_views(args.experiment) + "\n", flush=True)
    if args.only != "views":
        print(decide_method(args.experiment))
    return 0
