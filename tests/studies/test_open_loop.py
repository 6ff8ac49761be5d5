"""Closed and open loop get the very same fault; in open loop only commands change, in neither any camera frame."""

import numpy as np
import pytest

from donkey_aicc.simulator.record_drives import record
from donkey_aicc.tubs.load import load_drives
from studies.experiment_stages import RATE_HZ
from studies.open_loop import first_segments, in_both_loops, plan_trials

ONSET, FRAMES = 200, 214


@pytest.fixture(scope="module")
def loops(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loops")
    trials = plan_trials(folder, "oval", seed=2, drives=1, frames=FRAMES, severities=(5,))
    record([trials[0].nominal, *(trial.faulty for trial in trials)], model=None)
    found = in_both_loops(first_segments(load_drives([folder], tau=None).drives), trials)
    return trials, {name: {sequence.id: sequence for sequence in sequences} for name, sequences in found.items()}


def test_up_to_the_fault_all_drives_are_one(loops):
    trials, found = loops
    nominal = found["nominal"]["nominal_00"]
    for trial in trials:
        closed, opened = found["closed"][trial.name], found["open"][trial.name]
        assert len(closed) == len(opened) == FRAMES
        assert np.array_equal(closed.images[:ONSET], nominal.images[:ONSET])
        assert np.array_equal(closed.actions[:ONSET], nominal.actions[:ONSET])
        assert np.array_equal(opened.images, nominal.images) and np.array_equal(opened.cte, nominal.cte)
        for sequence in (closed, opened):
            assert set(sequence.protocol[:ONSET]) == {""} and set(sequence.protocol[ONSET:]) == {trial.faulty.protocol}
            assert set(sequence.severity[ONSET:]) == {5}


def test_bias_adds_the_same_offset_and_noise_in_both_loops(loops):
    _, found = loops
    nominal, closed, opened = (
        found[loop][name]
        for loop, name in zip(("nominal", "closed", "open"), ("nominal_00", "bias_s5_00", "bias_s5_00"), strict=True)
    )
    # The first faulty command answers the same picture, so both loops send the same one; then the car goes its own way.
    assert closed.actions[ONSET] == pytest.approx(opened.actions[ONSET], abs=1e-6)
    assert np.abs(opened.actions[ONSET:] - nominal.actions[ONSET:]).max() > 0.1
    assert not np.array_equal(closed.images[-1], opened.images[-1])


def test_late_commands_are_the_recorded_ones_some_ticks_later(loops):
    _, found = loops
    nominal, opened = found["nominal"]["nominal_00"], found["open"]["latency_s5_00"]
    delay = 12  # ticks: severity 5 has commands 0.25 s late and frames 0.325 s on average, at 20 Hz
    assert opened.actions[ONSET + delay :] == pytest.approx(nominal.actions[ONSET : FRAMES - delay])


def test_no_fault_touches_the_camera(loops):
    trials, _ = loops
    rng = np.random.default_rng(0)
    for trial in trials:
        sensor = trial.faulty.fault(0, RATE_HZ).sensor
        frames = rng.integers(0, 256, (60, 4, 6, 3), dtype=np.uint8)
        assert sensor is None or all(np.array_equal(sensor.run(frame), frame) for frame in frames)
