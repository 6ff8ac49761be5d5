"""`donkey-aicc doctor`: is this computer ready to drive with the monitor, and what to do where it is not."""

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--car", default=".", help="car folder to check: settings, tubs and devices (default: here)")
    parser.add_argument("--bundle", help="bundle to drive with, a folder or a shipped name (default: the car's, else reference)")
    parser.add_argument("--hz", type=float, help="rate of the drive loop (default: the car's, else 20)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.car import doctor_checks as doctor
    from donkey_aicc.car.bundles import home_of_car
    from donkey_aicc.errors import ConfigError
    from donkey_aicc.tubs.home import EMBEDDED, REAL_CAR

    if args.hz is not None and not args.hz > 0.0:
        raise ConfigError(f"--hz must be > 0, got {args.hz}")
    folder = Path(args.car).expanduser()
    cfg, config, car = doctor.read_car(folder)
    config = config if args.bundle is None else replace(config, bundle=args.bundle)
    here = home_of_car(config, cfg) if hasattr(cfg, "CAMERA_TYPE") else EMBEDDED
    checks = [doctor.check_versions(), car, *doctor.check_manage(folder)]
    checks += doctor.check_monitor(config, args.hz or float(cfg.DRIVE_LOOP_HZ), here)
    checks += [
        doctor.check_tubs(Path(cfg.DATA_PATH)),
        doctor.check_watchdog(cfg, config, here != REAL_CAR),
        *doctor.check_devices(cfg, here != REAL_CAR, _devices),
        doctor.check_drive_page(),
    ]
    ready = all(check.ok for check in checks)
    if args.json:
        print(json.dumps({"ready": ready, "checks": [asdict(check) for check in checks]}, indent=1))
        return 0 if ready else 1
    for check in checks:
        print(f"{'ok     ' if check.ok else 'PROBLEM'} {check.name}: {check.found}")
        if check.advice:
            print(f"        {check.advice}")
    print("ready to drive" if ready else "not ready: see PROBLEM above")
    return 0 if ready else 1


def _devices(pattern: str) -> list[str]:
    return sorted(str(path) for path in Path("/").glob(pattern.removeprefix("/")))
