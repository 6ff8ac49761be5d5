"""All stages in order, with one line per stage; running it again goes on where it stopped."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from donkey_aicc.errors import one_of
from donkey_aicc.files import read_json
from donkey_aicc.nets.vision_pilot import pilot_weights
from donkey_aicc.resources import models_dir
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.workers import Workers
from studies import drive_stages, open_loop
from studies import experiment_stages as stages
from studies.experiment_stages import Experiment
from studies.layout import ABOUT, Layout, claim
from studies.other_nets import train_other_nets
from studies.study_presets import PRESETS


def _evaluate(experiment: Experiment) -> None:
    from studies.evaluation_stage import evaluate_and_report  # draws figures: only when they are wanted

    evaluate_and_report(experiment)


STAGES: tuple[tuple[str, Callable[[Experiment], None]], ...] = (
    ("nominal drives", drive_stages.record_nominal),
    ("severities", drive_stages.set_severities),
    ("training", stages.train),
    ("drives under faults to learn from", drive_stages.record_driven),
    ("scores to fit on", stages.score_for_fit),
    ("calibrator", stages.calibrate),
    ("freeze", drive_stages.write_freeze),
    ("drives under the four protocols", drive_stages.record_protocols),
    ("scores to judge by", stages.score_for_test),
    ("other predictors", train_other_nets),
    ("evaluation and report", _evaluate),
)
EXTRA_STAGES = ((open_loop.STAGE, open_loop.compare_in_both_loops),)


def plan_experiment(
    out: str | Path,
    preset: str = "quick",
    track: str = "loop",
    seed: int = 0,
    model_seed: int | None = None,
    pilot: str | Path | None = None,
    overrides: tuple[str, ...] = (),
    workers: Workers = 2,
    start: str | Path | None = None,
    extras: bool = False,
    data: str | Path | None = None,
) -> Experiment:
    """Check everything that can be wrong before anything long starts."""
    one_of("preset", preset, tuple(PRESETS))
    make_track(track)
    where = Path(pilot) if pilot is not None else models_dir() / "pilot"
    pilot_weights(where)
    chosen_seed = seed if model_seed is None else model_seed
    begun = None if start is None else Path(start)
    layout = Layout(Path(out), None if data is None else Path(data))
    return Experiment(layout, PRESETS[preset], track, seed, chosen_seed, where, overrides, workers, begun, extras)


def reopened(folder: str | Path) -> Experiment:
    """The experiment that a folder holds, to look at what it left."""
    about = read_json(Path(folder) / ABOUT, "make it with: python -m studies experiment")
    return plan_experiment(folder, about["preset"], about["track"], about["seed"], about["model_seed"], workers=1)


def run_experiment(experiment: Experiment, until: str | None = None) -> dict[str, Any]:
    """Run the stages; returns seconds per stage (near 0 for what was there already)."""
    chosen = (*STAGES[:-1], *EXTRA_STAGES, STAGES[-1]) if experiment.extras else STAGES
    names = [name for name, _ in chosen]
    if until is not None:
        one_of("--until", until, names)
    claim(experiment.layout, experiment.about())
    seconds: dict[str, Any] = {}
    for number, (name, stage) in enumerate(chosen, start=1):
        print(f"[{number}/{len(chosen)}] {name}", flush=True)
        started, busy = time.monotonic(), _cpu_s()
        stage(experiment)
        seconds[name] = round(time.monotonic() - started, 1)
        print(f"      {seconds[name]:.0f} s, {_cpu_s() - busy:.0f} s of CPU", flush=True)
        if name == until:
            break
    return seconds


def _cpu_s() -> float:
    """Of this process and the ones it has started and that are done."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
