"""`python -m studies governor`: what the governor saves and what it costs, in closed loop."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", required=True, help="calibrated bundle with an alarm (calibrate --driven --alarm-drives)")
    parser.add_argument("--nominal", nargs="+", required=True, metavar="TUBS", help="nominal drives: the rivals' thresholds")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of drives, table and picture; running again goes on")
    parser.add_argument("--preset", default="full", help="full (default), small, pair (only with and without) or tiny")
    parser.add_argument("--tracks", nargs="+", default=[], metavar="TRACK", help="these instead of the preset's")
    parser.add_argument("--model", default="pilot", help="pilot: a shipped name or a path (default pilot)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.car.template import find_model
    from donkey_aicc.errors import one_of
    from donkey_aicc.files import write_atomic, write_json
    from donkey_aicc.simulator.tracks import make_track
    from studies.governor.picture import draw_paths
    from studies.governor.study import PRESETS, run_study
    from studies.governor.table import markdown, summarise

    one_of("--preset", args.preset, tuple(PRESETS))
    for track in args.tracks:
        make_track(track)
    preset, out = PRESETS[args.preset], Path(args.out)
    drives = run_study(Path(args.bundle), args.nominal, out, preset, str(find_model(args.model)), args.workers, args.tracks)
    results = {"preset": args.preset, **summarise(drives)}
    write_json(out / "governor.json", results)
    write_atomic(out / "governor.md", markdown(results).encode())
    first = (args.tracks or preset.tracks)[0]
    draw_paths([drive for drive in drives if drive["case"]["track"] == first], first, out / "governor.png", preset.warm_up)
    print(markdown(results))
    print(f"results: {out / 'governor.json'}, {out / 'governor.md'}, {out / 'governor.png'}")
    return 0
