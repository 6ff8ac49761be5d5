"""A long drive: does memory grow, do threads or open files pile up, does the scorer restart by itself?

    python benchmarks/soak.py --ticks 100000      # lock-step, as fast as this machine can
    python benchmarks/soak.py --minutes 60        # at 20 Hz, the scorer in its thread, with a viewer of the page

The car is one of `donkey-aicc createcar` with the shipped bundle and a tub. It drives in a process of its own, which is
looked at from outside. The first fifth of the drive is warm-up. Exit code 1 if a promise is not kept.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from bench_loop import watcher

from donkey_aicc.car.new_car import create_car

MOST_GROWTH = 0.02
LOOK_EVERY_S = 1.0
LEAST_LOOKS = 10
RATE_HZ = 20
PORT = 8896


@dataclass(frozen=True)
class Look:
    """One look at the car's process."""

    records: int
    memory_mb: float  # resident, without files mapped into it
    threads: int
    files: int


def look_at(process: psutil.Process, tub: Path) -> Look:
    memory = process.memory_info()
    records = sum(1 for _ in (tub / "images").iterdir()) if (tub / "images").is_dir() else 0
    return Look(records, (memory.rss - memory.shared) / 1e6, process.num_threads(), process.num_fds())


def make_car(folder: Path, ticks: int, settings: list[str]) -> Path:
    create_car(folder)
    lines = [f"MAX_LOOPS = {ticks}", 'AICC_BUNDLE = "reference"', f"WEB_CONTROL_PORT = {PORT}", *settings]
    with open(folder / "myconfig.py", "a", encoding="utf-8") as file:
        file.write("\n".join([*lines, ""]))
    return folder


def soak(car: Path, fast: bool) -> tuple[list[Look], str, int]:
    """Looks at the drive once a second, what it said, and its exit code."""
    options = ["--headless", "--fast"] if fast else ["--headless"]
    command = [sys.executable, "manage.py", "drive", *options]
    said = car / "said.txt"
    looks = []
    with open(said, "w") as out, nullcontext() if fast else watcher(PORT):
        driving = subprocess.Popen(command, cwd=car, stdout=out, stderr=subprocess.STDOUT)
        process = psutil.Process(driving.pid)
        while driving.poll() is None:
            tub = next((car / "data").glob("tub_*"), car / "data")
            try:
                looks.append(look_at(process, tub))
            except (psutil.Error, OSError):  # it has just ended
                break
            time.sleep(LOOK_EVERY_S)
    return looks, said.read_text(errors="replace"), driving.wait()


def judge(looks: list[Look], said: str, code: int) -> bool:
    """Print what was seen, against what is promised."""
    driven = [look for look in looks if look.records]
    after = [look for look in driven if look.records > 0.2 * driven[-1].records]
    if len(after) < LEAST_LOOKS:
        print(f"only {len(after)} looks at the drive after its warm-up: it failed, or was too short to judge")
        return False
    fifth = max(len(after) // 5, 1)
    first, last = after[:fifth], after[-fifth:]
    begin, end = (median(look.memory_mb for look in part) for part in (first, last))
    growth = (end - begin) / begin
    restarts = sum(int(number) for number in re.findall(r"restarts=(\d+)", said))
    print(f"records {driven[-1].records}, looks {len(looks)}, exit code {code}")
    print(f"memory {begin:.1f} -> {end:.1f} MB, {growth:+.2%} (promised: under {MOST_GROWTH:.0%} after warm-up)")
    kept = code == 0 and growth < MOST_GROWTH and restarts == 0
    for name in ("threads", "files"):
        seen = [median(getattr(look, name) for look in part) for part in (first, last)]
        print(f"{name} {seen[0]:g} -> {seen[1]:g}, at most {max(getattr(look, name) for look in after)} (promised: constant)")
        kept &= seen[1] <= seen[0]
    print(f"restarts of the scorer: {restarts} (promised: none); traceback: {'yes' if 'Traceback' in said else 'no'}")
    return kept and "Traceback" not in said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--ticks", type=int, help="lock-step ticks")
    length.add_argument("--minutes", type=float, help="minutes at 20 Hz")
    parser.add_argument("--set", action="append", default=[], metavar="'AICC_KEY = value'", help="a line for myconfig.py")
    args = parser.parse_args()
    fast = args.ticks is not None
    ticks = args.ticks if fast else round(args.minutes * 60 * RATE_HZ)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        looks, said, code = soak(make_car(Path(folder) / "car", ticks, args.set), fast)
    kept = judge(looks, said, code)
    print(f"{ticks} ticks in {time.monotonic() - began:.0f} s: {'kept' if kept else 'NOT KEPT'}")
    if not kept:
        print(said[-2000:])
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
