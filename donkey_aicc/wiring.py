"""The hook points of a car's manage.py: where our parts join donkeycar's drive loop.

    camera or simulator -> add_sensor_faults -> pilot, drive mode -> add_command_stage -> drivetrain -> add_monitor -> tub

`donkey-aicc install` puts these calls into an existing manage.py; mycar_template/manage.py has them already. Each hook
reads and checks the AICC_* keys itself, so that a mistake ends the program before the car moves.
"""

import json
import math
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from donkey_aicc import channels
from donkey_aicc.config import AiccConfig
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.manifest import read_manifest
from donkey_aicc.resources import models_dir

IMAGE_SIDE_PX = (16, 2048)
# What each stage adds to the tub, with donkeycar's type names.
INJECTION_CHANNELS = {channels.INJECT_PROTOCOL: "str", channels.INJECT_SEVERITY: "int", channels.INJECT_EPISODE: "int"}
MONITOR_CHANNELS = {
    channels.P_SAFE: "vector",
    channels.P_TTA: "vector",
    channels.RHO: "float",
    channels.DELTA: "float",
    channels.SCORES_AGE_S: "float",
    channels.SCORES_VALID: "boolean",
    channels.CONFIDENCE: "vector",
    channels.CONFIDENCE_MIN: "float",
    channels.STATUS: "str",
}
SIM_CHANNELS = {**dict.fromkeys(channels.LOCATION, "float"), channels.LAP: "int", channels.HIT: "boolean"}
WEB_BUTTONS = tuple(f"web/w{number}" for number in range(1, 6))
REAL_CAR_MAX_THROTTLE = 0.5
MAX_GAP_S = 0.5  # a longer pause between frames cuts the sequence, as it does in a tub


def add_embedded_simulator(V: Any, cfg: Any) -> Any:
    """AICC_SIM = True: a simulated world in place of camera and drivetrain. Returns its SimulatorPart.

    Like donkeycar's DonkeyGymEnv it runs first and takes the commands of the loop before, so that image, position and
    cross-track error of one record belong to the same tick.
    """
    from donkey_aicc.parts.sim_progress import SimProgress
    from donkey_aicc.sim.camera import CameraConfig
    from donkey_aicc.sim.part import SimulatorPart
    from donkey_aicc.sim.world import World

    config = AiccConfig.from_donkey(cfg)
    if getattr(cfg, "DONKEY_GYM", False):
        raise ConfigError("AICC_SIM and DONKEY_GYM must not both be True: the car can be in one simulator only")
    check_image_size(cfg, depths=(3,))
    camera = CameraConfig(width=cfg.IMAGE_W, height=cfg.IMAGE_H)
    world = World(config.sim_track, seed=config.sim_seed, rate_hz=cfg.DRIVE_LOOP_HZ, camera=camera)
    simulator = SimulatorPart(world, realtime=config.sim_realtime, put_back=config.sim_put_back)
    V.add(simulator, inputs=[channels.STEERING, channels.THROTTLE], outputs=[channels.IMAGE, *channels.LOCATION])
    V.add(SimProgress(simulator), outputs=[channels.LAP, channels.HIT])
    return simulator


def add_sensor_faults(V: Any, cfg: Any) -> None:
    """Right after the camera: faults of what the car sees."""
    from donkey_aicc.anomalies.schedule import parse_schedule
    from donkey_aicc.parts.anomaly_injector import AnomalyInjector
    from donkey_aicc.parts.injection_control import InjectionControl

    config = _checked_config(V, cfg)
    schedule = parse_schedule(config.inject)
    if not (schedule or _web_buttons(config, cfg) or config.inject_joystick_button):
        return
    control = InjectionControl(
        schedule,
        rate_hz=cfg.DRIVE_LOOP_HZ,
        seed=config.inject_seed,
        overrides=config.inject_parameters,
        arm_s=None if _simulated(config, cfg) else config.inject_arm_s,
        in_user_mode=config.inject_user_mode,
        button_severity=config.inject_button_severity,
    )
    sensor = AnomalyInjector(control, "sensor", record_clean=config.record_clean)
    outputs = [channels.IMAGE, channels.CLEAN_IMAGE] if config.record_clean else [channels.IMAGE]
    V.add(sensor, inputs=[channels.IMAGE, channels.MODE, channels.LAP], outputs=outputs)


def add_command_stage(V: Any, cfg: Any) -> None:
    """Right before the drivetrain: faults of the command, then the governor."""
    from donkey_aicc.parts.anomaly_injector import AnomalyInjector
    from donkey_aicc.parts.injection_control import InjectionButtons
    from donkey_aicc.parts.safety_governor import SafetyGovernor

    config = _checked_config(V, cfg)
    sent = [channels.STEERING, channels.THROTTLE]
    sensor = _part(V, AnomalyInjector)
    if sensor is not None:
        if _web_buttons(config, cfg):
            V.add(InjectionButtons(sensor.control), inputs=list(WEB_BUTTONS))
        _bind_joystick(V, config, sensor.control)
        most = config.inject_max_throttle or (1.0 if _simulated(config, cfg) else REAL_CAR_MAX_THROTTLE)
        command = AnomalyInjector(sensor.control, "command", max_throttle=most)
        V.add(command, inputs=[*sent, channels.MODE], outputs=[*sent, *INJECTION_CHANNELS])
    if config.governor:
        if config.bundle is None:
            raise ConfigError("AICC_GOVERNOR = True needs a monitor: set AICC_BUNDLE")
        horizons = tuple(read_manifest(_bundle_path(config.bundle)).horizons)
        governor = SafetyGovernor(config.governor_stop_at, config.governor_full_at, horizons, config.governor_horizon)
        inputs = [channels.CONFIDENCE, channels.THROTTLE, channels.MODE]
        V.add(governor, inputs=inputs, outputs=[channels.THROTTLE, channels.ACTION])


def add_monitor(V: Any, cfg: Any, inputs: list[str], types: list[str]) -> tuple[list[str], list[str]]:
    """Right before the tub is made: safety prediction. Returns the tub's inputs and types with ours added."""
    from donkey_aicc.parts.anomaly_injector import AnomalyInjector

    config = _checked_config(V, cfg)
    ours = {channels.STEERING: "float", channels.THROTTLE: "float"}  # as sent to the vehicle
    if config.sim:
        ours |= SIM_CHANNELS
    if _part(V, AnomalyInjector) is not None:
        ours |= INJECTION_CHANNELS
        if config.record_clean:
            ours[channels.CLEAN_IMAGE] = "image_array"
    if config.bundle is not None:
        _add_monitor_parts(V, config)
        ours |= MONITOR_CHANNELS
    if config.governor:
        ours[channels.ACTION] = "str"
    new = [name for name in ours if name not in inputs]
    inputs, types = [*inputs, *new], [*types, *(ours[name] for name in new)]
    _check_tub_takes(cfg, inputs)
    return inputs, types


def _add_monitor_parts(V: Any, config: AiccConfig) -> None:
    """Predictor and TTA in one pass, the scorer, the calibrator; after a put-back a new sequence."""
    from donkey_aicc.bundle import Bundle
    from donkey_aicc.parts.anomaly_calibrator import AnomalyCalibrator
    from donkey_aicc.parts.safety_predictor import SafetyPredictor
    from donkey_aicc.parts.sequence_start import SequenceStart
    from donkey_aicc.parts.tta import TTA
    from donkey_aicc.parts.world_model_scorer import WorldModelScorer

    bundle = Bundle.load(_bundle_path(str(config.bundle)))
    calibrator = _load_calibrator(bundle)
    statistics = calibrator.statistics if calibrator is not None else None
    names = calibrator.score_names if calibrator is not None else ()
    seed = config.monitor_seed
    # A simulated drive that does not follow the wall clock has no gaps in time.
    gap_s = math.inf if config.sim and not config.scorer_threaded else MAX_GAP_S
    predictor = SafetyPredictor(bundle)
    tta = TTA(predictor, config.tta_views, seed, details=True, statistics=statistics, score_names=names, gap_s=gap_s)
    scorer = WorldModelScorer(
        bundle,
        statistics,
        samples=config.score_samples,
        rollout_every=config.rollout_every,
        seed=seed,
        threads=config.scorer_threads,
        frozen_frames=config.frozen_frames,
        gap_s=gap_s,
    )
    confidence = AnomalyCalibrator(calibrator, bundle.horizons, max_age_s=config.max_score_age_s)
    p = channels.P_TTA if calibrator is None or calibrator.uses_tta else channels.P_SAFE
    scores = [channels.RHO, channels.DELTA, channels.SCORES_AGE_S, channels.SCORES_VALID, channels.SCORES_STATE, channels.SCORES]
    sent = [channels.STEERING, channels.THROTTLE]
    V.add(tta, inputs=[channels.IMAGE], outputs=[channels.P_TTA, channels.P_SAFE, channels.FRAME_SCORES])
    V.add(scorer, inputs=[channels.IMAGE, *sent], outputs=scores, threaded=config.scorer_threaded)
    said = [channels.CONFIDENCE, channels.CONFIDENCE_MIN, channels.STATUS]
    V.add(confidence, inputs=[p, *scores, channels.FRAME_SCORES], outputs=said)
    if config.sim:
        V.add(SequenceStart(tta, scorer), inputs=[channels.HIT])


def _load_calibrator(bundle: Any) -> Any:
    from donkey_aicc.calibrator_file import load_calibrator

    if not bundle.calibrator_path.is_file():
        print(f"{bundle.path} has no calibrator: confidence stays at 0.5 or below. Make one with: donkey-aicc calibrate")
        return None
    return load_calibrator(bundle)


def _bundle_path(name: str) -> Path:
    """A folder of the user's, or a shipped bundle by its name."""
    path = Path(name).expanduser()
    shipped = models_dir() / name
    return shipped if not path.exists() and shipped.is_dir() else path


def _bind_joystick(V: Any, config: AiccConfig, control: Any) -> None:
    wanted = {config.inject_joystick_button: control.cycle, config.inject_stop_button: control.stop}
    for entry in V.parts:
        if hasattr(entry["part"], "set_button_down_trigger"):
            for button, action in wanted.items():
                if button is not None:
                    entry["part"].set_button_down_trigger(button, action)


def _part(V: Any, kind: type) -> Any:
    """The first part of a kind that was added, or None."""
    return next((entry["part"] for entry in V.parts if isinstance(entry["part"], kind)), None)


def _simulated(config: AiccConfig, cfg: Any) -> bool:
    """No real car that could hurt anybody."""
    return config.sim or bool(getattr(cfg, "DONKEY_GYM", False))


def _web_buttons(config: AiccConfig, cfg: Any) -> bool:
    return _simulated(config, cfg) if config.inject_buttons is None else config.inject_buttons


def check_image_size(cfg: Any, depths: tuple[int, ...] = (1, 3)) -> None:
    """IMAGE_W, IMAGE_H and IMAGE_DEPTH as a camera can have them."""
    low, high = IMAGE_SIDE_PX
    for key in ("IMAGE_W", "IMAGE_H"):
        value = getattr(cfg, key)
        if type(value) is not int or not low <= value <= high:
            raise ConfigError(f"{key} must be a whole number of pixels from {low} to {high}, got {value!r}")
    if cfg.IMAGE_DEPTH not in depths:
        allowed = " or ".join(str(depth) for depth in depths)
        raise ConfigError(f"IMAGE_DEPTH must be {allowed} for this camera, got {cfg.IMAGE_DEPTH!r}")


def plain_errors() -> None:
    """From now on a user's mistake ends the program with one line and exit code 2 instead of a traceback."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not isinstance(error, AiccError):
            sys.__excepthook__(kind, error, trace)
            return
        print(f"donkey_aicc: {error}", file=sys.stderr)
        raise SystemExit(2)

    sys.excepthook = hook


def _checked_config(V: Any, cfg: Any) -> AiccConfig:
    config = AiccConfig.from_donkey(cfg)
    if config.sim and not any(type(entry["part"]).__name__ == "SimulatorPart" for entry in V.parts):
        raise ConfigError(
            "AICC_SIM = True works in a car made by donkey-aicc createcar; this manage.py never calls add_embedded_simulator"
        )
    return config


def _check_tub_takes(cfg: Any, inputs: list[str]) -> None:
    """donkeycar refuses, with an assertion, to go on with a tub that was begun with other channels."""
    manifest = Path(cfg.DATA_PATH) / "manifest.json"
    if getattr(cfg, "AUTO_CREATE_NEW_TUB", False) or not manifest.is_file():
        return
    try:
        stored = json.loads(manifest.read_text(encoding="utf-8").splitlines()[0])
    except (ValueError, IndexError, OSError):
        return  # not for us to judge: donkeycar will say what is wrong with it
    if stored != inputs:
        raise AiccError(
            f"the tub in {cfg.DATA_PATH} was recorded with other channels, and donkeycar cannot add to it: "
            "move it away, or set AUTO_CREATE_NEW_TUB = True in myconfig.py"
        )
