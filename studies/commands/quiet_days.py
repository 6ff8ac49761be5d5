"""`python -m studies quiet-days`: the alarm of a bundle on nominal drives of its own day, of other days, and elsewhere."""

import argparse
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", required=True, metavar="BUNDLE", help="calibrated bundle")
    parser.add_argument(
        "--data", required=True, nargs="+", metavar="TUB", help="the tubs it was trained on: its test side counts"
    )
    parser.add_argument(
        "--other-day", action="append", default=[], metavar="TUB", help="nominal drives of another day; repeatable"
    )
    parser.add_argument("--elsewhere", action="append", default=[], metavar="TUB", help="another track or room; repeatable")
    parser.add_argument("--no-faults", action="store_true", help="leave out Dark, Blur, frozen and delayed pictures")
    parser.add_argument("--out", required=True, metavar="JSON", help="where the numbers go")
    parser.add_argument("--seed", type=int, default=0, help="of the pieces under faults (default 0)")
    parser.add_argument("--cache-dir", metavar="DIR", help="where decoded frames and scores are kept")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.calibration.calibrating import calibration_drives
    from donkey_aicc.calibration.calibrator_file import load_calibrator
    from donkey_aicc.calibration.score_cache import score_once
    from donkey_aicc.errors import AiccError
    from donkey_aicc.files import write_json
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.scoring.settings import LIGHT
    from donkey_aicc.tubs.load import load_drives
    from studies.real_car import quiet_days
    from studies.real_car.recorded_faults import CameraFiles
    from studies.real_car.stages import rate_of

    bundle = Bundle.load(args.bundle)
    calibrator = load_calibrator(bundle, LIGHT)
    model, statistics = calibrator.alarm, calibrator.statistics
    if model is None or statistics is None:
        raise AiccError(f"{args.bundle} has no alarm; make one with: donkey-aicc calibrate")

    def scored(drives: Any, title: str) -> Any:
        return score_once(bundle, drives, settings=calibrator.settings, title=title, cache_dir=args.cache_dir)

    def drives_of(tubs: list[str]) -> Any:
        return load_drives(tubs, cache_dir=args.cache_dir, driving_only=True).drives

    home = drives_of(args.data)
    held_out, rate_hz = calibration_drives(bundle, home, "test"), rate_of(home)
    own = scored(held_out, "scoring held-out drives")
    results: dict[str, Any] = {
        "promise": model.statements(),
        "same day": quiet_days.quietness(model, own, statistics, rate_hz),
        "other days": {
            Path(tub).name: quiet_days.quietness(model, scored(drives_of([tub]), f"scoring {tub}"), statistics, rate_hz)
            for tub in args.other_day
        },
        "elsewhere": {
            Path(tub).name: quiet_days.announced(
                model, scored(quiet_days.stretches(drives_of([tub])), f"scoring {tub}"), statistics, rate_hz
            )
            for tub in args.elsewhere
        },
    }
    if not args.no_faults:
        made = quiet_days.faulty_pieces(held_out, rate_hz, CameraFiles(tuple(map(Path, args.data))), args.seed)
        tables = {name: scored(drives, f"scoring {name}") for name, drives in made.items()}
        results["faults"] = quiet_days.seen(model, statistics, own, tables)
    write_json(Path(args.out), results)
    print("\n".join(quiet_days.described(results)))
    return 0
