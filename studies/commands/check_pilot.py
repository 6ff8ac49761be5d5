"""`python -m studies check-pilot`: laps without a hit, and how predictable its mistakes are."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default=None, help="pilot (default: the shipped one)")
    parser.add_argument("--tracks", nargs="+", default=None, help="tracks (default: all named)")
    parser.add_argument("--laps", type=int, default=10, help="laps to drive on each track (default 10)")
    parser.add_argument("--drives", type=int, default=25, help="seeded nominal drives on each track (default 25)")
    parser.add_argument("--frames", type=int, default=750, help="frames per nominal drive (default 750)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result (default 0)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.resources import models_dir
    from donkey_aicc.simulator.tracks import TRACK_NAMES, make_track
    from studies.pilot_check import check_laps, check_nominal, print_reports

    tracks = args.tracks or list(TRACK_NAMES)
    for track in tracks:
        make_track(track)
    model = args.model or models_dir() / "pilot"
    laps = [check_laps(track, model, args.laps, args.seed) for track in tracks]
    nominal = [check_nominal(track, model, args.drives, args.frames, args.seed) for track in tracks]
    print_reports(laps, nominal)
    return 0 if all(row.laps >= row.wanted for row in laps) else 1
