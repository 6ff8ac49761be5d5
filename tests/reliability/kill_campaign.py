"""kill -9 at random moments: a rerun must end like an undisturbed run, with no process and no file left over.

    python -m tests.reliability.kill_campaign score --times 50 [--folder /tmp/campaign] [--seed 1]

Makes small tubs and a small bundle first (kept in --folder for the next command). The command is killed, started again where
the killed one left everything, and so on; after every fifth kill it may end, and its result is compared with that of an
undisturbed run. Prints a line per comparison and a table row for docs/reliability.md; exit code 1 if a promise was broken.
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
from donkeycar.management.base import CreateCar

from tests.reliability.preloaded import Preloaded

KILLS_IN_A_ROW = 5
PATIENCE_S = 10.0
LIMIT_S = 900.0
FEW, MANY = (6, 130), (12, 156)  # drives and their frames; to calibrate takes more and longer ones
TRAINING = "--preset tiny --set vae.frames=32 --set dynamics.windows=4 --set dynamics.epochs=3 --threads 1"
FITTING = "--grade light --workers 1"
# What the command is given; OUT is the folder whose content is compared. Times of the run differ by nature.
COMMANDS = {
    "record": "record --expert --drives 4 --frames 40 --seed 3 --workers 2 --out OUT/tubs",
    "train": f"train TUBS {TRAINING} --resume --out OUT/bundle --cache-dir CACHE",
    "score": "score PAIR --bundle BUNDLE --grade light --workers 2 --out OUT/scores.npz --cache-dir CACHE",
    "calibrate": f"calibrate --bundle OUT/bundle --data TUBS {FITTING} --cache-dir CACHE",
    "evaluate": "evaluate --bundle CALIBRATED --nominal TUBS --ood dark=DARK --draws 20 --seeds 2 --folds 2 --workers 1 "
    "--out OUT/report --d-aug-frames 10 --cache-dir CACHE",
    "label": "label TUB --answers ANSWERS --questions 30 --out OUT/labels.csv --cache-dir CACHE",
    "createcar": "createcar --path OUT/car",
    "install": "install OUT/car --bundle reference --yes",
    "html": "replay TUB --bundle BUNDLE --grade light --html OUT/replay.html --cache-dir CACHE",
    "movie": "replay TUB --bundle BUNDLE --grade light --movie OUT/replay.mp4 --cache-dir CACHE",
}
WITHOUT_TUBS = ("createcar", "install")
# Most of their time they score D_aug, which is kept: after one row of kills without, the others begin with these scores.
SCORING_MOST = ("calibrate", "evaluate")
# Files that tell the time of the run, and what only a stopped training needs.
NOT_COMPARED = ("manifest.json", "catalog_manifest", "drive.json", "runtime.json", ".training", "index.html")


def finish(program: Preloaded, words: Sequence[str]) -> None:
    program.start(words)
    code = program.wait(LIMIT_S)
    if code != 0 and not (words[0] == "createcar" and "There is already a car" in program.said):  # killed after its last write
        raise SystemExit(f"{' '.join(words)} ended with {code}:\n{program.said[-1500:]}")


def family(session: int) -> list[int]:
    """Processes of the session that are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (ProcessLookupError, psutil.Error):
            continue
    return found


def content(folder: Path) -> dict[str, str]:
    """File -> hash; of files that tell the time only that they are there."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and ".training/" not in name:
            told = any(part in name for part in NOT_COMPARED)
            found[name] = "there" if told else hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def prepare(program: Preloaded, folder: Path, command: str) -> dict[str, str]:
    """Tubs, and as far as the command needs them a bundle, a calibrated one, and answers for `label`."""
    if command in WITHOUT_TUBS:
        return {"CACHE": str(folder / "cache")}
    drives, frames = MANY if command in ("calibrate", "evaluate") else FEW
    tubs, bundle, calibrated = (folder / f"{name}_{drives}" for name in ("tubs", "bundle", "calibrated"))
    answers, cache = folder / "answers.csv", folder / "cache"
    finish(program, f"record --expert --drives {drives} --frames {frames} --seed 5 --workers 1 --out {tubs}".split())
    if command not in ("record", "train", "label") and not bundle.exists():
        finish(program, f"train {tubs} {TRAINING} --out {bundle} --cache-dir {cache}".split())
    dark = folder / "dark"
    if command == "evaluate":
        finish(
            program,
            f"record --expert --faults dark --severity 5 --drives 2 --frames 300 --seed 6 --workers 1 --out {dark}".split(),
        )
    if command == "evaluate" and not (calibrated / "calibrator.json").exists():
        shutil.copytree(bundle, calibrated, dirs_exist_ok=True)
        finish(program, f"calibrate --bundle {calibrated} --data {tubs} {FITTING} --cache-dir {cache}".split())
    answers.write_text("index,answer\n" + "".join(f"{row},{'unsafe' if row % 4 == 0 else 'safe'}\n" for row in range(frames)))
    for tub in sorted(tubs.iterdir())[:2]:
        shutil.copytree(tub, folder / "pair" / tub.name, dirs_exist_ok=True)
    places = {
        "PAIR": folder / "pair",
        "TUBS": tubs,
        "TUB": min(tubs.iterdir()),
        "BUNDLE": bundle,
        "CALIBRATED": calibrated,
        "dark=DARK": f"dark={dark}",
        "ANSWERS": answers,
        "CACHE": cache,
    }
    return {name: str(place) for name, place in places.items()}


def fresh(out: Path, command: str, places: dict[str, str], cache: Path | None = None) -> list[str]:
    """An empty OUT (with the bundle that the command writes into), this cache or none, and the command's words."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(places["CACHE"], ignore_errors=True)
    if cache is not None:
        shutil.copytree(cache, places["CACHE"])
    out.mkdir(parents=True)
    if command == "calibrate":
        shutil.copytree(places["BUNDLE"], out / "bundle")
    if command == "install":
        CreateCar().create_car(str(out / "car"))
    words = [word.replace("OUT", str(out)) for word in COMMANDS[command].split()]
    return [places.get(word, word) for word in words]


def killed_after(program: Preloaded, words: Sequence[str], seconds: float) -> tuple[bool, list[int]]:
    """Whether it was killed before its end, and who lived on."""
    process = program.start(words)
    if program.wait(seconds) is not None:
        return False, []
    os.kill(process, signal.SIGKILL)
    program.wait(LIMIT_S)
    end = time.monotonic() + PATIENCE_S
    while family(process) and time.monotonic() < end:
        time.sleep(0.1)
    return True, family(process)


def campaign(command: str, times: int, folder: Path, seed: int) -> bool:
    """All kills of one command; True if every promise was kept."""
    folder.mkdir(parents=True, exist_ok=True)
    program = Preloaded(folder / "said.txt")
    try:
        return _campaign(program, command, times, folder, random.Random(seed))
    finally:
        program.close()


def _campaign(program: Preloaded, command: str, times: int, folder: Path, rng: random.Random) -> bool:
    places, out = prepare(program, folder, command), folder / "out"
    cold_s = _lasts(program, fresh(out, command, places))
    expected, warm, warm_s = content(out), None, cold_s
    print(f"{command}: {cold_s:.1f} s undisturbed, {len(expected)} files", flush=True)
    if command in SCORING_MOST:
        warm = folder / "warm"
        shutil.rmtree(warm, ignore_errors=True)
        shutil.copytree(places["CACHE"], warm)
        warm_s = _lasts(program, fresh(out, command, places, warm))
        print(f"  {warm_s:.1f} s with the scores of an earlier run, equal: {content(out) == expected}", flush=True)
    killed = orphans = reruns = different = 0
    while killed < times:
        cache, lasts_s = (warm, warm_s) if reruns else (None, cold_s)
        words, moments = fresh(out, command, places, cache), []
        for _ in range(min(KILLS_IN_A_ROW, times - killed)):
            after = rng.uniform(0.0, lasts_s)
            was_killed, left = killed_after(program, words, after)
            orphans += len(left)
            if not was_killed:  # it was faster this time, or had little left to do
                break
            moments.append(round(after, 2))
        killed += len(moments)
        finish(program, words)
        found = content(out)
        wrong = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        reruns, different = reruns + 1, different + bool(wrong)
        print(f"  killed after {moments} s, orphans so far {orphans}, different {wrong[:5]}", flush=True)
    print(f"| kill -9 of {command} | {killed} | {orphans} orphans, {different} of {reruns} reruns differ |")
    return not (orphans or different)


def _lasts(program: Preloaded, words: Sequence[str]) -> float:
    began = time.monotonic()
    finish(program, words)
    return time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=sorted(COMMANDS))
    parser.add_argument("--times", type=int, default=50, help="kills (default 50)")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default 1)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        return 0 if campaign(args.command, args.times, args.folder or Path(temporary), args.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
