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
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

KILLS_IN_A_ROW = 5
PATIENCE_S = 10.0
LIMIT_S = 900.0
# What the command is given; OUT is the folder whose content is compared. Times of the run differ by nature.
COMMANDS = {
    "record": "record --expert --drives 4 --frames 40 --seed 3 --workers 2 --out OUT/tubs",
    "train": "train TUBS --preset tiny --threads 1 --resume --out OUT/bundle",
    "score": "score PAIR --bundle BUNDLE --grade light --workers 2 --out OUT/scores.npz",
    "calibrate": "calibrate --bundle OUT/bundle --data TUBS --grade light --workers 2",
    "evaluate": "evaluate --bundle CALIBRATED --nominal TUBS --draws 20 --seeds 2 --folds 2 --workers 2 --out OUT/report",
    "label": "label TUB --answers ANSWERS --questions 10 --out OUT/labels.csv",
    "export": "export OUT/bundle --data TUB",
    "html": "replay TUB --bundle BUNDLE --html OUT/replay.html",
    "movie": "replay TUB --bundle BUNDLE --movie OUT/replay.mp4",
}
# Files that tell the time of the run, and what only a stopped training needs.
NOT_COMPARED = ("manifest.json", "runtime.json", ".training", "index.html")


def run(words: Sequence[str], folder: Path) -> subprocess.Popen:
    """In a session of its own, so that its whole family can be found again."""
    command = [
        sys.executable,
        "-m",
        "donkey_aicc",
        *words,
        *([] if words[0] in ("record", "replay", "export") else cache(folder)),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def cache(folder: Path) -> list[str]:
    return ["--cache-dir", str(folder / "cache")]


def finish(words: Sequence[str], folder: Path) -> None:
    process = run(words, folder)
    said, _ = process.communicate(timeout=LIMIT_S)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}:\n{said[-1500:]}")


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


def prepare(folder: Path, command: str) -> dict[str, str]:
    """Tubs, and as far as the command needs them a bundle, a calibrated one, and answers for `label`."""
    tubs, bundle, calibrated, answers = (folder / name for name in ("tubs", "bundle", "calibrated", "answers.csv"))
    finish(f"record --expert --drives 16 --frames 130 --seed 5 --workers 1 --out {tubs}".split(), folder)
    if command not in ("record", "train", "label") and not bundle.exists():
        finish(f"train {tubs} --preset tiny --threads 1 --out {bundle}".split(), folder)
    if command == "evaluate" and not (calibrated / "calibrator.json").exists():
        shutil.copytree(bundle, calibrated, dirs_exist_ok=True)
        finish(f"calibrate --bundle {calibrated} --data {tubs} --samples 2 --workers 1".split(), folder)
    answers.write_text("index,answer\n" + "".join(f"{row},{'unsafe' if row % 4 == 0 else 'safe'}\n" for row in range(130)))
    for tub in sorted(tubs.iterdir())[:2]:
        shutil.copytree(tub, folder / "pair" / tub.name, dirs_exist_ok=True)
    places = {
        "PAIR": folder / "pair",
        "TUBS": tubs,
        "TUB": min(tubs.iterdir()),
        "BUNDLE": bundle,
        "CALIBRATED": calibrated,
        "ANSWERS": answers,
    }
    return {name: str(place) for name, place in places.items()}


def fresh(out: Path, command: str, places: dict[str, str]) -> list[str]:
    """An empty OUT (with the bundle that the command writes into), no cache, and the command's words."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(out.parent / "cache", ignore_errors=True)
    out.mkdir(parents=True)
    if command in ("calibrate", "export"):
        shutil.copytree(places["BUNDLE"], out / "bundle")
    words = [word.replace("OUT", str(out)) for word in COMMANDS[command].split()]
    return [places.get(word, word) for word in words]


def killed_after(words: Sequence[str], folder: Path, seconds: float) -> tuple[bool, list[int]]:
    """Whether it was killed before its end, and who lived on."""
    process = run(words, folder)
    try:
        process.communicate(timeout=seconds)
        return False, []
    except subprocess.TimeoutExpired:
        process.kill()
    end = time.monotonic() + PATIENCE_S
    while family(process.pid) and time.monotonic() < end:
        time.sleep(0.1)
    left = family(process.pid)
    process.communicate()
    return True, left


def campaign(command: str, times: int, folder: Path, seed: int) -> bool:
    """All kills of one command; True if every promise was kept."""
    places, rng, out = prepare(folder, command), random.Random(seed), folder / "out"
    words = fresh(out, command, places)
    began = time.monotonic()
    finish(words, folder)
    lasts_s, expected = time.monotonic() - began, content(out)
    print(f"{command}: {lasts_s:.1f} s undisturbed, {len(expected)} files", flush=True)
    killed = orphans = reruns = different = 0
    while killed < times:
        words, moments = fresh(out, command, places), []
        for _ in range(min(KILLS_IN_A_ROW, times - killed)):
            after = rng.uniform(0.0, lasts_s)
            was_killed, left = killed_after(words, folder, after)
            orphans += len(left)
            if not was_killed:  # it was faster this time, or had little left to do
                break
            moments.append(round(after, 2))
        killed += len(moments)
        finish(words, folder)
        found = content(out)
        wrong = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        reruns, different = reruns + 1, different + bool(wrong)
        print(f"  killed after {moments} s, orphans so far {orphans}, different {wrong[:5]}", flush=True)
    print(f"| kill -9 of {command} | {killed} | {orphans} orphans, {different} of {reruns} reruns differ |")
    return not (orphans or different)


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
