"""`python -m studies severities TUBS`: the severities of all picture faults by the rule of steering disturbance."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tubs", help="folder of nominal drives recorded in the simulator on the track in question")
    parser.add_argument("--model", default=None, help="pilot that drove (default: the shipped one)")
    parser.add_argument("--frames", type=int, default=120, help="frames to look at (default 120)")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from donkey_aicc.faults.protocols import VISUAL_FAULTS
    from donkey_aicc.nets.vision_pilot import VisionPilot
    from donkey_aicc.resources import models_dir
    from studies.steering_disturbance import GRIDS, TARGETS, read_driving, rows

    pilot = VisionPilot()
    pilot.load(args.model or models_dir() / "pilot")
    driving = read_driving(Path(args.tubs), pilot, args.frames)
    print(f"{'steering moves by':<18}" + "".join(f"{target:>8.2f}" for target in TARGETS))
    for fault in (*GRIDS, *VISUAL_FAULTS):
        print(f"{fault:<18}" + "".join(f"{value:>8.3f}" for value in rows(fault, driving, pilot)), flush=True)
    return 0
