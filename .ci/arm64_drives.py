"""Drives on two computers and what is the same in them; used by .ci/arm64, on both.

python arm64_drives.py drive FOLDER           300 loops of the simulated car, 300 of a car with donkeycar's mock camera
python arm64_drives.py compare THERE HERE     every score of every record to 1e-4, every picture byte for byte
python arm64_drives.py sizes ROOT             what was downloaded and installed, the ten largest
"""

import hashlib
import json
import math
import subprocess
import sys
from pathlib import Path

LOOPS = 300
COMMON = {"MAX_LOOPS": LOOPS, "AICC_GRADE": "full", "AICC_SCORER_THREADED": False, "AICC_BUNDLE": "reference"}
MOCK = {"AICC_SIM": False, "CAMERA_TYPE": "MOCK", "DRIVE_TRAIN_TYPE": "MOCK"}
CARS = {"simulated": ({}, ["--fast"]), "mock": (MOCK, ["--model", "pilot"])}
SAME = 1e-4
COMMANDS = ("steering", "throttle", "user/angle", "pilot/angle", "pilot/throttle")
NOT_THE_SAME = ("_timestamp_ms", "_session_id", "aicc/scores_age_s")  # the clock's


def drive(folder: Path) -> None:
    for name, (settings, options) in CARS.items():
        car = folder / name
        subprocess.run([sys.executable, "-m", "donkey_aicc", "createcar", "--path", str(car)], check=True, capture_output=True)
        lines = [f"{key} = {value!r}" for key, value in {**COMMON, **settings}.items()]
        (car / "myconfig.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [sys.executable, "manage.py", "drive", "--headless", *options]
        done = subprocess.run(command, cwd=car, check=False, capture_output=True, text=True)
        said = [line for line in done.stdout.splitlines() if line.startswith("donkey_aicc: ")]
        print(f"{name}: exit {done.returncode}; {' '.join(said)}", flush=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)


def records(car: Path) -> list[dict]:
    catalogs = sorted(car.glob("data/*/catalog_*.catalog"), key=lambda path: int(path.stem.split("_")[1]))
    return [json.loads(line) for catalog in catalogs for line in catalog.read_text(encoding="utf-8").splitlines()]


def numbers(value: object) -> list[float]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [float(value)]
    return [float(each) for each in value] if isinstance(value, list) else []


def compare(there: Path, here: Path) -> int:
    wrong = 0
    for name in CARS:
        one, other = records(there / name), records(here / name)
        furthest: dict[str, float] = {}
        different: set[str] = {"number of records"} if len(one) != len(other) or not one else set()
        for a, b in zip(one, other, strict=False):
            different |= set(a) ^ set(b)
            for key in (set(a) & set(b)) - set(NOT_THE_SAME):
                pairs = list(zip(numbers(a[key]), numbers(b[key]), strict=False))
                if pairs:
                    gaps = [0.0 if x == y or math.isnan(x) and math.isnan(y) else abs(x - y) for x, y in pairs]
                    furthest[key] = max(furthest.get(key, 0.0), *(math.inf if math.isnan(gap) else gap for gap in gaps))
                elif a[key] != b[key]:
                    different.add(key)
        beyond = sorted(key for key, gap in furthest.items() if gap > SAME)
        same, pictures = pictures_of(there / name, here / name)
        scored = sum(record.get("aicc/scores_valid") is True for record in one)
        print(f"{name}: {len(one)} records, {scored} with valid scores, {len(furthest)} numeric channels compared")
        for key in sorted(furthest, key=furthest.__getitem__, reverse=True)[:5]:
            print(f"  furthest apart: {key} {furthest[key]:.1e}")
        print(f"  commands: {max(furthest.get(key, 0.0) for key in COMMANDS):.1e}; {same} of {pictures} pictures the same bytes")
        if beyond or different or not pictures:
            wrong += 1
            print(f"  NOT THE SAME: {', '.join([*beyond, *sorted(different)])}")
    return 1 if wrong else 0


def pictures_of(there: Path, here: Path) -> tuple[int, int]:
    def hashed(car: Path) -> list[str]:
        files = sorted(car.glob("data/*/images/*.jpg"), key=lambda path: int(path.name.split("_")[0]))
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]

    one, other = hashed(there), hashed(here)
    return sum(a == b for a, b in zip(one, other, strict=False)), max(len(one), len(other))


def size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(each.lstat().st_size for each in path.rglob("*") if each.is_file() and not each.is_symlink())


def sizes(root: Path) -> None:
    site = next((root / "car").glob("lib/python3*/site-packages"))
    packages = {path.name: size(path) for path in site.iterdir()}
    print(f"downloaded {size(root / 'wheels') / 1e6:.0f} MB, installed {sum(packages.values()) / 1e6:.0f} MB; the ten largest:")
    largest = sorted(packages, key=packages.__getitem__, reverse=True)[:10]
    print("  " + ", ".join(f"{name} {packages[name] / 1e6:.0f}" for name in largest))


if __name__ == "__main__":
    if sys.argv[1] == "drive":
        drive(Path(sys.argv[2]))
    elif sys.argv[1] == "compare":
        sys.exit(compare(Path(sys.argv[2]), Path(sys.argv[3])))
    else:
        sizes(Path(sys.argv[2]))
