"""The demo: make a car, drive it through donkeycar's own vehicle loop, and draw what happened."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.car.install_parts import create_car
from donkey_aicc.demo.recorded_drive import RecordedDrive, make_movie, read_drive
from donkey_aicc.demo.timelines import MEMORY_S, Timeline, draw_pair, draw_timeline, read_timeline, story_of, summary_rows, told
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.faults.fault import parse_schedule
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.parts.drive_log import FILE_NAME as DRIVE_LOG
from donkey_aicc.resources import models_dir
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.view_from_above import draw_drive

SCHEDULE = "dark:2@10s-18s,blur:4@29s-37s,bias:3@48s-56s,latency:3@67s-75s"
LAPS = 5
RATE_HZ = 20.0
SETTINGS = '\nAICC_BUNDLE = "reference"\n'
FAULT, FAULT_AT_S, PAIR_LOOPS = "latency:5", 9, 300  # of the drive that the governor saves


def show(
    out: str | Path, laps: int = LAPS, track: str = "loop", seed: int = 1, inject: str = SCHEDULE, fault: str | None = FAULT
) -> dict[str, Any]:
    """Everything ends up under `out`; returns the drive's summary. fault: driven twice more, without and with the governor."""
    if laps < 1:
        raise ConfigError(f"--laps must be >= 1, got {laps}")
    make_track(track), parse_schedule(inject)  # a mistake shows itself before anything is made
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="donkey_aicc_demo_") as folder:
        print(f"1. a new car in {folder}")
        car = create_car(Path(folder) / "mycar")
        with open(car / "myconfig.py", "a", encoding="utf-8") as settings:
            settings.write(SETTINGS)
        print(f"2. it drives {laps} laps of '{track}' through donkeycar's vehicle loop, the shipped pilot at the wheel,")
        print(f"   the monitor watching every frame, and faults on schedule: {inject}")
        _drive(car, "--laps", str(laps), "--track", track, "--seed", str(seed), "--inject", inject)
        tub = _keep_tub(car, out / "tub")
    drive = read_drive(tub)
    timeline = read_timeline(drive, RATE_HZ)
    print("3. pictures")
    _draw(drive, track, out)
    draw_timeline(timeline, out / "timeline.png")
    summary = json.loads((tub / DRIVE_LOG).read_text(encoding="utf-8"))
    _print_summary(summary, drive, out)
    _print_timeline(timeline, out)
    if fault is not None:
        if _has_alarm():
            show_saved(out, track, seed, fault)
        else:
            print("\nthe shipped bundle has no alarm, so there is nothing for a governor to act on")
    return summary


def _has_alarm() -> bool:
    bundle = Bundle.load(models_dir() / "reference")
    return bundle.calibrator_path.is_file() and load_calibrator(bundle).alarm is not None


def show_saved(out: Path, track_name: str, seed: int, fault: str) -> list[str]:
    """The same drive under one fault without and with the governor; returns what it tells."""
    track = make_track(track_name)
    print(f"\n4. two drives with {fault} from second {FAULT_AT_S} on, the same seed, without and with the governor")
    drives = {}
    for mode in ("off", "stop"):
        with tempfile.TemporaryDirectory(prefix="donkey_aicc_demo_") as folder:
            car = create_car(Path(folder) / "mycar")
            limits = f"AICC_GOVERNOR = {mode!r}\nAICC_SIM_PUT_BACK = False\nMAX_LOOPS = {PAIR_LOOPS}\n"
            with open(car / "myconfig.py", "a", encoding="utf-8") as settings:
                settings.write(SETTINGS + limits)
            _drive(car, "--track", track_name, "--seed", str(seed), "--inject", f"{fault}@{FAULT_AT_S}s-")
            drives[mode] = read_drive(_keep_tub(car, out / f"tub_governor_{mode}"))
    without, with_governor = (story_of(drives[mode], track.half_width_m, RATE_HZ) for mode in ("off", "stop"))
    said = told(without, with_governor, fault)
    picture = out / "saved.png"
    draw_pair(track, drives["off"].xy, drives["stop"].xy, round(FAULT_AT_S * RATE_HZ), f"{fault}, the same seed", picture)
    for sentence in said:
        print(f"   {sentence}")
    print(f"paths          {picture}")
    return said


def _drive(car: Path, *options: str) -> None:
    command = [sys.executable, "manage.py", "drive", "--headless", "--fast", *options]
    finished = subprocess.run(command, cwd=car, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise AiccError(f"`{' '.join(command)}` failed with exit code {finished.returncode}:\n{finished.stderr.strip()[-2000:]}")
    for line in finished.stdout.splitlines():
        if line.startswith("lap "):
            print(f"   {line}")


def _keep_tub(car: Path, target: Path) -> Path:
    """Move the drive's tub out of the temporary car."""
    found = sorted(path.parent for path in (car / "data").rglob("manifest.json"))
    if len(found) != 1:
        raise AiccError(f"the drive should have left one tub under {car / 'data'}, found {len(found)}")
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(found[0], target)
    return target


def _draw(drive: RecordedDrive, track_name: str, out: Path) -> None:
    track = make_track(track_name)
    draw_drive(track, drive.xy, np.abs(drive.cte_m), "|cte| m", out / "drive.png")
    make_movie(drive, track, out / "drive.gif")


def _print_summary(summary: dict[str, Any], drive: RecordedDrive, out: Path) -> None:
    laps = ", ".join(f"{seconds:.2f}" for seconds in summary["lap_times_s"])
    print(f"\nlap times      {laps} s (simulated)")
    print(f"mean |cte|     {summary['mean_abs_cte_m']:.3f} m (largest {summary['max_abs_cte_m']:.3f} m)")
    print("speed          simulated in lock step, every score inside the loop; how fast your computer is: donkey-aicc doctor")
    print(f"tub            {out / 'tub'} ({len(drive)} records)")
    print(f"drive picture  {out / 'drive.png'}")
    print(f"movie          {out / 'drive.gif'}")


def _print_timeline(timeline: Timeline, out: Path) -> None:
    print(f"timeline       {out / 'timeline.png'}\n")
    print(f"{'':<10}{'certainty':>10}{'raw':>8}{'rho':>8}{'delta':>8}{'|cte| m':>10}")
    for name, certainty, raw, rho, delta, cte_m in summary_rows(timeline):
        print(f"{name:<10}{certainty:>10.2f}{raw:>8.2f}{rho:>8.2f}{delta:>8.2f}{cte_m:>10.2f}")
    print("\nCertainty is max(c, 1 - c) of the calibrated confidence: 1 is sure either way, 0.5 means it cannot tell.")
    print(f"after: the {MEMORY_S:.0f} s behind each fault, in which rho and delta still see it")
