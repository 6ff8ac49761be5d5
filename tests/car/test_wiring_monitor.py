"""add_aicc with injection, monitor and governor switched on."""

import contextlib
import json
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from donkeycar.vehicle import Vehicle

from donkey_aicc import channels
from donkey_aicc.calibration.calibrator_file import save_calibrator
from donkey_aicc.car import wiring
from donkey_aicc.car.assembly import ALARM_CHANNELS, MONITOR_CHANNELS
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import PilotNet
from donkey_aicc.nets.vision_pilot import VisionPilot
from donkey_aicc.parts.anomaly_calibrator import AnomalyCalibrator
from donkey_aicc.parts.anomaly_injector import AnomalyInjector
from donkey_aicc.parts.injection_control import InjectionButtons
from donkey_aicc.scoring.statistics import Normaliser, ScoreStatistics
from tests.monitor_under_test import CONTEXT, HORIZONS, add_calibrator, make_bundle, nominal_table


@pytest.fixture
def monitor_bundle(tmp_path):
    return make_bundle(tmp_path / "bundle")


def settings(tmp_path, **changes):
    defaults = {"DATA_PATH": str(tmp_path / "data"), "DRIVE_LOOP_HZ": 20, "DONKEY_GYM": False}
    return SimpleNamespace(**{**defaults, **changes})


class Camera:
    def __init__(self):
        self.rng, self.dark = np.random.default_rng(0), False

    def run(self):
        return (self.rng.integers(60, 200, (120, 160, 3)) // (3 if self.dark else 1)).astype(np.uint8), 0.1, 0.9


class Motor:
    """A drivetrain that remembers what it got."""

    def run(self, throttle):
        self.sent = throttle


class Joystick:
    def __init__(self):
        self.triggers = {}

    def set_button_down_trigger(self, button, action):
        self.triggers[button] = action

    def run(self):
        return None


def make_car(cfg, mode="local"):
    vehicle = Vehicle()
    vehicle.mem[channels.MODE] = mode
    vehicle.add(Camera(), outputs=[channels.IMAGE, channels.STEERING, channels.THROTTLE])
    vehicle.add(Motor(), inputs=[channels.THROTTLE])
    joystick = Joystick()
    vehicle.add(joystick)
    inputs, types = wiring.add_aicc(vehicle, cfg)
    return vehicle, joystick, dict(zip(inputs, types, strict=True))


def tick(vehicle, *names):
    vehicle.update_parts()
    return vehicle.mem.get(list(names))


def test_a_real_car_has_no_injector_unless_asked(tmp_path):
    vehicle, _, tub = make_car(settings(tmp_path, AICC_BUNDLE="off"))
    assert not any(isinstance(entry["part"], AnomalyInjector) for entry in vehicle.parts)
    assert set(tub) == {"steering", "throttle"}


def test_a_real_car_injects_only_when_armed_and_caps_the_throttle(tmp_path):
    cfg = settings(tmp_path, AICC_INJECT="bias:1", AICC_INJECT_JOYSTICK_BUTTON="L1", AICC_INJECT_STOP_BUTTON="R1")
    vehicle, joystick, tub = make_car(cfg)
    assert tub[channels.INJECT_PROTOCOL] == "str" and not any(isinstance(e["part"], InjectionButtons) for e in vehicle.parts)
    told = (channels.INJECT_PROTOCOL, channels.THROTTLE)
    assert tick(vehicle, *told) == ["", 0.9]
    joystick.triggers["L1"]()
    assert tick(vehicle, *told) == ["bias", 0.5]
    joystick.triggers["R1"]()
    assert tick(vehicle, *told) == ["", 0.9]


def test_web_buttons_in_a_simulator(tmp_path):
    vehicle, _, _ = make_car(settings(tmp_path, DONKEY_GYM=True, AICC_INJECT_BUTTON_SEVERITY=5))
    vehicle.mem["web/w1"] = True
    tick(vehicle)
    vehicle.mem["web/w1"] = False
    assert tick(vehicle, channels.INJECT_PROTOCOL, channels.INJECT_SEVERITY) == ["dark", 5]
    vehicle.mem["web/w5"] = True
    tick(vehicle)
    assert tick(vehicle, channels.INJECT_PROTOCOL) == [""]


def test_clean_frame_goes_to_the_tub_on_request(tmp_path):
    cfg = settings(tmp_path, DONKEY_GYM=True, AICC_INJECT="dark:5", AICC_RECORD_CLEAN=True)
    vehicle, _, tub = make_car(cfg)
    seen, clean = tick(vehicle, channels.IMAGE, channels.CLEAN_IMAGE)
    assert tub[channels.CLEAN_IMAGE] == "image_array" and clean.mean() > 3 * seen.mean()


def test_monitor_with_and_without_a_calibrator(tmp_path, monitor_bundle):
    cfg = settings(tmp_path, AICC_BUNDLE=str(monitor_bundle), AICC_SCORER_THREADED=False)
    vehicle, _, tub = make_car(cfg)
    p_tta, confidence, status = tick(vehicle, channels.P_TTA, channels.CONFIDENCE, channels.STATUS)
    assert status == "no calibrator" and confidence == [min(p, 0.5) for p in p_tta]
    assert set(MONITOR_CHANNELS) <= set(tub)
    add_calibrator(monitor_bundle)
    vehicle, _, _ = make_car(cfg)
    assert tick(vehicle, channels.STATUS, channels.SCORES_VALID) == ["warming up", False]
    values = vehicle.mem.get(list(MONITOR_CHANNELS))
    json.dumps(values, allow_nan=False)
    (monitor_bundle / "calibrator.json").write_text("{")
    with pytest.raises(AiccError, match="calibrator.json is damaged"):
        make_car(cfg)


def test_a_record_holds_the_scores_that_its_confidence_was_made_of(tmp_path, monitor_bundle):
    calibrator = add_calibrator(monitor_bundle)
    nominal = nominal_table()
    nominal = replace(nominal, rho_raw=np.abs(np.random.default_rng(0).normal(size=len(nominal))))  # wide: rho moves, unclipped
    calibrator.statistics = replace(ScoreStatistics.fit(nominal), rho_raw=Normaliser(0.0, 1.0))
    save_calibrator(Bundle.open(monitor_bundle), calibrator, {}, nominal)
    cfg = settings(tmp_path, AICC_BUNDLE=str(monitor_bundle), AICC_SCORER_THREADED=False)
    vehicle, _, _ = make_car(cfg)
    judge, rhos = AnomalyCalibrator(calibrator, HORIZONS, max_age_s=60.0), set()
    for _ in range(4 * CONTEXT):
        p, rho, delta, valid, confidence = tick(
            vehicle, channels.P_TTA, channels.RHO, channels.DELTA, channels.SCORES_VALID, channels.CONFIDENCE
        )
        if valid:
            rhos.add(rho)
            assert confidence == pytest.approx(judge.run(p, rho, delta, 0.0, True)[0], abs=1e-12)
    assert len(rhos) > CONTEXT, "rho moves from frame to frame, so one of another frame would show"


def test_the_frame_is_resized_once_a_tick_for_pilot_predictor_and_scorer(tmp_path, monitor_bundle, monkeypatch):
    from donkey_aicc.nets import preprocess

    sizes, resize = [], preprocess.cv2.resize
    monkeypatch.setattr(preprocess.cv2, "resize", lambda image, size, **how: sizes.append(size) or resize(image, size, **how))
    vehicle, pilot = Vehicle(), VisionPilot.of(PilotNet())
    vehicle.add(Camera(), outputs=[channels.IMAGE, channels.STEERING, channels.THROTTLE])
    vehicle.add(pilot, inputs=[channels.IMAGE], outputs=["pilot/angle", "pilot/throttle"])
    vehicle.add(Motor(), inputs=[channels.THROTTLE])
    wiring.add_aicc(vehicle, settings(tmp_path, AICC_BUNDLE=str(monitor_bundle), AICC_SCORER_THREADED=False))
    sizes.clear()
    image, p, angle = tick(vehicle, channels.IMAGE, channels.P_SAFE, "pilot/angle")
    assert sizes == [(64, 64)] and image.shape == (120, 160, 3) and p
    assert angle == pilot.run(preprocess.as_recorded(image))[0]  # they all see the frame as the tub will have it


def test_the_governor_acts_on_the_alarm_in_the_same_tick_and_is_recorded(tmp_path, monitor_bundle):
    cfg = settings(tmp_path, AICC_BUNDLE=str(monitor_bundle), AICC_SCORER_THREADED=False, AICC_GOVERNOR="stop")
    with pytest.raises(ConfigError, match="AICC_GOVERNOR = 'stop' acts on the alarm, and AICC_BUNDLE = .* has none"):
        make_car(cfg)
    add_calibrator(monitor_bundle, alarm=True)
    vehicle, _, tub = make_car(cfg)
    assert tub[channels.ACTION] == "str" and set(ALARM_CHANNELS) <= set(tub)
    order = [type(entry["part"]).__name__ for entry in vehicle.parts]
    wanted = [
        "NewestScores",
        "TTA",
        "AnomalyCalibrator",
        "HealthCheck",
        "DepartureAlarm",
        "SafetyGovernor",
        "Motor",
        "WorldModelScorer",
    ]
    assert [name for name in order if name in wanted] == wanted
    told = (channels.THROTTLE, channels.ACTION, channels.ALARM)
    while tick(vehicle, *told) == [0.0, "waiting", "none"] and vehicle.mem[channels.HEALTH].startswith("waiting"):
        time.sleep(0.02)
    assert vehicle.mem[channels.HEALTH] == "ok"  # after half a second of sight the pilot may go
    for _ in range(25):  # a standing start, warming up: full throttle
        assert tick(vehicle, *told) == [0.9, "full", "none"]
    camera, motor = vehicle.parts[0]["part"], vehicle.parts[order.index("Motor")]["part"]
    camera.dark = True
    seen = [(tick(vehicle, channels.ALARM, channels.ACTION), motor.sent) for _ in range(30)]
    first = [alarm for (alarm, _), _ in seen].index("danger")
    assert seen[first] == (["danger", "stopped"], 0.0) and seen[first - 1][1] > 0.0  # the motor got it in that very tick
    assert tick(vehicle, channels.REASON) == ["the picture is much darker than in training"]
    json.dumps(vehicle.mem.get(list(ALARM_CHANNELS)), allow_nan=False)
    vehicle.mem[channels.MODE] = "user"
    assert tick(vehicle, channels.THROTTLE, channels.ACTION) == [0.9, "off"]
    alarm = vehicle.parts[order.index("DepartureAlarm")]["part"]
    policy = alarm._stream.policy
    fitted = policy.threshold("danger")
    for _ in range(20):
        {tick(vehicle, channels.ALARM)[0] for _ in range(5)}
        with contextlib.suppress(AiccError):  # without an alarm there is nothing to be wrong about
            alarm.false_alarm()
    assert fitted < policy.threshold("danger") <= 3.0 * fitted + 1e-9, "calmer by three at most: no word makes it deaf"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("AICC_INJECT", "smoke:1", "injection 'smoke:1'"),
        ("AICC_INJECT_PARAMETERS", {"dark": 1}, r"AICC_INJECT_PARAMETERS: overrides\['dark'\] must be a dictionary"),
        ("AICC_INJECT_ARM_S", 0, "AICC_INJECT_ARM_S must be >= 0.1, got 0"),
        ("AICC_GOVERNOR", "stop", "AICC_GOVERNOR = 'stop' needs a monitor: set AICC_BUNDLE"),
        ("AICC_GOVERNOR", True, "AICC_GOVERNOR must be one of off, advise, slow, stop; got True"),
        ("AICC_BUNDLE", "nowhere", "nowhere"),
    ],
)
def test_mistakes_end_the_program_before_the_car_moves(tmp_path, key, value, words):
    with pytest.raises(AiccError, match=words) as raised:
        make_car(settings(tmp_path, **{"AICC_INJECT": "dark:1", "AICC_INJECT_BUTTONS": True, key: value}))
    assert isinstance(raised.value, ConfigError) or key == "AICC_BUNDLE"
