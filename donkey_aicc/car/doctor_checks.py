"""What `donkey-aicc doctor` looks at: versions, the car's settings, the bundle, the computer's speed, tubs and devices."""

import contextlib
import importlib.metadata
import importlib.util
import io
import logging
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from donkey_aicc.car.bundles import WITHOUT, bundle_path, foreign_warning
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.generation import dead_drive_page
from donkey_aicc.car.start_checks import lacks_setting
from donkey_aicc.errors import AiccError, ConfigError

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.scoring.settings import ScoreSettings

PACKAGES = ("donkeycar", "numpy", "onnxruntime", "torch")
OPENCVS = tuple(f"opencv-{more}python{screen}" for more in ("", "contrib-") for screen in ("", "-headless"))
LEAST_FREE_MB = 500
USUAL_HZ = 20.0
WATCHED = (  # drivetrains whose motors a second process can reach
    *("PWM_STEERING_THROTTLE", "I2C_SERVO", "DC_STEER_THROTTLE", "DC_TWO_WHEEL", "DC_TWO_WHEEL_L298N"),
    *("SERVO_HBRIDGE_2PIN", "SERVO_HBRIDGE_3PIN", "MM1", "PIGPIO_PWM", "VESC"),
)
VIDEO, CONTROLLER = "/dev/video*", "/dev/input/js*"
NO_CAMERA_NEEDED = ("MOCK", "IMAGE_LIST")
NEEDS_PACKAGE = {"PICAM": "picamera2", "D435": "pyrealsense2", "OAKD": "depthai"}  # camera type -> what drives it


@dataclass(frozen=True)
class Check:
    """One line of the report."""

    name: str
    ok: bool
    found: str
    advice: str = ""


def check_versions() -> Check:
    found = [f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} CPUs"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {name}")
    eyes = [f"{name} {each.version}" for name in OPENCVS for each in importlib.metadata.distributions(name=name)]
    found += eyes or ["no OpenCV"]
    advice = f"{' and '.join(eyes)} write into one folder: uninstall all, then install one again" if len(eyes) > 1 else ""
    advice = "nothing can run the nets: pip install onnxruntime" if "no onnxruntime" in found else advice
    advice = "there is nothing to drive with: pip install donkeycar" if "no donkeycar" in found else advice
    return Check("versions", sys.version_info >= (3, 11) and not advice, ", ".join(found), advice)


def read_car(folder: Path) -> tuple[Any, AiccConfig, Check]:
    """donkeycar's settings of a car folder, ours, and the line about them. A folder without a car: the usual settings."""
    usual = SimpleNamespace(DRIVE_LOOP_HZ=USUAL_HZ, DATA_PATH=str(folder), AICC_BUNDLE="reference")
    if not (folder / "config.py").is_file():
        found = f"{folder} is no car folder: the usual settings are checked" if folder.is_dir() else f"{folder} does not exist"
        return usual, AiccConfig.from_donkey(usual), Check("car", folder.is_dir(), found, "give one: --car FOLDER")
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # donkeycar greets
            from donkeycar.config import load_config

            logging.getLogger(load_config.__module__).setLevel(logging.WARNING)
            cfg = load_config(str(folder / "config.py"))
        lacking = [name for name in vars(usual) if not hasattr(cfg, name) and name != "AICC_BUNDLE"]
        if lacking:
            raise ConfigError(lacks_setting(" and ".join(lacking)))
        config = AiccConfig.from_donkey(cfg)
    except Exception as error:  # a settings file is Python: anything can be wrong with it
        advice = "correct config.py or myconfig.py there; the usual settings are checked below"
        return usual, AiccConfig.from_donkey(usual), Check("car", False, f"{folder}: {type(error).__name__}: {error}", advice)
    return cfg, config, Check("car", True, f"{folder.resolve()}, {cfg.DRIVE_LOOP_HZ:g} loops a second")


def check_manage(folder: Path) -> list[Check]:
    """Whether the car's manage.py calls us, and whether it can start at all; nothing where there is no car."""
    from donkey_aicc.car.install_parts import has_call
    from donkey_aicc.car.own_imports import missing_imports

    file = folder / "manage.py"
    if not file.is_file():
        return []
    try:
        source = file.read_bytes()
        calls, missing = has_call(source, str(file)), missing_imports(source, file.parent)
    except (AiccError, OSError) as error:
        return [Check("manage.py", False, str(error))]
    advice = [] if calls else [f"our lines are missing, nobody watches the drive: donkey-aicc install {folder}"]
    advice += [f"it cannot start without {' and '.join(missing)}: pip install {' '.join(missing)}"] if missing else []
    return [Check("manage.py", not advice, "holds our lines" if calls else "does not call the monitor", "; ".join(advice))]


def check_monitor(config: AiccConfig, hz: float, here: str) -> list[Check]:
    """The bundle, what runs it, and what of a tick is left on this computer."""
    from donkey_aicc.calibration.calibrator_file import fitted_grades, score_settings
    from donkey_aicc.nets.bundle import Bundle

    if config.models is None:
        found = f"AICC_BUNDLE is None: {WITHOUT}" if config.learns else "AICC_BUNDLE is off: nobody watches the drive"
        return [Check("bundle", config.learns, found, "" if config.learns else "None is the learning mode")]
    try:
        path = bundle_path(config.models)
        bundle = Bundle.load(path, config.scorer_threads, config.control_threads)
        calibrated = bundle.calibrator_path.is_file()
        every = fitted_grades(bundle) if calibrated else ("full",)
        grades = [score_settings(bundle, grade) for grade in (every if config.grade is None else (config.grade,))]
    except AiccError as error:
        return [Check("bundle", False, str(error))]
    advice = "" if calibrated else f"confidence stays at 0.5 or below; run: donkey-aicc calibrate --bundle {path} --data TUBS"
    wrong = foreign_warning(path.name, bundle.manifest, here)
    named = ", ".join(every) + (f", fixed to {config.grade} by AICC_GRADE" if config.grade is not None else "")
    checks = [Check("bundle", calibrated and not wrong, f"{path}, grades {named}", wrong or advice)]
    return [*checks, *check_speed(bundle, grades, hz)]


def check_speed(bundle: "Bundle", grades: "list[ScoreSettings]", hz: float) -> list[Check]:
    from donkey_aicc.car.monitor_loading import choose_grade, frame_ms, prediction_ms

    tick_ms = 1e3 / hz
    checks = []
    if bundle.has_predictor:
        ms = prediction_ms(bundle, grades[0].views)
        checks.append(
            Check("in the loop", ms < tick_ms, f"prediction {ms:.1f} ms, leaves {tick_ms - ms:.0f} of {tick_ms:.0f} ms")
        )
    choice = choose_grade(bundle, grades, 1.0 / hz)
    for settings in grades:
        ms = choice.measured_ms.get(settings.grade) or frame_ms(bundle, settings)
        rate = f"{min(1e3 / ms, hz):.0f} of {hz:g} frames a second"
        checks.append(Check(f"grade {settings.grade}", True, f"{ms:.1f} ms a frame, {ms / tick_ms:.0%} of a tick: {rate}"))
    lower = "fit lower grades (donkey-aicc calibrate), or lower" if choice.alone else "lower"
    advice = f"{choice.too_slow}; {lower} DRIVE_LOOP_HZ" if choice.too_slow else ""
    return [*checks, Check("grade at start", choice.fits, choice.grade, advice)]


def check_tubs(folder: Path) -> Check:
    """Where donkeycar will write; a folder that does not exist yet is made by the first drive."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    free_mb = shutil.disk_usage(folder).free / 1e6
    found = f"{folder.resolve()}, {free_mb:.0f} MB free"
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return Check("tub folder", False, f"{found}: {error}", "make it writable, or drive as another user")
    advice = "" if free_mb >= LEAST_FREE_MB else "delete old tubs: an hour of driving takes some hundred MB"
    return Check("tub folder", not advice, found, advice)


def check_watchdog(cfg: Any, config: AiccConfig, simulated: bool) -> Check:
    """Whether a second process can stop this drivetrain's motor. A drive says it once more, when it has tried."""
    kind = str(getattr(cfg, "DRIVE_TRAIN_TYPE", "MOCK"))
    if simulated or kind == "MOCK":
        return Check("watchdog", True, "none needed: no motor")
    if not config.watchdog:
        return Check("watchdog", False, "AICC_WATCHDOG is False", "the motor keeps its last throttle if the program dies")
    if kind in WATCHED:
        return Check("watchdog", True, f"{kind}: neutral within 0.3 s when the drive loop dies, hangs or is stopped")
    advice = "the motor keeps its last throttle if the program dies: use an ESC that stops by itself when the pulses do"
    return Check("watchdog", False, f"{kind}: no other process can write to its motor", advice)


def check_devices(cfg: Any, simulated: bool, look: Callable[[str], list[str]]) -> list[Check]:
    """Camera and controller that the settings ask for. look: pattern of a device -> those that are there."""
    kind, cameras, controllers = getattr(cfg, "CAMERA_TYPE", None), look(VIDEO), look(CONTROLLER)
    found, advice = ", ".join(cameras) or f"none at {VIDEO}", ""
    if simulated or kind in NO_CAMERA_NEEDED:
        found = "the simulator's" if simulated else f"none needed (CAMERA_TYPE {kind})"
    elif kind is None:
        found += "; fine in the simulator"
    elif NEEDS_PACKAGE.get(kind) and importlib.util.find_spec(NEEDS_PACKAGE[kind]) is None:
        advice = f"CAMERA_TYPE {kind} needs the package {NEEDS_PACKAGE[kind]}"
    elif not cameras:
        advice = f"CAMERA_TYPE {kind}: plug it in, or switch it on in the system's settings"
    wanted = bool(getattr(cfg, "USE_JOYSTICK_AS_DEFAULT", False))
    lacks = "USE_JOYSTICK_AS_DEFAULT is True: plug it in, or pair it" if wanted and not controllers else ""
    said = ", ".join(controllers) or f"none at {CONTROLLER}{'' if wanted else '; the web page drives'}"
    return [Check("camera", not advice, found, advice), Check("controller", not lacks, said, lacks)]


def check_drive_page() -> Check:
    advice = dead_drive_page()
    return Check(
        "drive page", True, "the cockpit's wheel only" if advice else "donkeycar's own, and the cockpit's wheel", advice or ""
    )
