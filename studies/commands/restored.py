"""`python -m studies restored`: AICC-R beside every other row, on experiments whose score tables are there."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiments", nargs="+", help="folders of experiments, scored up to the four protocols")
    parser.add_argument(
        "--out", default="studies/results/restored", help="folder for one JSON each (default: of the results page)"
    )


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.files import write_json
    from studies.all_runs import run_name
    from studies.experiment import reopened
    from studies.restored_page import experiment_table
    from studies.restored_rows import judge_experiment

    for folder in args.experiments:
        found = judge_experiment(reopened(folder))
        write_json(Path(args.out) / f"{run_name(found)}.json", found)
        print(experiment_table(found), flush=True)
    return 0
