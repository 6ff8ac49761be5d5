"""How much faster two workers score than one: as processes, and as a Dask cluster on this computer.

    python -m benchmarks.bench_workers [--drives 10] [--frames 400]

Grade light, the shipped bundle, made-up frames. Wall clock, with the workers already started: it needs two idle cores.
"""

import argparse
import logging
import os
import time

import numpy as np

from benchmarks.bench_scoring import made_up_drive
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.resources import models_dir
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import LIGHT, ScoreSettings
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.workers import Workers

WANTED = 1.8


def scored(bundle: Bundle, drives: list[Drive], workers: Workers) -> tuple[float, ScoreTable]:
    settings = ScoreSettings().at_grade(LIGHT)
    short = [drive.part(0, 3) for drive in drives]
    score_drives(bundle, short, settings=settings, workers=workers)  # starts the workers and loads the nets
    start = time.perf_counter()
    table = score_drives(bundle, drives, settings=settings, workers=workers)
    return time.perf_counter() - start, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drives", type=int, default=10)
    parser.add_argument("--frames", type=int, default=400)
    args = parser.parse_args()
    bundle = Bundle.load(models_dir() / "reference")
    drives = [made_up_drive(args.frames, number) for number in range(args.drives)]
    print(f"load before: {os.getloadavg()[0]:.1f}; {args.drives} drives of {args.frames} frames at grade light")
    alone_s, table = scored(bundle, drives, 1)
    print(f"one process:             {alone_s:6.1f} s")
    _tell("two processes", alone_s, table, *scored(bundle, drives, 2))
    try:
        from distributed import LocalCluster
    except ImportError:
        print("a cluster needs the [cluster] extra: not measured")
        return
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR) as cluster:
        _tell("cluster of two workers", alone_s, table, *scored(bundle, drives, cluster.scheduler_address))


def _tell(name: str, alone_s: float, expected: ScoreTable, seconds: float, found: ScoreTable) -> None:
    ratio, gap = alone_s / seconds, np.nanmax(np.abs(found.features - expected.features))
    met = "met" if ratio >= WANTED else "NOT met"
    print(f"{name + ':':24} {seconds:6.1f} s, {ratio:.2f} times as fast (wanted {WANTED}: {met}), scores differ by {gap:.1e}")


if __name__ == "__main__":
    main()
