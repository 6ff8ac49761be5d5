"""`donkey-aicc doctor`: is this computer ready to drive with the monitor, and what to do where it is not."""

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LEAST_FREE_MB = 500
PACKAGES = ("donkeycar", "numpy", "onnxruntime", "opencv-python-headless", "torch")


@dataclass(frozen=True)
class Check:
    """One line of the report."""

    name: str
    ok: bool
    found: str
    advice: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bundle", default="reference", help="bundle to drive with: a folder or a shipped name (default reference)"
    )
    parser.add_argument("--car", default=".", help="car folder whose tubs are written (default: here)")
    parser.add_argument("--hz", type=float, default=20.0, help="rate of the drive loop (default 20)")
    parser.add_argument("--runtime", default="auto", help="auto, onnx or torch (default auto)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.errors import ConfigError

    if not args.hz > 0.0:
        raise ConfigError(f"--hz must be > 0, got {args.hz}")
    checks = [_versions(), *_monitor(args), _tub_folder(Path(args.car)), _devices()]
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


def _versions() -> Check:
    found = [f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} CPUs"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {name}")
    lacks = "no onnxruntime" in found and "no torch" in found
    advice = "nothing can run the nets: pip install donkey_aicc" if lacks else ""
    return Check("versions", sys.version_info >= (3, 11) and not lacks, ", ".join(found), advice)


def _monitor(args: argparse.Namespace) -> list[Check]:
    """The bundle, its runtime, and per grade what one frame costs here."""
    from donkey_aicc.calibration.calibrator_file import fitted_grades, score_settings
    from donkey_aicc.car.bundles import bundle_path
    from donkey_aicc.errors import AiccError
    from donkey_aicc.nets.bundle_folder import BundleFolder
    from donkey_aicc.nets.runtime import open_runtime

    try:
        path = bundle_path(args.bundle)
        runtime, bundle = open_runtime(path, args.runtime), BundleFolder.open(path)
        calibrated = bundle.calibrator_path.is_file()
        grades = [score_settings(bundle, grade) for grade in (fitted_grades(bundle) if calibrated else ("full",))]
    except AiccError as error:
        return [Check("bundle", False, str(error))]
    advice = "" if calibrated else f"confidence stays at 0.5 or below; run: donkey-aicc calibrate --bundle {path} --data TUBS"
    if runtime.name == "torch":
        advice = advice or f"faster and without torch after: donkey-aicc export {path}"
    named = ", ".join(settings.grade for settings in grades)
    checks = [Check("bundle", calibrated, f"{path} on {runtime.name}, grades {named}", advice)]
    return [*checks, *_speed(runtime, grades, args.hz)]


def _speed(runtime: Any, grades: list[Any], hz: float) -> list[Check]:
    from donkey_aicc.car.grade_choice import choose_grade, frame_ms

    checks = []
    for settings in grades:
        ms = frame_ms(runtime, settings)
        checks.append(
            Check(f"grade {settings.grade}", True, f"{ms:.1f} ms a frame, {min(1e3 / ms, hz):.0f} of {hz:g} frames a second")
        )
    choice = choose_grade(runtime, grades, 1.0 / hz)
    advice = f"{choice.too_slow}; lower DRIVE_LOOP_HZ" if choice.too_slow else ""
    return [*checks, Check("grade at start", choice.fits, choice.grade, advice)]


def _tub_folder(car: Path) -> Check:
    folder = car / "data" if (car / "data").is_dir() else car
    if not folder.is_dir():
        return Check("tub folder", False, f"{folder} does not exist", "give the car folder: --car FOLDER")
    free_mb = shutil.disk_usage(folder).free / 1e6
    writable = os.access(folder, os.W_OK)
    advice = "" if writable else "make it writable, or drive as another user"
    if free_mb < LEAST_FREE_MB:
        advice = advice or "delete old tubs: an hour of driving takes some hundred MB"
    return Check("tub folder", writable and free_mb >= LEAST_FREE_MB, f"{folder.resolve()}, {free_mb:.0f} MB free", advice)


def _devices() -> Check:
    """Camera and controller; a simulated car needs neither, so none is no problem."""
    cameras = sorted(str(path) for path in Path("/dev").glob("video*"))
    controllers = sorted(str(path) for path in Path("/dev/input").glob("js*")) if Path("/dev/input").is_dir() else []
    found = f"camera {', '.join(cameras) or 'none'}, controller {', '.join(controllers) or 'none'}"
    return Check("devices", True, found, "" if cameras else "fine in the simulator; a real car needs a camera at /dev/video*")
