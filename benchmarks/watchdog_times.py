"""How long a motor runs on after something happened to the car's program: real processes and signals, faked wires.

    python -m benchmarks.watchdog_times --times 100 [--kind I2C_SERVO] [--only SIGKILL SIGSTOP ...]
    python -m benchmarks.watchdog_times --healthy-minutes 30      # beside a CPU hog on every core: no neutral pulse may come

Every moment is random. A program that goes on afterwards (stopped, stumbled) is used again, any other is started anew.
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.watchdog.wires import DrivenCar

SIGNALS = ("SIGKILL", "SIGTERM", "SIGSTOP")
FAULTS = ("hang", "deep_hang", "memory")
OF_THE_WATCHDOG = "watchdog killed"


def _do(car: DrivenCar, what: str) -> Callable[[], None]:
    if what in SIGNALS:
        return lambda: car.process.send_signal(getattr(signal, what))
    if what == OF_THE_WATCHDOG:
        return lambda number=car.watchdog: os.kill(number, signal.SIGKILL)  # type: ignore[misc]
    return car.now.touch


def seconds(kind: str, what: str, times: int, rng: random.Random) -> list[float]:
    """To neutral, of every moment."""
    found: list[float] = []
    while len(found) < times:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            car = DrivenCar(Path(folder), kind, what if what in FAULTS else "nothing")
            try:
                while len(found) < times:
                    time.sleep(rng.uniform(0.0, 0.3))
                    found.append(car.seconds_to_neutral(_do(car, what)))
                    if what != "SIGSTOP":
                        break
                    car.process.send_signal(signal.SIGCONT)
                    car.wait_until(lambda: not car.wires.neutral)  # noqa: B023
            finally:
                car.close()
    return found


def _burn() -> None:
    while True:
        pass


def healthy(kind: str, minutes: float) -> dict[str, float]:
    """A drive beside one hog per core: how many neutral pulses it got, and how often its loop was silent for too long."""
    hogs = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(os.cpu_count() or 1)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        car = DrivenCar(Path(folder), kind)
        for hog in hogs:
            hog.start()
        began = time.monotonic_ns()
        time.sleep(60.0 * minutes)
        history = [neutral for at, neutral in car.wires.history() if at > began]
        for hog in hogs:
            hog.kill()
        car.close()
        silences = (Path(folder) / "log").read_text().count("the motor was neutral meanwhile")
    return {"minutes": minutes, "writes": len(history), "neutral": sum(history), "silences": silences}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default="I2C_SERVO")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=[*SIGNALS, *FAULTS, OF_THE_WATCHDOG])
    parser.add_argument("--healthy-minutes", type=float)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.healthy_minutes is not None:
        print(json.dumps(healthy(args.kind, args.healthy_minutes)))
        return
    print("| what happens | times | p50, s | max, s |\n|---|---|---|---|")
    for what in args.only:
        found = np.array(seconds(args.kind, what, args.times, random.Random(args.seed)))
        print(f"| {what} | {len(found)} | {np.median(found):.2f} | {found.max():.2f} |", flush=True)


if __name__ == "__main__":
    main()
