"""`python -m studies dial`: how well the driver's number is calibrated, and whether the reasons name what was injected."""

import argparse
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", required=True, metavar="BUNDLE", help="calibrated bundle")
    parser.add_argument("--nominal", nargs="+", default=[], metavar="TUB", help="fresh nominal drives")
    parser.add_argument("--faults", nargs="+", default=[], metavar="TUB", help="drives of donkey-aicc record --faults")
    parser.add_argument("--out", metavar="FILE", help="markdown file for the two tables (default: only printed)")
    parser.add_argument("--cache-dir", metavar="DIR", help="where decoded frames and scores are kept")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.calibration.calibrator_file import load_calibrator
    from donkey_aicc.calibration.score_cache import score_once
    from donkey_aicc.errors import AiccError
    from donkey_aicc.files import write_atomic
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.scoring.settings import LIGHT
    from donkey_aicc.tubs.load import load_drives
    from studies.governor.dial import conditions, number_row, number_table, reason_table, told_drives

    bundle = Bundle.load(args.bundle)
    calibrator = load_calibrator(bundle, LIGHT)
    if calibrator.alarm is None or calibrator.alarm.hazard is None:
        raise AiccError(f"{args.bundle} has no hazard; make one with: donkey-aicc calibrate --driven TUBS")
    known, rate_hz = bundle.manifest, calibrator.alarm.signs.rate_hz
    labels: dict[str, Any] = {"tau": known.tau, "cte_centre": known.cte_centre, "lane_half_width": known.lane_half_width}

    told = []
    for tubs, title, driving_only in ((args.nominal, "nominal drives", True), (args.faults, "drives under faults", False)):
        if tubs:
            drives = load_drives(tubs, cache_dir=args.cache_dir, driving_only=driving_only, **labels).drives
            table = score_once(bundle, drives, settings=calibrator.settings, title=f"scoring {title}", cache_dir=args.cache_dir)
            told += told_drives(table, calibrator, rate_hz, under_faults=not driving_only)
    if not told:
        raise AiccError("give --nominal TUBS, --faults TUBS or both")
    rows = {name: number_row(drives, rate_hz) for name, drives in conditions(told).items()}
    page = f"{number_table(rows)}\n\n{reason_table(told)}\n"
    print(page)
    if args.out:
        write_atomic(Path(args.out), page.encode())
    return 0
