"""Memory and start of the whole drive process, seen from outside: `python manage.py drive` as on a car.

    python -m benchmarks.bench_memory [BUNDLE]     (default: the shipped reference bundle; Linux only)

The car has donkeycar's MOCK camera and drive train, web page, cockpit and tub, and nobody drives it. Once without the
monitor, once with the grade that it measures at start, then with every grade of the bundle. Ready: from the call to the line
that donkey_aicc prints right before the first loop.
"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bench_loop import free_port
from donkey_aicc.calibration.calibrator_file import fitted_grades
from donkey_aicc.car.bundles import bundle_path
from donkey_aicc.car.install_parts import create_car
from donkey_aicc.nets.bundle import Bundle

SECONDS = 12.0  # after the start; the scores are whole after five of them
LIMIT_MB, READY_S = 250.0, 3.0
START_LINE = "donkey_aicc: "
BARE = "import donkeycar, donkeycar.templates.complete, cv2"


def make_car(folder: Path, **settings: object) -> Path:
    hardware = {"AICC_SIM": False, "CAMERA_TYPE": "MOCK", "DRIVE_TRAIN_TYPE": "MOCK", "WEB_CONTROL_PORT": free_port()}
    with contextlib.redirect_stdout(io.StringIO()):
        create_car(folder)
    with (folder / "myconfig.py").open("a", encoding="utf-8") as file:
        file.writelines(f"{key} = {value!r}\n" for key, value in (hardware | settings).items())
    return folder


def resident_mb(process: int, what: str = "VmRSS") -> float:
    """VmRSS: now; VmHWM: the most so far."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024 / 1e6


def cpu_s(process: int) -> float:
    """CPU time so far: unlike the wall clock it does not grow with other work on the machine."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(car: Path) -> tuple[str, float, float, str]:
    """How long until ready, MB after SECONDS of driving, most MB so far, and the start line."""
    began = time.monotonic()
    driving = subprocess.Popen(
        [sys.executable, "manage.py", "drive"], cwd=car, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    said = []
    try:
        assert driving.stdout is not None
        for line in driving.stdout:
            said.append(line)
            if line.startswith(START_LINE):
                break
        ready = f"ready in {time.monotonic() - began:4.1f} s ({cpu_s(driving.pid):.1f} s CPU)"
        time.sleep(SECONDS)
        if driving.poll() is not None:
            raise SystemExit(f"the drive ended by itself:\n{''.join(said)}")
        return ready, resident_mb(driving.pid), resident_mb(driving.pid, "VmHWM"), said[-1].strip()
    finally:
        driving.kill()
        driving.wait()


def bare_mb() -> float:
    """Python with donkeycar and its camera library alone."""
    code = f"import contextlib, io, os\nwith contextlib.redirect_stdout(io.StringIO()):\n    {BARE}\n"
    code += "print(open('/proc/self/statm').read().split()[1])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    bundle = bundle_path(sys.argv[1] if len(sys.argv) > 1 else "reference")
    print(f"load before: {os.getloadavg()[0]:.1f} (times are wall times); wanted: {LIMIT_MB:g} MB, ready in {READY_S:g} s")
    print(f"Python with donkeycar alone: {bare_mb():.0f} MB")
    cars: dict[str, dict[str, object]] = {"no monitor": {"AICC_BUNDLE": "off"}, "as delivered": {"AICC_BUNDLE": str(bundle)}}
    for grade in fitted_grades(Bundle.open(bundle)):
        cars[f"grade {grade}"] = {"AICC_BUNDLE": str(bundle), "AICC_GRADE": grade}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, settings) in enumerate(cars.items()):
            ready, now_mb, most_mb, said = measure(make_car(Path(folder) / str(number), **settings))
            print(f"{name:<12} {ready}, {now_mb:4.0f} MB resident (most: {most_mb:.0f} MB, while loading)")
            print(f"             {said}")


if __name__ == "__main__":
    main()
