"""`donkey-aicc demo`: a whole drive, without a car at hand."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", default="demo_output", help="folder for the tub, pictures and movie (default demo_output)")
    parser.add_argument("--laps", type=int, default=3, help="laps to drive (default 3)")
    parser.add_argument("--track", default="loop", help="a named track or seed:N (default loop)")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same drive (default 1)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.demo.show import show

    show(args.out, args.laps, args.track, args.seed)
    return 0
