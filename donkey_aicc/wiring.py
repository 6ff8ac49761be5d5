"""Our parts in a car's drive loop: one call in manage.py, and the whole online flow on one screen.

    camera or simulator -> faults of the frame -> controller, pilot, drive mode -> faults of the command, governor
    -> drivetrain -> monitor, unsafe mark -> tub

`donkey-aicc install` puts the call into an existing manage.py; mycar_template/manage.py has it already. It reads and checks
the AICC_* keys, so that a mistake ends the program before the car moves.
"""

import gc
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from donkey_aicc import channels
from donkey_aicc.anomalies.schedule import parse_schedule
from donkey_aicc.config import AiccConfig
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.loop_places import after_camera, before_drivetrain, inserting_at
from donkey_aicc.manifest import read_manifest
from donkey_aicc.resources import models_dir

# What goes into the tub, with donkeycar's type names.
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
REAL_CAR_MAX_THROTTLE = 0.5
MAX_GAP_S = 0.5  # a longer pause between frames cuts the sequence, as it does in a tub


def add_aicc(V: Any, cfg: Any, inputs: Sequence[str] = (), types: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Put our parts at their places among those the vehicle has already; call it once, right before the tub is made.

    inputs, types: the channels that the tub records, and their types. Returns both with ours added.
    """
    config = _checked_config(V, cfg)
    control = _injection_control(V, config, cfg)
    with inserting_at(V, after_camera(V.parts)):
        if control is not None:
            _add_sensor_faults(V, config, control)
    with inserting_at(V, before_drivetrain(V.parts)):
        if control is not None:
            _add_command_faults(V, config, cfg, control)
        if config.governor:
            _add_governor(V, config)
    if config.bundle is not None:
        _add_monitor(V, config)
        gc.collect()
        gc.freeze()  # nets and libraries stay; a collection that walks through all of them takes a tick of the drive loop
    marks = _add_unsafe_mark(V, config)
    ours = _recorded(config, injects=control is not None, marks=marks)
    new = [name for name in ours if name not in inputs]
    all_inputs, all_types = [*inputs, *new], [*types, *(ours[name] for name in new)]
    _check_tub_takes(cfg, all_inputs)
    return all_inputs, all_types


def _injection_control(V: Any, config: AiccConfig, cfg: Any) -> Any:
    """What decides when a fault is due, bound to the controller's buttons; None if this drive can have no fault."""
    from donkey_aicc.parts.injection_control import InjectionControl

    schedule = parse_schedule(config.inject)
    web = _injects_by_web_button(config, cfg)
    joysticks = _joysticks(V) if config.inject_joystick_button else []
    if not (schedule or web or joysticks):
        return None
    if any(episode.unit == "lap" for episode in schedule) and not any(channels.LAP in entry["outputs"] for entry in V.parts):
        raise ConfigError(f"AICC_INJECT = {config.inject!r} waits for a lap, and only the embedded simulator counts laps")
    real = not _simulated(config, cfg)
    if real and not (web or joysticks):
        raise ConfigError(
            f"AICC_INJECT = {config.inject!r} could never begin: a real car injects only after a button has armed it. Set "
            "AICC_INJECT_BUTTONS = True, or AICC_INJECT_JOYSTICK_BUTTON and drive with a game controller"
        )
    if real and not (web or config.inject_stop_button):
        raise ConfigError("AICC_INJECT_JOYSTICK_BUTTON needs AICC_INJECT_STOP_BUTTON beside it: one button must end every fault")
    control = InjectionControl(
        schedule,
        rate_hz=cfg.DRIVE_LOOP_HZ,
        seed=config.inject_seed,
        overrides=config.inject_parameters,
        arm_s=config.inject_arm_s if real else None,
        in_user_mode=config.inject_user_mode,
        button_severity=config.inject_button_severity,
    )
    for joystick in _joysticks(V):
        for button, action in ((config.inject_joystick_button, control.cycle), (config.inject_stop_button, control.stop)):
            if button is not None:
                joystick.set_button_down_trigger(button, action)
    return control


def _add_sensor_faults(V: Any, config: AiccConfig, control: Any) -> None:
    from donkey_aicc.parts.anomaly_injector import AnomalyInjector

    sensor = AnomalyInjector(control, "sensor", record_clean=config.record_clean)
    outputs = [channels.IMAGE, channels.CLEAN_IMAGE] if config.record_clean else [channels.IMAGE]
    V.add(sensor, inputs=[channels.IMAGE, channels.MODE, channels.LAP], outputs=outputs)


def _add_command_faults(V: Any, config: AiccConfig, cfg: Any, control: Any) -> None:
    from donkey_aicc.parts.anomaly_injector import AnomalyInjector
    from donkey_aicc.parts.injection_control import WEB_BUTTONS, InjectionButtons

    if _injects_by_web_button(config, cfg):
        used = {button: name for button, name in WEB_BUTTONS.items() if button != config.mark_button}
        V.add(InjectionButtons(control, list(used.values())), inputs=[f"web/{button}" for button in used])
    most = config.inject_max_throttle or (1.0 if _simulated(config, cfg) else REAL_CAR_MAX_THROTTLE)
    sent = [channels.STEERING, channels.THROTTLE]
    command = AnomalyInjector(control, "command", max_throttle=most)
    V.add(command, inputs=[*sent, channels.MODE], outputs=[*sent, *INJECTION_CHANNELS])


def _add_governor(V: Any, config: AiccConfig) -> None:
    from donkey_aicc.parts.safety_governor import SafetyGovernor

    if config.bundle is None:
        raise ConfigError("AICC_GOVERNOR = True needs a monitor: set AICC_BUNDLE")
    horizons = tuple(read_manifest(_bundle_path(config.bundle)).horizons)
    governor = SafetyGovernor(config.governor_stop_at, config.governor_full_at, horizons, config.governor_horizon)
    inputs = [channels.CONFIDENCE, channels.THROTTLE, channels.MODE]
    V.add(governor, inputs=inputs, outputs=[channels.THROTTLE, channels.ACTION])


def _add_monitor(V: Any, config: AiccConfig) -> None:
    """Predictor and TTA in one pass, the scorer, the calibrator; after a put-back a new sequence."""
    import torch

    from donkey_aicc.bundle import Bundle
    from donkey_aicc.parts.anomaly_calibrator import AnomalyCalibrator
    from donkey_aicc.parts.right_of_way import RightOfWay
    from donkey_aicc.parts.safety_predictor import SafetyPredictor
    from donkey_aicc.parts.sequence_start import SequenceStart
    from donkey_aicc.parts.tta import TTA
    from donkey_aicc.parts.world_model_scorer import WorldModelScorer

    torch.set_num_threads(config.control_threads)  # of this thread, which is the one that drives
    bundle = Bundle.load(_bundle_path(str(config.bundle)))
    calibrator = _load_calibrator(bundle)
    statistics = calibrator.statistics if calibrator is not None else None
    names = calibrator.score_names if calibrator is not None else ()
    seed = config.monitor_seed
    # A simulated drive that does not follow the wall clock has no gaps in time.
    gap_s = math.inf if config.sim and not config.scorer_threaded else MAX_GAP_S
    predictor = SafetyPredictor(bundle)
    first = RightOfWay()
    tta = TTA(
        predictor,
        config.tta_views,
        seed,
        details=True,
        statistics=statistics,
        score_names=names,
        gap_s=gap_s,
        right_of_way=first,
    )
    scorer = WorldModelScorer(
        bundle,
        statistics,
        samples=config.score_samples,
        rollout_every=config.rollout_every,
        seed=seed,
        threads=config.scorer_threads,
        frozen_frames=config.frozen_frames,
        gap_s=gap_s,
        right_of_way=first if config.scorer_threaded else None,
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


def _add_unsafe_mark(V: Any, config: AiccConfig) -> bool:
    """Returns whether somebody can mark. If nobody can, nothing is recorded: it would read as if all were safe."""
    from donkey_aicc.parts.unsafe_mark import UnsafeMark

    joysticks = _joysticks(V) if config.mark_joystick_button else []
    if config.mark_button is None and not joysticks:
        return False
    mark = UnsafeMark()
    for joystick in joysticks:
        joystick.set_button_down_trigger(config.mark_joystick_button, mark.press)
        joystick.set_button_up_trigger(config.mark_joystick_button, mark.release)
    V.add(mark, inputs=[f"web/{config.mark_button}"] if config.mark_button else [], outputs=[channels.UNSAFE_MARK])
    return True


def _recorded(config: AiccConfig, injects: bool, marks: bool) -> dict[str, str]:
    """Our channels of the tub and their types."""
    ours = {channels.STEERING: "float", channels.THROTTLE: "float"}  # as sent to the vehicle
    if config.sim:
        ours |= SIM_CHANNELS
    if injects:
        ours |= INJECTION_CHANNELS
        if config.record_clean:
            ours[channels.CLEAN_IMAGE] = "image_array"
    if config.bundle is not None:
        ours |= MONITOR_CHANNELS
    if config.governor:
        ours[channels.ACTION] = "str"
    if marks:
        ours[channels.UNSAFE_MARK] = "boolean"
    return ours


def _joysticks(V: Any) -> list[Any]:
    """The game controllers among the parts; receivers of a radio control have no buttons."""
    return [entry["part"] for entry in V.parts if hasattr(entry["part"], "set_button_down_trigger")]


def _simulated(config: AiccConfig, cfg: Any) -> bool:
    """No real car that could hurt anybody."""
    return config.sim or bool(getattr(cfg, "DONKEY_GYM", False))


def _injects_by_web_button(config: AiccConfig, cfg: Any) -> bool:
    """Whether the buttons of the web page inject: in simulators unless switched off, on a real car only if switched on."""
    return _simulated(config, cfg) if config.inject_buttons is None else config.inject_buttons


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
        raise ConfigError("AICC_SIM = True works in a car made by donkey-aicc createcar; this manage.py never adds the simulator")
    _check_buttons(config, cfg)
    return config


def _check_buttons(config: AiccConfig, cfg: Any) -> None:
    """One button, one meaning; and the web page's button that ends every fault stays."""
    keys = ("inject_joystick_button", "inject_stop_button", "mark_joystick_button")
    for button in {getattr(config, key) for key in keys} - {None}:
        same = [f"AICC_{key.upper()}" for key in keys if getattr(config, key) == button]
        if len(same) > 1:
            raise ConfigError(f"{' and '.join(same)} must be different buttons, got {button!r}")
    if config.mark_button == "w5" and _injects_by_web_button(config, cfg):
        raise ConfigError(
            "AICC_MARK_BUTTON must be one of w1, w2, w3, w4 while the web buttons inject faults, got 'w5', which ends them; "
            "or set AICC_INJECT_BUTTONS = False"
        )


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
