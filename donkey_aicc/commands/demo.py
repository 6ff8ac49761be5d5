"""`donkey-aicc demo`: a whole drive, without a car at hand."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", default="demo_output", help="folder for the tub, pictures and movie (default demo_output)")
    parser.add_argument("--laps", type=int, default=5, help="laps to drive (default 5)")
    parser.add_argument("--track", default="loop", help="a named track or seed:N (default loop)")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same drive (default 1)")
    parser.add_argument("--inject", default=None, help="faults and when, as for manage.py (default: all four, one after another)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.demo.show import SCHEDULE, show

    show(args.out, args.laps, args.track, args.seed, SCHEDULE if args.inject is None else args.inject)
    return 0
