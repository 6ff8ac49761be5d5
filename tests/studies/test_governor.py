"""The governor study: its loop is the car's loop, it goes on where it was, and its table counts right."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from donkeycar.vehicle import Vehicle

from donkey_aicc import channels
from donkey_aicc.alarm.alarm_policy import Threshold
from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.car import wiring
from donkey_aicc.faults.fault import make_fault
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.simulator.drivers import nominal_driver
from donkey_aicc.simulator.driving import Marshal, drive
from donkey_aicc.simulator.record_drives import world_at_start
from studies.governor import after_fault
from studies.governor.governed_car import GovernedCar
from studies.governor.one_drive import Case, Outcome, drive_seed, stored
from studies.governor.picture import draw_paths
from studies.governor.rivals import CONFIDENCE, OFF, OURS, RAW, Rival
from studies.governor.study import PRESETS, cases_of, run_track
from studies.governor.table import headline, markdown, summarise, wilson
from tests.monitor_under_test import CONTEXT, HORIZONS, add_calibrator, make_bundle


@pytest.fixture(scope="module")
def bundle_path(tmp_path_factory):
    path = make_bundle(tmp_path_factory.mktemp("governor") / "bundle")
    add_calibrator(path, alarm=True)
    return path


class SimulatorPart:
    """Camera and pilot that repeat what was given to them. Its name lets time be counted in ticks."""

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
    frames = [((rng.integers(60, 200, (120, 160, 3)) // (1 if i < 60 else 4)).astype(np.uint8), (0.1, 0.6)) for i in range(80)]
    bundle = Bundle.load(bundle_path)
    car = GovernedCar(bundle, load_calibrator(bundle), {OURS: None})
    ours = [(car(image, command), car.seats[OURS].level, car.seats[OURS].action) for image, command in frames]
    cfg = SimpleNamespace(
        DATA_PATH=str(tmp_path), DRIVE_LOOP_HZ=20, DONKEY_GYM=False, AICC_BUNDLE=str(bundle_path), AICC_SIM=True
    )
    cfg.AICC_GOVERNOR, cfg.AICC_SCORER_THREADED = "stop", False
    vehicle, motor = Vehicle(), Motor()
    vehicle.mem[channels.MODE] = "local"
    vehicle.add(SimulatorPart(frames), outputs=[channels.IMAGE, channels.STEERING, channels.THROTTLE])
    vehicle.add(motor, inputs=[channels.STEERING, channels.THROTTLE])
    wiring.add_aicc(vehicle, cfg)
    theirs = []
    for _ in frames:
        vehicle.update_parts()
        theirs.append((motor.sent[-1], *vehicle.mem.get([channels.ALARM, channels.ACTION])))
    held = sum(action == "waiting" for *_, action in theirs)
    assert 5 < held < 20 and theirs[held - 1] == ((0.1, 0.0), "none", "waiting"), (
        "the car waits for its monitor; the study begins later"
    )
    assert ours[held:] == theirs[held:] and {level for _, level, _ in ours} == {"none", "watch", "danger"}
    assert ours[-1] == ((0.1, 0.0), "danger", "stopped") and ((0.1, -0.8), "danger", "stopped") in ours, "it brakes"


def drive_all(bundle_path, governors, begin=60):
    """{(protocol, governor): drive} of one seed: a nominal drive and, from one of its frames on, dark:5."""
    bundle, drives = Bundle.load(bundle_path), {}
    car = GovernedCar(bundle, load_calibrator(bundle), governors)
    folder = bundle_path.parent / "drives"
    folder.mkdir(exist_ok=True)

    def store(drive):  # children of a fork leave nothing else behind
        case = Case(**drive["case"])
        (folder / f"{case.name}.json").write_text(json.dumps(drive, allow_nan=False))

    fault = Case("loop", "dark", 5, 1, OFF, begin)
    drive_seed(Case("loop", "", 0, 1, OFF), [fault], car, None, store, nominal_frames=begin + 5, frames=20)
    for path in folder.iterdir():
        drive = json.loads(path.read_text())
        drives[drive["case"]["protocol"], drive["case"]["governor"]] = drive
        path.unlink()
    return drives


def test_what_is_alike_is_driven_once_and_every_governor_drives_its_own(bundle_path, tmp_path):
    calm = Rival(RAW, None, Threshold(90.0, 0.2, 4, 0.2), Threshold(99.0, 0.1, 9, 0.1), 100)
    drives = drive_all(bundle_path, {OURS: None, RAW: calm})
    assert set(drives) == {(protocol, governor) for protocol in ("", "dark") for governor in (OFF, OURS, RAW)}
    off, ours = drives["dark", OFF], drives["dark", OURS]
    assert off["outcome"]["frames"] == 20 and off["path"] == drives["dark", RAW]["path"], "who never acts drives as nobody does"
    assert ours["outcome"]["slowed_frames"] > 0 and ours["outcome"]["distance_m"] < off["outcome"]["distance_m"]
    acts = 60 + ours["outcome"]["watch_at"]
    assert ours["path"][: acts + 1] == off["path"][: acts + 1] and off["path"][:60] == drives["", OFF]["path"][:60]
    assert drives["", OFF]["outcome"]["frames"] == 65
    draw_paths([off | {"outcome": off["outcome"] | {"left_lane_at": 5}}, ours], "loop", tmp_path / "paths.png")
    assert (tmp_path / "paths.png").stat().st_size > 10_000


def test_a_drive_that_forked_is_the_drive_of_one_governor_alone(bundle_path):
    """The same frames as a car that has only this governor and never shares a drive."""
    ours = drive_all(bundle_path, {OURS: None})["dark", OURS]
    bundle = Bundle.load(bundle_path)
    car, world = GovernedCar(bundle, load_calibrator(bundle), {OURS: None}), world_at_start("loop", 1)
    car.speed_of, path = (lambda: world.vehicle.speed), []

    def fault(episode):
        return make_fault("dark", 5, rate_hz=world.rate_hz, seed=1, episode=episode)

    for tick in drive(world, nominal_driver(world.track, None, 1), len(ours["path"]), fault, Marshal(warm_up_frames=60), car):
        path.append([round(tick.observation.x, 3), round(tick.observation.y, 3)])
    assert path == ours["path"]


def test_a_rival_acts_on_its_own_score(bundle_path):
    bundle = Bundle.load(bundle_path)
    calibrator = load_calibrator(bundle)
    limits = {"watch": Threshold(0.01, 0.2, 4, 0.2), "danger": Threshold(0.02, 0.1, 9, 0.1), "stretch": 100}
    frame = np.full((120, 160, 3), 128, np.uint8)
    for name, kind in ((RAW, None), (CONFIDENCE, calibrator)):
        car = GovernedCar(bundle, calibrator, {name: Rival(name, kind, **limits)})
        assert [car(frame, (0.0, 0.5))[1] for _ in range(12)][-1] == 0.0 and car.stopped
    calm = Rival(RAW, None, **(limits | {"watch": Threshold(90.0, 0.2, 4, 0.2), "danger": Threshold(99.0, 0.1, 9, 0.1)}))
    car = GovernedCar(bundle, calibrator, {RAW: calm})
    assert car(frame, (0.0, 0.5)) == (0.0, 0.5) and calm.score({"p_safe": []}, {}, []) == 0.0


def test_a_fault_that_is_over_is_watched_until_it_is_forgotten(bundle_path, monkeypatch, tmp_path):
    for name, frames in (("BEGIN", 60), ("FRAMES", 20), ("AFTER", 50)):
        monkeypatch.setattr(after_fault, name, frames)
    labelled = make_bundle(tmp_path / "labelled", tau=0.05)
    add_calibrator(labelled, alarm=True)
    found = after_fault.return_of(labelled, "loop", "dark:5", 1, None, "full")
    context, horizons = CONTEXT, HORIZONS
    assert found.judged.shape == (3, context, len(horizons)) and set(found.judged[2].ravel()) <= {0.0, 1.0}
    assert found.seen and found.alarm_s is not None and 0.3 < found.alarm_s < 2.0
    left = replace(found, stayed_in_lane=False, alarm_s=None)
    page = after_fault.markdown([replace(found, stayed_in_lane=True), left])
    assert "| dark:5 | 1 of 2 | " in page


def test_the_forgetting_confidence_is_judged_behind_the_fault():
    """Made up: it forgot and said 0.9; without forgetting it would have said 0.5. Unknown labels do not count."""
    labels = np.array([[1.0, 1.0], [1.0, np.nan], [1.0, 1.0]])
    judged = np.stack([np.full((3, 2), 0.9), np.full((3, 2), 0.5), labels])
    one = after_fault.Return("dark:3", 0, True, 0.5, 0.5, 5.0, True, judged)
    page = after_fault.markdown([one, replace(one, seen=False, judged=1.0 - judged)])
    assert "| in lane | 1 | 3 | 0.100, 0.105 | 0.500, 0.693 |" in page and "left the lane |" not in page.split("behind")[1]


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
    assert [goal["reached"] for goal in results["goals"]] == [True, None, True, True]  # so few laps show nothing about stops
    assert "| alarm and hazard | loop | 1 of 5 | 0.04-0.62 |" in markdown(results)
    assert "| alarm and hazard | loop | 1 of 5 |" in headline(results) and "at most 1 false stop per 100" in headline(results)
    json.dumps(results, allow_nan=False)
    results["bundles"] = {"loop": {"name": "loop-0", "laps": 50, "watch": 0.2, "danger": 1 / 51}}
    assert "| loop | loop-0 | 50 | 1 in 5, 0 of 1 | 1 in 51, 0 of 1 |" in markdown(results)
    assert wilson(0, 0) is None and wilson(5, 10) == pytest.approx([0.237, 0.763], abs=1e-3)


def test_only_what_is_missing_is_driven(bundle_path, tmp_path):
    preset = replace(PRESETS["tiny"], nominal_frames=125)
    first = run_track(bundle_path, "loop", "", tmp_path, preset, None, "full")
    assert len(first) == 2 * (1 + 4)
    (tmp_path / "drives" / "loop-dark5-0-off.json").unlink()
    kept = tmp_path / "drives" / "loop-blur5-0-off.json"
    kept.write_text(kept.read_text().replace('"frames": 10', '"frames": 7'))  # driven again, this would be gone
    again = run_track(bundle_path, "loop", "", tmp_path, preset, None, "full")
    assert [one["path"] for one in again] == [one["path"] for one in first] and '"frames": 7' in kept.read_text()


def test_every_fault_begins_at_a_place_of_its_own():
    nominal, faulty = cases_of(PRESETS["full"], "loop", 3, 400)
    assert len(faulty) == 20 and nominal.protocol == "" and len({case.name for case in faulty}) == 20
    begins = {case.begin for case in faulty}
    assert len(begins) > 10 and min(begins) >= 120 and max(begins) < 400
    assert cases_of(PRESETS["full"], "loop", 4, 400)[1][0].begin != faulty[0].begin
    assert cases_of(PRESETS["full"], "loop", 30, 400)[1] == [], "later seeds are nominal laps only"
