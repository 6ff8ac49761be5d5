"""The hook points of a car's manage.py: where our parts join donkeycar's drive loop.

    camera or simulator -> add_sensor_faults -> pilot, drive mode -> add_command_stage -> drivetrain -> add_monitor -> tub

`donkey-aicc install` puts these calls into an existing manage.py; mycar_template/manage.py has them already. Each hook
reads and checks the AICC_* keys itself, so that a mistake ends the program before the car moves.
"""

import json
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from donkey_aicc import channels
from donkey_aicc.config import AiccConfig
from donkey_aicc.errors import AiccError, ConfigError

IMAGE_SIDE_PX = (16, 2048)
# What the embedded simulator adds to the tub, with donkeycar's type names.
SIM_CHANNELS = {**dict.fromkeys(channels.LOCATION, "float"), channels.LAP: "int", channels.HIT: "boolean"}


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
    _checked_config(V, cfg)


def add_command_stage(V: Any, cfg: Any) -> None:
    """Right before the drivetrain: faults of the command, then the governor."""
    _checked_config(V, cfg)


def add_monitor(V: Any, cfg: Any, inputs: list[str], types: list[str]) -> tuple[list[str], list[str]]:
    """Right before the tub is made: safety prediction. Returns the tub's inputs and types with ours added."""
    config = _checked_config(V, cfg)
    ours = {channels.STEERING: "float", channels.THROTTLE: "float"}  # as sent to the vehicle
    if config.sim:
        ours |= SIM_CHANNELS
    new = [name for name in ours if name not in inputs]
    inputs, types = [*inputs, *new], [*types, *(ours[name] for name in new)]
    _check_tub_takes(cfg, inputs)
    return inputs, types


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
