"""`python -m studies camera-check TUB`: a real camera's frames beside the simulated camera's."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("real", nargs="+", help="tubs of a real car, or folders of them")
    parser.add_argument("--simulated", nargs="+", default=None, help="tubs to compare with (default: six fresh nominal drives)")
    parser.add_argument("--track", default="loop", help="track of the fresh drives (default loop)")
    parser.add_argument("--frames", type=int, default=800, help="frames to look at in each set (default 800)")
    parser.add_argument("--seed", type=int, default=0, help="of the fresh drives (default 0)")


def run(args: argparse.Namespace) -> int:
    import tempfile
    from pathlib import Path

    from donkey_aicc.resources import models_dir
    from donkey_aicc.simulator.record_drives import plan_nominal, record
    from studies.camera_check import figures_of, print_figures, read_frames

    real = read_frames([Path(path) for path in args.real], args.frames)
    with tempfile.TemporaryDirectory() as folder:
        if args.simulated is None:
            record(plan_nominal(folder, args.track, 6, (150, 250), args.seed), models_dir() / "pilot", workers=2)
        simulated = read_frames([Path(path) for path in args.simulated or [folder]], args.frames)
    print_figures({"real": figures_of(*real), "simulated": figures_of(*simulated)})
    return 0
