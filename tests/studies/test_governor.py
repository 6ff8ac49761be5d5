"""The governor study: its loop is the car's loop, it goes on where it was, and its table counts right."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from donkeycar.vehicle import Vehicle

from donkey_aicc import channels
from donkey_aicc.calibration.alarm_threshold import Threshold
from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.car import wiring
from donkey_aicc.nets.bundle import Bundle
from studies.governor.governed_car import GovernedCar
from studies.governor.one_drive import Case, Outcome, drive_case, stored
from studies.governor.picture import draw_paths
from studies.governor.rivals import CONFIDENCE, OFF, OURS, RAW, Rival
from studies.governor.study import PRESETS, cases_of
from studies.governor.table import markdown, summarise, wilson
from tests.monitor_under_test import add_calibrator, make_bundle


@pytest.fixture(scope="module")
def bundle_path(tmp_path_factory):
    path = make_bundle(tmp_path_factory.mktemp("governor") / "bundle")
    add_calibrator(path, alarm=True)
    return path


class Tape:
    """Camera and pilot that repeat what was given to them."""

    def __init__(self, frames):
        self.frames = iter(frames)

    def run(self):
        image, (steering, throttle) = next(self.frames)
        return image, steering, throttle


class Motor:
    def __init__(self):
        self.sent = []

    def run(self, steering, throttle):
        self.sent.append((steering, throttle))


def test_the_study_loop_is_the_cars_loop(bundle_path, tmp_path):
    """The same frames and commands through donkeycar's vehicle with our wiring: the same commands at the motor, tick by tick."""
    rng = np.random.default_rng(0)
    frames = [((rng.integers(60, 200, (120, 160, 3)) // (1 if i < 25 else 10)).astype(np.uint8), (0.1, 0.6)) for i in range(45)]
    bundle = Bundle.load(bundle_path)
    car = GovernedCar(bundle, load_calibrator(bundle))
    ours = [(car(image, command), car.level, car.action) for image, command in frames]
    cfg = SimpleNamespace(DATA_PATH=str(tmp_path), DRIVE_LOOP_HZ=20, DONKEY_GYM=False, AICC_BUNDLE=str(bundle_path))
    cfg.AICC_GOVERNOR, cfg.AICC_SCORER_THREADED, cfg.AICC_MAX_SCORE_AGE_S = "stop", False, 60.0
    vehicle, motor = Vehicle(), Motor()
    vehicle.mem[channels.MODE] = "local"
    vehicle.add(Tape(frames), outputs=[channels.IMAGE, channels.STEERING, channels.THROTTLE])
    vehicle.add(motor, inputs=[channels.STEERING, channels.THROTTLE])
    wiring.add_aicc(vehicle, cfg)
    theirs = []
    for _ in frames:
        vehicle.update_parts()
        theirs.append((motor.sent[-1], *vehicle.mem.get([channels.ALARM, channels.ACTION])))
    assert ours == theirs and {level for _, level, _ in ours} == {"none", "watch", "danger"}
    assert ours[-1] == ((0.1, 0.0), "danger", "stopped")


def test_a_drive_under_a_fault_is_noted_and_drawn(bundle_path, tmp_path):
    bundle = Bundle.load(bundle_path)
    calibrator = load_calibrator(bundle)
    drives = []
    for governor, car in ((OFF, None), (OURS, GovernedCar(bundle, calibrator))):
        case = Case("loop", "dark", 5, 1, governor)
        outcome, path = drive_case(case, car, None, warm_up=30, frames=12)
        assert outcome.frames == 12 and len(path) == 42
        drives.append(stored(case, outcome, path))
    assert drives[0]["path"][:30] == drives[1]["path"][:30] or drives[1]["outcome"]["slowed_frames"]
    json.dumps(drives, allow_nan=False)
    drives[0]["outcome"]["left_lane_at"] = 5
    draw_paths(drives, "loop", tmp_path / "paths.png", 30)
    assert (tmp_path / "paths.png").stat().st_size > 10_000


def test_a_rival_acts_on_its_own_score(bundle_path):
    bundle = Bundle.load(bundle_path)
    calibrator = load_calibrator(bundle)
    limits = {"watch": Threshold(0.01, 0.2, 4), "danger": Threshold(0.02, 0.1, 9), "stretch": 100}
    frame = np.full((120, 160, 3), 128, np.uint8)
    for name, kind in ((RAW, None), (CONFIDENCE, calibrator)):
        car = GovernedCar(bundle, calibrator, rival=Rival(name, kind, **limits))
        assert [car(frame, (0.0, 0.5))[1] for _ in range(12)][-1] == 0.0 and car.action == "stopped"
    calm = Rival(RAW, None, **(limits | {"watch": Threshold(90.0, 0.2, 4), "danger": Threshold(99.0, 0.1, 9)}))
    car = GovernedCar(bundle, calibrator, rival=calm)
    assert car(frame, (0.0, 0.5)) == (0.0, 0.5) and calm.score([], [], {}, []) == 0.0


def made_up(governor, protocol, severity, seed, **outcome):
    return stored(Case("loop", protocol, severity, seed, governor), replace(Outcome(frames=200, distance_m=10.0), **outcome), [])


def test_the_table_counts():
    drives = [made_up(OFF, "blur", 4, seed, left_lane_at=60, beyond_edge_m=0.2) for seed in range(5)]
    drives += [made_up(OURS, "blur", 4, seed, danger_at=20, stopped_at=20, distance_m=2.0) for seed in range(4)]
    drives += [made_up(OURS, "blur", 4, 4, left_lane_at=60, danger_at=70)]
    drives += [made_up(governor, "", 0, 0, distance_m=100.0 if governor == OFF else 99.0) for governor in (OFF, OURS)]
    drives += [made_up(governor, "blur", 1, 0, left_lane_at=9) for governor in (OFF, OURS)]  # mild: not counted
    results = summarise(drives)
    off, ours = results["rows"]
    assert (off["left_lane"], ours["left_lane"], ours["faulty_drives"]) == (5, 1, 5)
    assert (ours["announced"], ours["median_warning_s"]) == (4, 2.0) and ours["by_protocol"] == {"blur": [1, 5]}
    assert ours["time_lost"] == pytest.approx(0.01)
    assert [goal["reached"] for goal in results["goals"]] == [True, False, True, True]  # so few laps show nothing about stops
    assert "| alarm and hazard | loop | 1 of 5 | 0.04-0.62 |" in markdown(results)
    json.dumps(results, allow_nan=False)
    assert wilson(0, 0) is None and wilson(5, 10) == pytest.approx([0.237, 0.763], abs=1e-3)


def test_every_preset_has_a_plan_and_a_pair_for_every_drive():
    full = cases_of(PRESETS["full"])
    assert len({case.name for case in full}) == len(full) == 5 * 4 * (4 * 5 * 10 + 25)
    for preset in PRESETS.values():
        cases = set(cases_of(preset))
        assert all(replace(case, governor=OFF) in cases for case in cases)
