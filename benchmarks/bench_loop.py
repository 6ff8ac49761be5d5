"""The whole car in the embedded simulator at 20 Hz on two cores: every part, missed ticks, scores and memory.

    python -m benchmarks.bench_loop [--seconds 60] [--drives idle,video,hog] [BUNDLE]

Each drive is a car folder of `donkey-aicc createcar`, headless with web page, tub and the scorer in its thread: once
alone, once with somebody watching the web page's video, once beside a CPU hog on one of the two cores. The bundle (default:
the shipped reference) must be calibrated. The targets are meant for a machine that does nothing else, so the load before
each drive is printed, and what a virtual machine's host took away (steal) is counted apart.
"""

import argparse
import http.client
import io
import json
import os
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

from donkey_aicc.car.bundles import bundle_path
from donkey_aicc.car.install_parts import create_car
from donkey_aicc.nets.bundle import Bundle

RATE_HZ = 20
WARM_UP_TICKS = 2 * RATE_HZ  # libraries set themselves up in the first ones; counted apart
CORES = 2
CONTROL_PATH_LIMIT_MS = 8.0
SHOWN_FROM_MS = 0.2
DRIVE = Path(__file__).with_name("measured_drive.py")


def make_car(folder: Path, bundle: Path, port: int, seconds: float) -> Path:
    """A car as the template makes it; donkeycar's loop itself keeps the 20 Hz, so no part's time holds any waiting."""
    settings = {
        "AICC_SIM": True,
        "AICC_BUNDLE": str(bundle),
        "DRIVE_LOOP_HZ": RATE_HZ,
        "MAX_LOOPS": WARM_UP_TICKS + round(seconds * RATE_HZ),
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


def measured(title: str, car: Path, seconds: float, beside: AbstractContextManager[None]) -> dict[str, Any]:
    """Drive the car in a process of its own, with `beside` going on; its output is shown only if it fails."""
    result, patience_s = car / "measured.json", 3 * seconds + 120  # start-up included
    print(f"\n{title} (load before: {os.getloadavg()[0]:.1f})", flush=True)
    command = [sys.executable, str(DRIVE), str(car), str(result), str(RATE_HZ), str(WARM_UP_TICKS)]
    cut = False
    with beside:
        driving = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said, _ = driving.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            cut = True
            print(f"  cut short: this machine did not manage {seconds:g} s worth of ticks in {patience_s:g} s")
            driving.terminate()  # manage.py ends the drive between two loops
            said, _ = driving.communicate()
    if driving.returncode or not result.is_file():
        raise SystemExit(f"the drive failed with exit code {driving.returncode}:\n{said}")
    started = next((line for line in said.splitlines() if line.startswith("donkey_aicc: ")), "")
    print(f"  {started}")
    return json.loads(result.read_text(encoding="utf-8")) | {"cut": cut}


def print_drive(found: dict[str, Any]) -> None:
    shown = [(name, ms) for name, ms in found["parts"] if ms["p99"] >= SHOWN_FROM_MS]
    for name, ms in [*shown, ("control path", found["control_path"]), ("whole loop", found["loop"])]:
        cpu = f"  CPU p50 {ms['cpu_p50']:6.2f} ms" if "cpu_p50" in ms else ""
        print(f"  {name:<20} p50 {ms['p50']:7.2f} ms  p99 {ms['p99']:7.2f} ms  most {ms['most']:7.2f} ms{cpu}")
    print(f"  {len(found['parts']) - len(shown)} other parts have a p99 under {SHOWN_FROM_MS:g} ms")
    counts, drive_s = found["counts"], found["drive_s"]
    print(
        f"  scores: grade {found['grade']}, {counts['frames_scored'] / drive_s:.1f} frames a second, age p50 "
        f"{1e3 * found['age_s'][0]:.0f} ms, p99 {1e3 * found['age_s'][1]:.0f} ms, usable in {found['scores_ok']:.0%} of "
        f"the ticks (they need 100 frames first); skipped: {counts['frames_skipped']} frames; restarts {counts['restarts']}"
    )
    print(f"  memory: at most {found['peak_memory_mb']:.0f} MB resident; CPU: {found['cpu_s'] / drive_s:.2f} cores with start-up")
    print_targets(found)


def print_targets(found: dict[str, Any]) -> None:
    """The two goals, judged on what the host of a virtual machine left alone; the other ticks are told besides."""
    missed, due, quiet = found["missed"], found["ticks"] + found["missed"], found["control_path_untouched"]

    def verdict(met: bool) -> str:
        return "not judged, the drive was cut short" if found["cut"] else "met" if met else "NOT met"

    own = [period for period in found["late_periods"] if not period["stolen_ms"]]
    if found["stolen_s"]:
        share = f"{found['stolen_s']:.2f} s of CPU time during the drive, in {found['ticks'] - found['untouched_ticks']} ticks"
        print(f"  this is a virtual machine: its host took away {share}; the goals are about the others")
    if quiet:
        print(
            f"  GOAL control path p99 at most {CONTROL_PATH_LIMIT_MS:g} ms: {verdict(quiet['p99'] <= CONTROL_PATH_LIMIT_MS)}: "
            f"p50 {quiet['p50']:.1f} ms, p99 {quiet['p99']:.1f} ms in {found['untouched_ticks']} ticks without steal "
            f"(p99 {found['control_path']['p99']:.1f} ms in all {found['ticks']})"
        )
    print(
        f"  GOAL no missed tick without steal in it: {verdict(not own)}: {len(own)} of {len(found['late_periods'])} late periods "
        f"had none; in all {missed} of {due} ticks missed ({missed / due:.2%}), {found['missed_at_start']} more in the first "
        f"{WARM_UP_TICKS / RATE_HZ:g} s; {found['rate_hz']:.2f} loops a second"
    )
    for period in found["late_periods"]:
        print(f"    a period of {period['ms']:.0f} ms missed a tick; the host took {period['stolen_ms']:.0f} ms in it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", default="reference")
    parser.add_argument("--seconds", type=float, default=60.0, help="per drive, after the warm-up (default 60)")
    parser.add_argument("--drives", default="idle,video,hog", help="which of idle, video and hog (default all)")
    args = parser.parse_args()
    bundle = bundle_path(args.bundle)
    if not Bundle.open(bundle).calibrator_path.is_file():
        raise SystemExit(f"{bundle} has no calibrator: the control path would be cheaper than in a real drive")
    print(f"bundle {bundle.name}; {args.seconds:g} s per drive after the first {WARM_UP_TICKS / RATE_HZ:g} s")
    with tempfile.TemporaryDirectory() as name, two_cores() as cores:
        for drive in args.drives.split(","):
            port = free_port()
            kinds: dict[str, tuple[str, AbstractContextManager[None]]] = {
                "idle": ("nothing else runs", nullcontext()),
                "video": ("the video is watched", watcher(port)),
                "hog": ("CPU hog on one core", hog(cores)),
            }
            title, beside = kinds[drive]
            car = make_car(Path(name) / drive, bundle, port, args.seconds)
            print_drive(measured(title, car, args.seconds, beside))


if __name__ == "__main__":
    main()
