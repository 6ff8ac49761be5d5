"""The demo: make a car, drive it through donkeycar's own vehicle loop, and replay what it recorded."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.car.install_parts import create_car
from donkey_aicc.demo.in_words import COLUMNS, MEMORY_S, mean_rows, story_of, told
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.faults.fault import parse_schedule
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.parts.drive_log import FILE_NAME as DRIVE_LOG
from donkey_aicc.replay.drive_picture import write_picture
from donkey_aicc.replay.movie import write_movie
from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.replay_page import write_html
from donkey_aicc.replay.run import Run
from donkey_aicc.resources import models_dir
from donkey_aicc.simulator.tracks import make_track

SCHEDULE = "dark:2@10s-18s,blur:4@29s-37s,bias:3@48s-56s,latency:3@67s-75s"
LAPS = 5
SETTINGS = '\nAICC_BUNDLE = "reference"\n'
FAULT, FAULT_AT_S, PAIR_LOOPS = "latency:5", 10, 300  # of the drive that the governor saves


def show(
    out: str | Path, laps: int = LAPS, track: str = "loop", seed: int = 1, inject: str = SCHEDULE, fault: str | None = FAULT
) -> dict[str, Any]:
    """Everything ends up under `out`; returns the drive's summary. fault: driven twice more, without and with the governor."""
    if laps < 1:
        raise ConfigError(f"--laps must be >= 1, got {laps}")
    make_track(track), parse_schedule(inject)  # a mistake shows itself before anything is made
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    print(f"1. a new car drives {laps} laps of '{track}' through donkeycar's vehicle loop, the shipped pilot at the wheel,")
    print(f"   the monitor watching every frame, and faults on schedule: {inject}")
    tub = drive(out / "tub", "", "--laps", str(laps), "--track", track, "--seed", str(seed), "--inject", inject)
    run = read_run(tub)
    print("2. replay")
    written = [
        write_html([run], out / "drive.html"),
        write_picture([run], out / "drive.png"),
        write_movie([run], out / "drive.gif"),
    ]
    summary = json.loads((tub / DRIVE_LOG).read_text(encoding="utf-8"))
    _print_summary(summary, run, [f"{tub}: {len(run)} records; look at it with: donkey-aicc replay {tub}", *written])
    if fault is not None:
        if _has_alarm():
            show_saved(out, track, seed, fault)
        else:
            print("\nthe shipped bundle has no alarm, so there is nothing for a governor to act on")
    return summary


def _has_alarm() -> bool:
    bundle = Bundle.load(models_dir() / "reference")
    return bundle.calibrator_path.is_file() and load_calibrator(bundle).alarm is not None


def show_saved(out: Path, track: str, seed: int, fault: str) -> list[str]:
    """The same drive under one fault without and with the governor; returns what it tells."""
    print(f"\n3. two drives with {fault} from second {FAULT_AT_S} on, the same seed, without and with the governor")
    runs = []
    for mode in ("off", "stop"):
        limits = f"AICC_GOVERNOR = {mode!r}\nAICC_SIM_PUT_BACK = False\nMAX_LOOPS = {PAIR_LOOPS}\n"
        options = ("--track", track, "--seed", str(seed), "--inject", f"{fault}@{FAULT_AT_S}s-")
        runs.append(read_run(drive(out / f"tub_governor_{mode}", limits, *options)))
    half_width_m = make_track(track).half_width_m
    said = told(story_of(runs[0], half_width_m), story_of(runs[1], half_width_m), fault)
    for sentence in said:
        print(f"   {sentence}")
    print(write_html(runs, out / "saved.html"))
    print(write_picture(runs, out / "saved.png", ("without governor", "with governor")))
    return said


def drive(target: Path, settings: str, *options: str) -> Path:
    """A drive of a new car; its tub is moved to `target`."""
    with tempfile.TemporaryDirectory(prefix="donkey_aicc_demo_") as folder:
        car = create_car(Path(folder) / "mycar")
        with open(car / "myconfig.py", "a", encoding="utf-8") as file:
            file.write(SETTINGS + settings)
        command = [sys.executable, "manage.py", "drive", "--headless", "--fast", *options]
        done = subprocess.run(command, cwd=car, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AiccError(f"`{' '.join(command)}` failed with exit code {done.returncode}:\n{done.stderr.strip()[-2000:]}")
        for line in done.stdout.splitlines():
            if line.startswith("lap "):
                print(f"   {line}")
        found = sorted(path.parent for path in (car / "data").rglob("manifest.json"))
        if len(found) != 1:
            raise AiccError(f"the drive should have left one tub under {car / 'data'}, found {len(found)}")
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(found[0], target)
    return target


def _print_summary(summary: dict[str, Any], run: Run, written: list[str]) -> None:
    laps = ", ".join(f"{seconds:.2f}" for seconds in summary["lap_times_s"])
    print(f"\nlap times   {laps} s (simulated)")
    print(f"mean |cte|  {summary['mean_abs_cte_m']:.3f} m (largest {summary['max_abs_cte_m']:.3f} m)")
    print("speed       simulated in lock step, every score inside the loop; how fast your computer is: donkey-aicc doctor\n")
    print("\n".join(written))
    print(f"\n{'':<10}" + "".join(f"{name:>11}" for name in COLUMNS))
    for name, means in mean_rows(run):
        print(f"{name:<10}" + "".join(f"{mean:>11.2f}" for mean in means))
    print("\nCertainty is max(c, 1 - c) of the calibrated confidence: 1 is sure either way, 0.5 means it cannot tell.")
    print(f"after: the {MEMORY_S:.0f} s behind each fault, in which rho and delta still see it")
