"""What mycar_template/manage.py needs besides donkeycar's own functions and the one call in wiring.py."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from donkey_aicc import channels
from donkey_aicc.car.bundles import known_bundle, safe_in_words
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.generation import imu_channels
from donkey_aicc.errors import AiccError, ConfigError, one_of
from donkey_aicc.nets.latent_pilot import LatentPilot
from donkey_aicc.nets.vision_pilot import WEIGHTS_NAME
from donkey_aicc.resources import models_dir

SHIPPED_PILOT = "pilot"
OWN_SUFFIX, LEARNT_SUFFIX = ".safetensors", ".zip"
# Ending of a donkeycar model -> what must be installed to load it (TFLite: one of several, donkeycar looks itself).
FRAMEWORKS = {
    ".h5": "tensorflow",
    ".keras": "tensorflow",
    ".savedmodel": "tensorflow",
    ".trt": "tensorflow",
    ".pth": "fastai",
    ".tflite": None,
}
IMAGE_SIDE_PX = (16, 2048)
CAMERA_TYPES = ("PICAM", "WEBCAM", "CVCAM", "CSIC", "V4L", "IMAGE_LIST", "LEOPARD", "MOCK", "D435", "OAKD")
# Parts of donkeycar's complete template that live inside its drive() function and cannot be imported.
NOT_IN_THIS_TEMPLATE = (
    "USE_LIDAR",
    "HAVE_TFMINI",
    "TRAIN_BEHAVIORS",
    "TRAIN_LOCALIZER",
    "STOP_SIGN_DETECTOR",
    "HAVE_RGB_LED",
    "USE_SSD1306_128_32",
    "HAVE_MQTT_TELEMETRY",
    "HAVE_PERFMON",
    "HAVE_SOMBRERO",
    "PUB_CAMERA_IMAGES",
    "USE_FPV",
    "SHOW_FPS",
)


def add_embedded_simulator(V: Any, cfg: Any, config: AiccConfig) -> Any:
    """AICC_SIM = True: a simulated world in place of camera and drivetrain. Returns its SimulatorPart.

    Like donkeycar's DonkeyGymEnv it runs first and takes the commands of the loop before, so that image, position and
    cross-track error of one record belong to the same tick.
    """
    from donkey_aicc.simulator.camera import CameraConfig
    from donkey_aicc.simulator.driving import SimulatorPart
    from donkey_aicc.simulator.sim_progress import SimProgress
    from donkey_aicc.simulator.vehicle import VehicleConfig
    from donkey_aicc.simulator.world import World

    if getattr(cfg, "DONKEY_GYM", False):
        raise ConfigError("AICC_SIM and DONKEY_GYM must not both be True: the car can be in one simulator only")
    check_image_size(cfg, depths=(3,))
    camera = CameraConfig(width=cfg.IMAGE_W, height=cfg.IMAGE_H)
    vehicle = VehicleConfig(speed_controller=config.sim_esc)
    world = World(config.sim_track, seed=config.sim_seed, rate_hz=cfg.DRIVE_LOOP_HZ, camera=camera, vehicle=vehicle)
    simulator = SimulatorPart(world, realtime=config.sim_realtime, put_back=config.sim_put_back)
    V.add(simulator, inputs=[channels.STEERING, channels.THROTTLE], outputs=[channels.IMAGE, *channels.LOCATION])
    V.add(SimProgress(simulator), outputs=[channels.LAP, channels.HIT])
    return simulator


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


def check_donkeycar_keys(cfg: Any, simulated: bool) -> None:
    """Raise ConfigError for donkeycar settings that this template cannot honour."""
    if not simulated and not cfg.DONKEY_GYM:
        one_of("CAMERA_TYPE", cfg.CAMERA_TYPE, CAMERA_TYPES)
    for key in NOT_IN_THIS_TEMPLATE:
        if getattr(cfg, key, False):
            raise ConfigError(
                f"{key} = True is not wired in this manage.py: make the car with donkeycar's own `donkey createcar` "
                "and add our parts with `donkey-aicc install`"
            )


def port_problem(port: int) -> str | None:
    """Why the web page cannot be served at this port, or None. donkeycar's server thread would die without a word."""
    from tornado.netutil import bind_sockets

    try:
        sockets = bind_sockets(port)
    except (OSError, OverflowError, TypeError) as error:
        return f"port {port} cannot be used for the web page: {error}"
    for socket in sockets:
        socket.close()
    return None


def tub_metadata(cfg: Any, config: AiccConfig) -> list[str]:
    """What the tub notes about the whole drive: the owner's METADATA, and of a simulated car where it drove.

    safe: what the monitor's probabilities are about, in words.
    step_s: what one record is in the simulated world, however long the computer took for it.
    """
    known = list(getattr(cfg, "METADATA", []))
    if config.models is not None and (safe := safe_in_words(known_bundle(config.models))):
        known.append(f"safe:{safe}")
    if not config.sim:
        return known
    from donkey_aicc.simulator.tracks import make_track

    known += [f"track:{config.sim_track.replace(':', '_')}", f"seed:{config.sim_seed}"]
    known.append(f"lane_half_width:{make_track(config.sim_track).half_width_m:g}")
    return known if config.sim_realtime else [*known, f"step_s:{1.0 / cfg.DRIVE_LOOP_HZ:g}"]


def tub_channels(cfg: Any) -> tuple[list[str], list[str]]:
    """Inputs and types of the tub, before ours are added."""
    types = {channels.IMAGE: "image_array", "user/angle": "float", "user/throttle": "float", channels.MODE: "str"}
    types |= {"pilot/angle": "float", "pilot/throttle": "float"}
    if cfg.HAVE_ODOM:
        types["enc/speed"] = "float"
    if cfg.HAVE_IMU:
        types |= imu_channels()
    if cfg.DONKEY_GYM and cfg.SIM_RECORD_LOCATION:
        types |= dict.fromkeys(channels.LOCATION, "float")
    return list(types), list(types.values())


def add_pilot(V: Any, cfg: Any, model: str | None, model_type: str | None, config: AiccConfig) -> None:
    """Add the pilot that turns images into commands whenever the mode is not `user`."""
    if model is None:
        return
    path = find_model(model)
    image = channels.IMAGE
    if path.suffix == OWN_SUFFIX or path.is_dir() and (path / WEIGHTS_NAME).is_file():
        pilot = _own_pilot(path, model_type, config)
    elif path.suffix == LEARNT_SUFFIX:
        pilot = LatentPilot(config.control_threads)
        pilot.load(path)
    else:
        pilot = _donkeycar_pilot(cfg, path, model_type)
        image = _add_transformations(V, cfg)
    V.add(pilot, inputs=[image], outputs=["pilot/angle", "pilot/throttle"], run_condition="run_pilot")


def find_model(model: str) -> Path:
    """A path of the user's, or the name of a shipped pilot."""
    path = Path(model).expanduser()
    if path.exists():
        return path
    shipped = sorted(each.parent.name for each in models_dir().glob(f"*/{WEIGHTS_NAME}"))
    if model in shipped:
        return models_dir() / model
    names = ", ".join(shipped) or "none"
    raise AiccError(f"no model {model!r}: it must be a file or folder, or the name of a shipped pilot ({names})")


def _own_pilot(path: Path, model_type: str | None, config: AiccConfig) -> Any:
    """In the embedded simulator with the temper of its seed, as in the drives that the shipped models learnt from."""
    from donkey_aicc.nets.vision_pilot import VisionPilot
    from donkey_aicc.simulator.drivers import Temper, TemperedPilot

    if model_type is not None:
        raise ConfigError(f"--type is for donkeycar's own models; {path.name} needs none, got {model_type!r}")
    pilot = VisionPilot(config.control_threads)
    pilot.load(path)
    return TemperedPilot(pilot, Temper.draw(config.sim_seed), config.sim_seed) if config.sim else pilot


def _donkeycar_pilot(cfg: Any, path: Path, model_type: str | None) -> Any:
    """Keras, TFLite, TensorRT or fastai, as donkeycar's complete template loads them."""
    from donkeycar.utils import get_model_by_type

    one_of("the model's ending", path.suffix, (OWN_SUFFIX, LEARNT_SUFFIX, *FRAMEWORKS))
    model_type = model_type or cfg.DEFAULT_MODEL_TYPE
    framework = FRAMEWORKS[path.suffix]
    if framework and find_spec(framework) is None:
        raise AiccError(f"{path.name} needs {framework}, which is not installed: pip install {framework}")
    try:
        pilot = get_model_by_type(model_type, cfg)
        pilot.load(str(path))
    except Exception as error:  # an unknown type, a broken file: each framework has errors of its own
        raise AiccError(f"{path} could not be loaded with --type {model_type}: {error}") from error
    return pilot


def _add_transformations(V: Any, cfg: Any) -> str:
    """donkeycar's crops and masks, which its own models were trained with; returns the channel for the pilot."""
    if not (getattr(cfg, "TRANSFORMATIONS", None) or getattr(cfg, "POST_TRANSFORMATIONS", None)):
        return channels.IMAGE
    from donkeycar.parts.image_transformations import ImageTransformations

    transformed = "cam/image_array_trans"
    V.add(ImageTransformations(cfg, "TRANSFORMATIONS", "POST_TRANSFORMATIONS"), inputs=[channels.IMAGE], outputs=[transformed])
    return transformed
