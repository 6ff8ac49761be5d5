"""`python -m studies governor`: what the governor saves and what it costs, in closed loop."""

import argparse
from dataclasses import replace
from pathlib import Path

_EACH = "; {track} stands for the name of the track"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", required=True, help="bundle with an alarm (calibrate --driven --alarm-drives)" + _EACH)
    parser.add_argument("--nominal", required=True, metavar="TUBS", help="the alarm drives: the rivals' thresholds" + _EACH)
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of drives, table and picture; running again goes on")
    parser.add_argument(
        "--preset",
        default="full",
        help="full (default), small, pair, severe, own (studies/governor/study.py) or tiny",
    )
    parser.add_argument("--tracks", nargs="+", default=[], metavar="TRACK", help="these instead of the four")
    parser.add_argument("--seeds", type=int, metavar="N", help="drives under each fault instead of the preset's")
    parser.add_argument("--laps", type=int, metavar="N", help="nominal drives per track instead of the preset's")
    parser.add_argument("--grade", default="light", help="of the scores (default light)")
    parser.add_argument("--model", default="pilot", help="pilot: a shipped name or a path (default pilot)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.calibration.calibrator_file import load_calibrator
    from donkey_aicc.car.template import find_model
    from donkey_aicc.errors import one_of
    from donkey_aicc.files import write_atomic, write_json
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.simulator.tracks import TRACK_NAMES, make_track
    from studies.governor.class_table import class_markdown
    from studies.governor.picture import draw_paths
    from studies.governor.study import OWN, PRESETS, run_track
    from studies.governor.table import about_bundle, markdown, summarise

    one_of("--preset", args.preset, tuple(PRESETS))
    tracks, preset, out, pilot = args.tracks or TRACK_NAMES, PRESETS[args.preset], Path(args.out), str(find_model(args.model))
    preset = replace(preset, seeds=args.seeds or preset.seeds, nominal_drives=args.laps or preset.nominal_drives)
    for track in tracks:
        make_track(track)
    drives, bundles = [], {}
    for track in tracks:
        bundle, nominal = (each.replace("{track}", track) for each in (args.bundle, args.nominal))
        drives += run_track(Path(bundle), track, nominal, out, preset, pilot, args.grade, args.workers)
        opened = Bundle.load(bundle)
        if (alarm := load_calibrator(opened, args.grade).alarm) is not None:
            bundles[track] = about_bundle(opened, alarm)
    if args.preset == OWN:
        write_atomic(out / "classes.md", (said := class_markdown(drives)).encode())
        print(f"{said}\nresults: {out / 'classes.md'}")
        return 0
    results = {"preset": args.preset, "grade": args.grade, "bundles": bundles, **summarise(drives)}
    write_json(out / "governor.json", results)
    write_atomic(out / "governor.md", markdown(results).encode())
    draw_paths([drive for drive in drives if drive["case"]["track"] == tracks[0]], tracks[0], out / "governor.png")
    print(markdown(results))
    print(f"results: {out / 'governor.json'}, {out / 'governor.md'}, {out / 'governor.png'}")
    return 0
