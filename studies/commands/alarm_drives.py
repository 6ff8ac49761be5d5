"""`python -m studies alarm-drives`: a finished experiment's bundle with an alarm whose thresholds come from laps of their own."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--experiment", required=True, metavar="DIR", help="of python -m studies experiment; it is only read")
    parser.add_argument(
        "--laps", required=True, metavar="TUBS", help="nominal drives, one lap each, as for calibrate --alarm-drives"
    )
    parser.add_argument("--out", required=True, metavar="BUNDLE", help="folder for the bundle")


def run(args: argparse.Namespace) -> int:
    import shutil

    from donkey_aicc.alarm.alarm_fit import NominalDrives
    from donkey_aicc.calibration.calibrating import calibrate_bundle
    from donkey_aicc.calibration.catalogue import DEFAULT_METHOD
    from donkey_aicc.calibration.score_cache import score_once
    from donkey_aicc.files import read_json
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.scoring.settings import LIGHT
    from donkey_aicc.tubs.load import load_drives
    from studies.experiment_stages import tables_to_fit
    from studies.layout import ABOUT, Layout
    from studies.nominal_picture import stored
    from studies.study_presets import PRESETS

    layout, out = Layout(Path(args.experiment)), Path(args.out)
    about = read_json(layout.out / ABOUT, "give the folder of a finished experiment")
    shutil.copytree(layout.bundle, out, dirs_exist_ok=True)
    bundle, settings = Bundle.load(out), stored(layout.restoration, PRESETS[about["preset"]].scoring)
    known = bundle.manifest
    laps = load_drives([args.laps], tau=known.tau, cte_centre=known.cte_centre, lane_half_width=known.lane_half_width)
    fresh = score_once(bundle, laps.drives, settings=settings.at_grade(LIGHT), title="scoring laps")
    result = calibrate_bundle(
        bundle, *tables_to_fit(layout), settings, DEFAULT_METHOD, about["model_seed"], NominalDrives(fresh=fresh)
    )
    print("\n".join(result.about["alarm"]))
    return 0
