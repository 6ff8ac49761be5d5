"""The stages that drive: nominal drives, severities for the track, faults to learn from, the freeze, the test protocols."""

from dataclasses import replace
from typing import Any

from donkey_aicc.faults.protocols import D_AUG_DRIVEN
from donkey_aicc.files import read_json, write_json
from donkey_aicc.simulator.record_drives import DrivePlan, plan_nominal, plan_protocol, record
from studies.experiment_stages import Experiment
from studies.freeze import freeze
from studies.steering_disturbance import GRIDS, TARGETS, read_driving, rows

SIDES = ("train", "calibration", "test")


def record_nominal(experiment: Experiment) -> None:
    """Drives of each side, from seeds of their own: which drive serves what is settled before it is driven."""
    plans = []
    for stream, side in enumerate(SIDES, start=1):
        drives, frames = experiment.preset.nominal[side]
        plans += plan_nominal(experiment.layout.nominal, experiment.track, drives, frames, experiment.seed, side, stream)
    record(plans, experiment.pilot, experiment.workers)


def set_severities(experiment: Experiment) -> None:
    """The strengths of Dark and Blur on this track, by the rule that looks at the pilot's steering only."""
    path = experiment.layout.severities
    if path.exists():
        return
    from donkey_aicc.nets.vision_pilot import VisionPilot

    pilot = VisionPilot()
    pilot.load(experiment.pilot)
    driving = read_driving(experiment.layout.nominal, pilot, experiment.preset.severity_frames)
    found = {fault: {GRIDS[fault][0]: [round(value, 4) for value in rows(fault, driving, pilot)]} for fault in GRIDS}
    write_json(path, {"rule": "steering disturbance", "targets": list(TARGETS), "faults": found})


def record_driven(experiment: Experiment) -> None:
    """Every fault to learn from, in closed loop."""
    preset = experiment.preset
    plans = []
    for fault in D_AUG_DRIVEN:
        plans += plan_protocol(
            experiment.layout.driven, experiment.track, fault, preset.driven_severities, 1, preset.driven_frames, experiment.seed
        )
    record(plans, experiment.pilot, experiment.workers)


def write_freeze(experiment: Experiment) -> None:
    """Once everything is settled and before the first drive under a test protocol: what was settled, with its hashes."""
    if not experiment.layout.frozen.exists():
        write_json(experiment.layout.frozen, freeze(experiment.about(), experiment.layout, experiment.pilot))


def record_protocols(experiment: Experiment) -> None:
    preset = experiment.preset
    severities = read_json(experiment.layout.severities, "run the stage 'severities' again")["faults"]
    plans: list[DrivePlan] = []
    for protocol, runs in preset.runs.items():
        folder, frames = experiment.layout.protocol(protocol), preset.ood_frames[protocol]
        planned = plan_protocol(folder, experiment.track, protocol, preset.severities, runs, frames, experiment.seed)
        plans += [replace(plan, overrides=_of_severity(severities.get(protocol, {}), plan.severity)) for plan in planned]
    record(plans, experiment.pilot, experiment.workers)


def _of_severity(parameters: dict[str, Any], severity: int) -> dict[str, float]:
    return {name: float(values[severity - 1]) for name, values in parameters.items()}
