"""`python -m studies after-fault`: how long a fault of three seconds is still seen when it is over."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", required=True, help="calibrated bundle with an alarm")
    parser.add_argument("--faults", nargs="+", required=True, metavar="FAULT:SEVERITY", help="of the camera or the commands")
    parser.add_argument("--seeds", type=int, default=5, help="drives per fault (default 5)")
    parser.add_argument("--track", default="loop", help="default loop")
    parser.add_argument("--grade", default="light", help="of the scores (default light)")
    parser.add_argument("--model", default="pilot", help="pilot: a shipped name or a path (default pilot)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.car.template import find_model
    from donkey_aicc.progress import progress
    from studies.governor.after_fault import markdown, return_of

    pilot, drives = str(find_model(args.model)), [(fault, seed) for fault in args.faults for seed in range(args.seeds)]
    found = [
        return_of(Path(args.bundle), args.track, fault, seed, pilot, args.grade)
        for fault, seed in progress(drives, "drives", total=len(drives), unit="drive")
    ]
    print(markdown(found))
    return 0
