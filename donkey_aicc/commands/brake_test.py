"""donkey-aicc brake-test: how this car brakes, found by trying, for the governor's stop."""

import argparse
import logging
import sys
import threading
from pathlib import Path

from donkey_aicc.errors import AiccError

PUSH = 0.6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("car", nargs="?", default=".", help="the car's folder (default: here)")
    parser.add_argument("--throttle", type=float, help="usual forward throttle (default: that of the bundle's nominal drives)")
    parser.add_argument(
        "--brake", type=float, metavar="B", help=f"strength of the brake, 0.1 to 1 (default {PUSH}; simulated 0.8)"
    )


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.alarm.brake import SIMULATED
    from donkey_aicc.car.doctor_checks import read_car
    from donkey_aicc.car.settings_file import set_keys
    from donkey_aicc.car.try_brake import BenchCar, BrakeTest

    folder = Path(args.car).expanduser()
    cfg, config, car = read_car(folder)
    if not (folder / "myconfig.py").is_file() or not car.ok:
        raise AiccError(f"no car in {folder}: {car.found if not car.ok else 'it has no myconfig.py'}")
    push = args.brake if args.brake is not None else -SIMULATED.throttle if config.sim else PUSH
    cruise = args.throttle if args.throttle is not None else _usual_throttle(config.models)
    for name, value, least in (("--brake", push, 0.1), ("--throttle", cruise, 0.05)):
        if not least <= value <= 1.0:
            raise AiccError(f"{name} must be from {least:g} to 1, got {value:g}")
    if not config.sim and not sys.stdin.isatty():
        raise AiccError("a real car's brake test needs somebody who looks: start it in a terminal")
    logging.disable(logging.INFO)  # donkeycar tells of every part
    bench = BenchCar(cfg, config)
    try:
        found = BrakeTest(bench, cruise, push, lambda question: _asked(question, bench)).run()
    finally:
        bench.close()
        logging.disable(logging.NOTSET)
    brake = found.settings
    keys = {"THROTTLE": brake.throttle, "S": round(brake.seconds, 3), "LAG_S": brake.lag_s, "KIND": brake.kind}
    set_keys(folder / "myconfig.py", {f"AICC_BRAKE_{name}": value for name, value in keys.items()})
    if not brake.brakes:
        print("A push back does not brake this car: its stop coasts.")
    else:
        far = "" if found.metres is None else f": {found.metres:.2f} m from throttle {cruise:g} to standstill"
        print(f"Speed controller: {brake.kind}. Brake {brake.throttle:g} for at most {brake.seconds:g} s{far}.")
    print(f"Written into {folder / 'myconfig.py'}.")
    return 0


def _usual_throttle(bundle: str | None) -> float:
    from donkey_aicc.calibration.calibrator_file import load_calibrator
    from donkey_aicc.car.bundles import bundle_path
    from donkey_aicc.car.config import NO_MONITOR
    from donkey_aicc.nets.bundle import Bundle

    if bundle not in (None, NO_MONITOR):
        opened = Bundle.load(bundle_path(str(bundle)))
        if opened.calibrator_path.is_file() and (alarm := load_calibrator(opened).alarm) is not None and alarm.cruise > 0.0:
            return alarm.cruise
    raise AiccError("the usual throttle is not known, because the car has no bundle with an alarm: give --throttle")


def _asked(question: str, bench) -> str:
    """The motor gets its neutral in every tick while a person thinks."""
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(input(question)), daemon=True)
    thread.start()
    while thread.is_alive():
        bench.send(0.0)
    if not answers:
        raise AiccError("nobody answered")
    return answers[0]
