"""`python -m studies monitors`: our alarm beside monitors of others, on the drives of an experiment."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", help="folder of a finished experiment")
    parser.add_argument("--laps", nargs="+", required=True, metavar="TUBS", help="fresh nominal laps: they set every threshold")
    parser.add_argument("--pilots", nargs="+", required=True, metavar="PILOT", help="pilots of other seeds (studies train-pilot)")
    parser.add_argument("--out", required=True, metavar="FILE", help="the rows as JSON")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.files import write_json
    from studies.governor.monitor_study import run_monitors
    from studies.governor.monitors import markdown

    found = run_monitors(args.experiment, args.laps, args.pilots)
    write_json(args.out, found)
    print(markdown(found["rows"], found["cost_ms"]))
    return 0
