"""A long drive: does memory grow, do threads or open files pile up, does the scorer restart by itself?

    python benchmarks/soak.py --ticks 100000      # lock-step, as fast as this machine can
    python benchmarks/soak.py --minutes 60        # at 20 Hz, the scorer in its thread, with a viewer of the cockpit

The car is one of `donkey-aicc createcar` with the shipped bundle, scoring at grade light, and a tub. It drives in a process
of its own, which is looked at from outside; one line a minute is printed. The first fifth of the drive is warm-up. Exit
code 1 if a promise is not kept.
"""

import argparse
import asyncio
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from tornado.iostream import StreamClosedError
from tornado.websocket import websocket_connect

from donkey_aicc.car.install_parts import create_car
from donkey_aicc.resources import models_dir
from donkey_aicc.scoring.settings import FULL, LIGHT, ScoreSettings

MOST_GROWTH = 0.02
LOOK_EVERY_S = 2.0
LOOKED_AT_S = 50.0  # then the viewer closes the page and opens it again
SAY_EVERY_S = 60.0
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


@contextmanager
def viewer() -> Iterator[None]:
    """Somebody looks at the cockpit, and loads its page again every now and then."""
    done = threading.Event()

    async def look() -> None:
        while not done.is_set():
            try:
                line = await websocket_connect(f"ws://127.0.0.1:{PORT}/aicc/socket")
                until = time.monotonic() + LOOKED_AT_S
                while not done.is_set() and time.monotonic() < until and await line.read_message() is not None:
                    pass
                line.close()
            except (OSError, StreamClosedError):  # not up yet, or the drive is over
                pass
            await asyncio.sleep(1.0)

    looking = threading.Thread(target=lambda: asyncio.run(look()), daemon=True)
    looking.start()
    yield
    done.set()
    looking.join(timeout=10)


def light_bundle(folder: Path) -> Path:
    """The shipped bundle with a calibrator of grade light: if it has none, full's, since only its cost matters here."""
    shutil.copytree(models_dir() / "reference", folder)
    stored = json.loads((folder / "calibrator.json").read_text(encoding="utf-8"))
    full = stored["grades"][FULL]
    settings = ScoreSettings.from_json(full["settings"]).at_grade(LIGHT).to_json()
    stored["grades"].setdefault(LIGHT, full | {"settings": settings})
    (folder / "calibrator.json").write_text(json.dumps(stored), encoding="utf-8")
    return folder


def make_car(folder: Path, ticks: int, settings: list[str]) -> Path:
    create_car(folder)
    bundle = light_bundle(folder / "bundle")
    lines = [f"MAX_LOOPS = {ticks}", f"AICC_BUNDLE = {str(bundle)!r}", f"AICC_GRADE = {LIGHT!r}", f"WEB_CONTROL_PORT = {PORT}"]
    lines += settings
    with open(folder / "myconfig.py", "a", encoding="utf-8") as file:
        file.write("\n".join([*lines, ""]))
    return folder


def soak(car: Path, minutes: float | None) -> tuple[list[Look], str, int]:
    """Looks at the drive every few seconds, what it said, and its exit code. minutes: None drives in lock-step."""
    fast = minutes is None
    ends_s = math.inf if minutes is None else 60 * minutes
    options = ["--headless", "--fast"] if fast else ["--headless"]
    command = [sys.executable, "manage.py", "drive", *options]
    said = car / "said.txt"
    looks: list[Look] = []
    began = say_at = time.monotonic()
    with open(said, "w") as out, nullcontext() if fast else viewer():
        driving = subprocess.Popen(command, cwd=car, stdout=out, stderr=subprocess.STDOUT)
        process = psutil.Process(driving.pid)
        while driving.poll() is None:
            tub = next((car / "data").glob("tub_*"), car / "data")
            try:
                looks.append(look_at(process, tub))
            except (psutil.Error, OSError):  # it has just ended
                break
            if time.monotonic() - began > ends_s:
                ends_s = math.inf
                driving.terminate()  # manage.py ends the drive between two loops
            if time.monotonic() >= say_at:
                say_at += SAY_EVERY_S
                print(f"{time.monotonic() - began:.0f} s: {looks[-1]}", flush=True)
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
    counted = re.findall(r"Counts\((.*?restarts=(\d+))\)", said)
    restarts = sum(int(number) for _, number in counted)
    print(f"records {driven[-1].records}, looks {len(looks)}, exit code {code}")
    print(f"memory {begin:.1f} -> {end:.1f} MB, {growth:+.2%} (promised: under {MOST_GROWTH:.0%} after warm-up)")
    kept = code == 0 and bool(counted) and growth < MOST_GROWTH and restarts == 0
    for name in ("threads", "files"):
        seen = [median(getattr(look, name) for look in part) for part in (first, last)]
        print(f"{name} {seen[0]:g} -> {seen[1]:g}, at most {max(getattr(look, name) for look in after)} (promised: constant)")
        kept &= seen[1] <= seen[0]
    print(f"scorer: {counted[-1][0] if counted else 'said nothing'} (promised: no restart)")
    print(f"tracebacks: {said.count('Traceback')} (promised: none)")
    return kept and "Traceback" not in said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--ticks", type=int, help="lock-step ticks")
    length.add_argument("--minutes", type=float, help="minutes at 20 Hz")
    parser.add_argument("--set", action="append", default=[], metavar="'AICC_KEY = value'", help="a line for myconfig.py")
    args = parser.parse_args()
    ticks = args.ticks or round(2 * args.minutes * 60 * RATE_HZ)  # the clock ends a drive at 20 Hz
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        looks, said, code = soak(make_car(Path(folder) / "car", ticks, args.set), args.minutes)
    kept = judge(looks, said, code)
    print(f"{looks[-1].records} ticks in {time.monotonic() - began:.0f} s: {'kept' if kept else 'NOT KEPT'}")
    if not kept:
        print(said[-2000:])
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
