"""The same dynamics faults in closed loop, where the car really drifts, and in open loop, on the commands of a recorded drive.

Each drive number is one start, one light and one wind: a nominal drive, and for every fault a drive that equals it up to the
first faulty tick. In open loop that very fault acts on the nominal drive's recorded commands; its pictures and path stay.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.figures.style import common_look, save_figure
from donkey_aicc.faults.protocols import LatencyParameters, parameters
from donkey_aicc.files import write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.simulator.driving import Marshal
from donkey_aicc.simulator.record_drives import DrivePlan, record
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.load import load_drives
from studies.experiment_stages import RATE_HZ, Experiment, score_file
from studies.loop_comparison import OPEN_LOOP, Loops, compare_loops
from studies.loop_figure import draw_loops

STAGE = "closed and open loop"
FAULTS = ("bias", "latency")
TABLES = tuple(Loops.__dataclass_fields__)
_SEED_STREAM = 31


@dataclass(frozen=True)
class Trial:
    """One drive under a fault, and the nominal drive with the same seed."""

    nominal: DrivePlan
    faulty: DrivePlan

    @property
    def name(self) -> str:
        return self.faulty.path.name


def plan_trials(folder: Path, track: str, seed: int, drives: int, frames: int, severities: tuple[int, ...]) -> list[Trial]:
    """Every fault and severity on the same `drives` starts."""
    trials = []
    for number in range(drives):
        own = int(np.random.SeedSequence([seed, _SEED_STREAM, number]).generate_state(1)[0])
        nominal = DrivePlan(folder / f"nominal_{number:02d}", track, own, frames)
        for protocol in FAULTS:
            for severity in severities:
                path = folder / f"{protocol}_s{severity}_{number:02d}"
                overrides = commands_only(protocol, severity)
                faulty = replace(nominal, path=path, protocol=protocol, severity=severity, overrides=overrides)
                trials.append(Trial(nominal, faulty))
    return trials


def commands_only(protocol: str, severity: int) -> dict[str, float]:
    """What to change in a protocol so that no camera frame is touched.

    Latency keeps its whole delay: to the loop a late picture and a late command are the same, so the mean delay of the frames
    is added to that of the commands, and the feed never stands still.
    """
    row = parameters(protocol, severity)
    if not isinstance(row, LatencyParameters):
        return {}
    whole_s = row.command_delay_s + (row.delay_min_s + row.delay_max_s) / 2.0
    return {"delay_min_s": 0.0, "delay_max_s": 0.0, "freeze_s": 0.0, "command_delay_s": whole_s}


def compare_in_both_loops(experiment: Experiment) -> None:
    """Record, score and compare; what is there already is kept. Writes report/open_loop.json and its figure."""
    layout, preset = experiment.layout, experiment.preset
    trials = plan_trials(
        layout.protocol(OPEN_LOOP),
        experiment.track,
        experiment.seed,
        preset.loop_drives,
        preset.loop_frames,
        preset.loop_severities,
    )
    if not all(layout.scores(f"loops_{name}").exists() for name in TABLES):
        plans = {plan.path: plan for trial in trials for plan in (trial.nominal, trial.faulty)}
        record(list(plans.values()), experiment.pilot, experiment.workers)
        _score(experiment, trials)
    tables = Loops(**{name: ScoreTable.load(layout.scores(f"loops_{name}")) for name in TABLES})
    calibration, test = (ScoreTable.load(layout.scores(name)) for name in ("calibration", "test"))
    about = experiment.about() | {"frames": preset.loop_frames, "warm_up_frames": Marshal().warm_up_frames}
    results = compare_loops(calibration, test, tables, preset.loop_frames, about, seed=experiment.model_seed)
    write_json(layout.report / f"{OPEN_LOOP}.json", results)
    with common_look():
        save_figure(draw_loops(results), layout.report / "figures", OPEN_LOOP)
    for sentence in results["conclusion"]:
        print(f"      {sentence}")


def _score(experiment: Experiment, trials: list[Trial]) -> None:
    layout = experiment.layout
    bundle = Bundle.load(layout.bundle)
    manifest = bundle.manifest
    folder = layout.protocol(OPEN_LOOP)
    loaded = load_drives([folder], tau=manifest.tau, cte_centre=manifest.cte_centre, cache_dir=layout.cache)
    for name, sequences in in_both_loops(first_segments(loaded.drives), trials).items():
        score_file(layout, bundle, f"loops_{name}", sequences.copy, experiment.preset, experiment.workers)


def first_segments(sequences: list[Drive]) -> dict[str, Drive]:
    """tub -> its first sequence: after a departure another episode of the fault begins, from another place."""
    first: dict[str, Drive] = {}
    for sequence in sequences:
        first.setdefault(sequence.tub, sequence)
    return first


def in_both_loops(drives: Mapping[str, Drive], trials: list[Trial]) -> dict[str, list[Drive]]:
    """`nominal`, `closed` and `open`: the last two have a sequence of one name and length for each trial."""
    found: dict[str, list[Drive]] = {name: [] for name in TABLES}
    for name in dict.fromkeys(trial.nominal.path.name for trial in trials):
        found["nominal"].append(replace(drives[name], id=name))
    for trial in trials:
        nominal, closed = drives[trial.nominal.path.name], drives[trial.name]
        faulty = np.flatnonzero(closed.protocol != "")
        if not len(faulty):
            continue  # departed before the fault began
        stop = min(int(faulty[-1]) + 1, len(nominal))
        found["closed"].append(replace(closed.part(0, stop), id=trial.name))
        found["open"].append(corrupted(nominal.part(0, stop), trial.faulty, int(faulty[0])))
    if not found["closed"]:
        raise AiccError(
            f"none of the {len(trials)} drives reached its fault; check the pilot with: python -m studies check-pilot"
        )
    return found


def corrupted(nominal: Drive, plan: DrivePlan, onset: int) -> Drive:
    """The nominal drive with the plan's first fault on its commands from frame `onset` on."""
    command = plan.fault(0, RATE_HZ).command
    if command is None:
        raise AiccError(f"{plan.protocol} leaves the commands alone; open loop needs one of {', '.join(FAULTS)}")
    actions = nominal.actions.copy()
    for frame in range(onset, len(actions)):
        actions[frame] = np.clip(command.run(*(float(value) for value in actions[frame])), -1.0, 1.0)
    under_fault = np.arange(len(actions)) >= onset
    return replace(
        nominal,
        id=plan.path.name,
        actions=actions,
        protocol=np.where(under_fault, plan.protocol, ""),
        severity=np.where(under_fault, plan.severity, 0),
    )
