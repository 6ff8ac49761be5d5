"""The whole car in the embedded simulator at 20 Hz on two cores: every part, missed ticks, scores and memory.

    python benchmarks/bench_loop.py [BUNDLE]

Each drive is a car folder of `donkey-aicc createcar`, headless with web page, tub and the scorer in its thread: once
alone, once with somebody watching the web page's video, once beside a CPU hog on one of the two cores. AICC_BENCH_S sets
the seconds per drive. Without a bundle it takes the shipped models/reference, or else untrained nets, which cost the same.
The targets are meant for a machine that does nothing else, so the load before each drive is printed.
"""

import http.client
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

from bench_parts import make_bundle, make_calibrator

from donkey_aicc.calibration.calibrator_file import save_calibrator
from donkey_aicc.car.new_car import create_car
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.resources import models_dir

RATE_HZ = 20
WARM_UP_TICKS = 2 * RATE_HZ  # torch sets itself up in the first ones; counted apart
SECONDS = float(os.environ.get("AICC_BENCH_S", "60"))
SHIPPED_BUNDLE = "reference"
CORES = 2
CONTROL_PATH_LIMIT_MS = 15.0
MISSED_WITH_HOG_LIMIT = 0.01
SHOWN_FROM_MS = 0.2
PATIENCE_S = 3 * SECONDS + 120  # start-up included
DRIVE = Path(__file__).with_name("measured_drive.py")


def prepare_bundle(wanted: str | None, folder: Path) -> Path:
    """A copy in `folder` that surely has a calibrator, since a missing one would make the control path cheaper."""
    source = Path(wanted) if wanted else models_dir() / SHIPPED_BUNDLE
    if wanted or source.is_dir():
        shutil.copytree(source, folder)
        bundle, about = Bundle.load(folder), f"bundle {source.name}"
    else:
        bundle, about = make_bundle(folder), "untrained nets"
    if not bundle.calibrator_path.is_file():
        save_calibrator(bundle, make_calibrator(), {"made for": "a benchmark"})
        about += ", made-up calibrator"
    print(f"{about}; {SECONDS:g} s per drive after the first {WARM_UP_TICKS / RATE_HZ:g} s")
    return folder


def make_car(folder: Path, bundle: Path, port: int) -> Path:
    """A car as the template makes it; donkeycar's loop itself keeps the 20 Hz, so no part's time holds any waiting."""
    settings = {
        "AICC_SIM": True,
        "AICC_BUNDLE": str(bundle),
        "DRIVE_LOOP_HZ": RATE_HZ,
        "MAX_LOOPS": WARM_UP_TICKS + round(SECONDS * RATE_HZ),
        "WEB_CONTROL_PORT": port,
        "LOGGING_LEVEL": "WARNING",
    }
    with redirect_stdout(io.StringIO()):
        create_car(folder)
    with (folder / "myconfig.py").open("a") as file:
        file.writelines(f"{key} = {value!r}\n" for key, value in settings.items())
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


@contextmanager
def two_cores() -> Iterator[list[int]]:
    """This process and all it starts stay on two cores; where the system cannot pin, on all."""
    if not hasattr(os, "sched_setaffinity"):
        print("this system cannot pin processes: the car has all cores, and the hog takes any one")
        yield []
        return
    before = os.sched_getaffinity(0)
    cores = sorted(before)[:CORES]
    if len(cores) < CORES:
        print("only one core here: the targets are meant for two")
    os.sched_setaffinity(0, cores)
    try:
        yield cores
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def hog(cores: list[int]) -> Iterator[None]:
    """A busy loop, pinned to the first core; it ends with us, however we end."""
    burning = subprocess.Popen([sys.executable, "-c", "import os\nours = os.getppid()\nwhile os.getppid() == ours: pass"])
    try:
        if cores:
            os.sched_setaffinity(burning.pid, cores[:1])
        yield
    finally:
        burning.kill()
        burning.wait()


@contextmanager
def watcher(port: int) -> Iterator[None]:
    """Somebody looks at the car's video; donkeycar then encodes up to 200 frames a second for them."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):  # until the page is up
            try:
                with urllib.request.urlopen(f"http://localhost:{port}/video", timeout=5) as video:
                    while not done.is_set() and video.read1():
                        pass
            except (OSError, http.client.HTTPException):  # not up yet, or the drive is over
                continue

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join(timeout=10)


def measured(title: str, car: Path, beside: AbstractContextManager[None]) -> dict[str, Any]:
    """Drive the car in a process of its own, with `beside` going on; its output is shown only if it fails."""
    result = car / "measured.json"
    print(f"\n{title} (load before: {os.getloadavg()[0]:.1f})", flush=True)
    command = [sys.executable, str(DRIVE), str(car), str(result), str(RATE_HZ), str(WARM_UP_TICKS)]
    cut = False
    with beside:
        driving = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said, _ = driving.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            cut = True
            print(f"  cut short: this machine did not manage {SECONDS:g} s worth of ticks in {PATIENCE_S:g} s")
            driving.terminate()  # manage.py ends the drive between two loops
            said, _ = driving.communicate()
    if driving.returncode or not result.is_file():
        raise SystemExit(f"the drive failed with exit code {driving.returncode}:\n{said}")
    return json.loads(result.read_text(encoding="utf-8")) | {"cut": cut}


def print_drive(found: dict[str, Any], missed_limit: float) -> None:
    shown = [(name, ms) for name, ms in found["parts"] if ms["p99"] >= SHOWN_FROM_MS]
    for name, ms in [*shown, ("control path", found["control_path"]), ("whole loop", found["loop"])]:
        cpu = f"  CPU p50 {ms['cpu_p50']:6.2f} ms" if "cpu_p50" in ms else ""
        print(f"  {name:<20} p50 {ms['p50']:7.2f} ms  p99 {ms['p99']:7.2f} ms  most {ms['most']:7.2f} ms{cpu}")
    print(f"  {len(found['parts']) - len(shown)} other parts have a p99 under {SHOWN_FROM_MS:g} ms")
    counts, drive_s = found["counts"], found["drive_s"]
    print(
        f"  scores: {counts['frames_scored'] / drive_s:.1f} frames a second, age p50 {1e3 * found['age_s'][0]:.0f} ms, "
        f"p99 {1e3 * found['age_s'][1]:.0f} ms, usable in {found['scores_ok']:.0%} of the ticks (they need 100 frames first); "
        f"skipped: {counts['frames_skipped']} frames; restarts {counts['restarts']}"
    )
    print(f"  memory: at most {found['peak_memory_mb']:.0f} MB resident; CPU: {found['cpu_s'] / drive_s:.2f} cores with start-up")
    print_targets(found, missed_limit)


def print_targets(found: dict[str, Any], missed_limit: float) -> None:
    p99, missed, due = found["control_path"]["p99"], found["missed"], found["ticks"] + found["missed"]

    def verdict(met: bool) -> str:
        return "not judged, the drive was cut short" if found["cut"] else "met" if met else "NOT met"

    if missed_limit:
        wanted = f"under {missed_limit:.0%}: {verdict(missed < missed_limit * due)}"
    else:
        wanted = f"none: {verdict(missed == 0)}"
        limit = f"< {CONTROL_PATH_LIMIT_MS:g} ms: {verdict(p99 < CONTROL_PATH_LIMIT_MS)}"
        print(f"  control path (predictor, TTA and calibrator): p99 {p99:.1f} ms, wanted {limit}")
    print(
        f"  missed ticks: {missed} of {due} ({missed / due:.2%}), wanted {wanted}; {found['missed_at_start']} more in the first "
        f"{WARM_UP_TICKS / RATE_HZ:g} s; {found['rate_hz']:.2f} loops a second"
    )
    if found["stolen_s"]:
        print(f"  this is a virtual machine: its host took away {found['stolen_s']:.2f} s of CPU time during the drive")
        if untouched := found["control_path_untouched"]:
            ticks = f"{found['untouched_ticks']} ticks in which it took nothing"
            print(f"    in the {ticks}: control path p50 {untouched['p50']:.1f} ms, p99 {untouched['p99']:.1f} ms")
        for period in found["late_periods"]:
            print(f"    a period of {period['ms']:.0f} ms missed a tick; the host took {period['stolen_ms']:.0f} ms in it")


def main(wanted_bundle: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as name, two_cores() as cores:
        folder = Path(name)
        bundle = prepare_bundle(wanted_bundle, folder / "bundle")
        ports = [free_port() for _ in range(3)]
        drives: dict[str, tuple[AbstractContextManager[None], float]] = {
            "idle": (nullcontext(), 0.0),
            "idle, video watched": (watcher(ports[1]), 0.0),
            "CPU hog on one core": (hog(cores), MISSED_WITH_HOG_LIMIT),
        }
        for port, (title, (beside, missed_limit)) in zip(ports, drives.items(), strict=True):
            car = make_car(folder / title.replace(" ", "_"), bundle, port)
            print_drive(measured(title, car, beside), missed_limit)


if __name__ == "__main__":
    main(*sys.argv[1:2])
