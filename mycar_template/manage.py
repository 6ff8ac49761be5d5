#!/usr/bin/env python3
"""
Drive a donkey car, real or simulated.

Usage:
    manage.py drive [--model=<model>] [--type=<type>] [--track=<name>] [--laps=<n>] [--seed=<n>] [--headless] [--fast]
                    [--inject=<what>] [--alarm-laps=<n>] [--js] [--myconfig=<file>]
    manage.py -h | --help

Options:
    --model=<model>    Pilot: a folder or .safetensors file of ours, a learnt .zip of examples/train_sac.py, donkeycar's model,
                       or the name of a shipped pilot.
                       In the embedded simulator the shipped pilot is used if none is given.
    --type=<type>      Model type of a donkeycar model (linear, categorical, tflite_linear, ...).
    --track=<name>     Track of the embedded simulator; overrides AICC_SIM_TRACK.
    --laps=<n>         Stop after n laps (embedded simulator).
    --seed=<n>         Seed of the embedded simulator; overrides AICC_SIM_SEED.
    --headless         Nobody is there: the pilot drives and the tub records from the start.
    --fast             With --headless: drive the embedded simulator as fast as this machine can, without the web page.
    --inject=<what>    Faults on purpose, such as dark:3 or "bias:2@10s-25s,blur:4@lap2", or none; overrides AICC_INJECT. Any car:
                       dark, blur, bias, latency, jpeg, desaturation, fog, speckle, salt_and_pepper, pixelation, colour_jitter,
                       frost, speed_mismatch, frame_drop, frozen, occlusion, over_exposure. In the embedded simulator also: grip,
                       steering_gain, drag, camera_pitch, one_wheel. Severities are 1 to 5.
    --alarm-laps=<n>   Record n normal laps into a tub of their own, for the alarm's thresholds; overrides AICC_ALARM_LAPS.
    --js               Use a game controller.
    --myconfig=<file>  Your settings, beside config.py [default: myconfig.py].
    -h --help          Show this.
"""

import logging
import sys
import time
from pathlib import Path

import donkeycar as dk
from docopt import DocoptExit, docopt
from donkeycar.parts.controller import JoystickController
from donkeycar.parts.datastore import TubHandler
from donkeycar.parts.explode import ExplodeDict
from donkeycar.parts.launch import AiLaunch
from donkeycar.parts.pipe import Pipe
from donkeycar.parts.throttle_filter import ThrottleFilter
from donkeycar.parts.tub_v2 import TubWriter
from donkeycar.templates.complete import (
    DriveMode,
    ToggleRecording,
    UserPilotCondition,
    add_camera,
    add_drivetrain,
    add_imu,
    add_odometry,
    add_simulator,
    add_user_controller,
)

from donkey_aicc import channels
from donkey_aicc.car import template as car
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.wiring import add_aicc, plain_errors
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.parts.drive_log import DriveLog
from donkey_aicc.parts.drive_stopper import DriveStopper
from donkey_aicc.parts.guarded_tub import GuardedTub
from donkey_aicc.parts.headless_controller import HeadlessController
from donkey_aicc.simulator.sim_progress import SessionCut

AS_FAST_AS_POSSIBLE_HZ = 100_000


def drive(cfg, aicc, model=None, model_type=None, laps=None, headless=False, fast=False, use_joystick=False):
    """Build the vehicle, part by part in the order of the drive loop, and run it. Returns the exit code."""
    car.check_donkeycar_keys(cfg, simulated=aicc.sim)
    V = dk.vehicle.Vehicle()

    simulator = None
    if aicc.sim:
        simulator = car.add_embedded_simulator(V, cfg, aicc)
    else:
        car.check_image_size(cfg)
        add_simulator(V, cfg)
        add_odometry(V, cfg)
        add_camera(V, cfg, "single")

    controller = add_controls(V, cfg, headless, fast, use_joystick)
    V.add(Pipe(), inputs=["user/steering"], outputs=["user/angle"])
    V.add(ExplodeDict(V.mem, "web/"), inputs=["web/buttons"])
    V.add(ThrottleFilter(), inputs=["user/throttle"], outputs=["user/throttle"])
    V.add(
        UserPilotCondition(show_pilot_image=cfg.SHOW_PILOT_IMAGE),
        inputs=["user/mode", "cam/image_array", "cam/image_array_trans"],
        outputs=["run_user", "run_pilot", "ui/image_array"],
    )
    if not aicc.sim:
        add_imu(V, cfg)

    car.add_pilot(V, cfg, model, model_type, aicc)
    launcher = AiLaunch(cfg.AI_LAUNCH_DURATION, cfg.AI_LAUNCH_THROTTLE, cfg.AI_LAUNCH_KEEP_ENABLED)
    V.add(launcher, inputs=["user/mode", "pilot/throttle"], outputs=["pilot/throttle"])
    V.add(
        DriveMode(cfg.AI_THROTTLE_MULT),
        inputs=["user/mode", "user/angle", "user/throttle", "pilot/angle", "pilot/throttle"],
        outputs=["steering", "throttle"],
    )
    recording = ToggleRecording(cfg.AUTO_RECORD_ON_THROTTLE, cfg.RECORD_DURING_AI)
    V.add(recording, inputs=["user/mode", "recording"], outputs=["recording"])

    if not aicc.sim:
        add_drivetrain(V, cfg)

    inputs, types = add_aicc(V, cfg, *car.tub_channels(cfg), config=aicc)  # finds the places of our parts among those above
    Path(cfg.DATA_PATH).mkdir(parents=True, exist_ok=True)
    tub_path = TubHandler(path=cfg.DATA_PATH).create_tub_path() if cfg.AUTO_CREATE_NEW_TUB else cfg.DATA_PATH
    writer = GuardedTub(TubWriter(tub_path, inputs=inputs, types=types, metadata=car.tub_metadata(cfg, aicc)))
    V.add(writer, inputs=inputs, outputs=["tub/num_records"], run_condition="recording")
    if isinstance(controller, JoystickController):
        controller.set_button_down_trigger(cfg.AI_LAUNCH_ENABLE_BUTTON, launcher.enable_ai_launch)
        controller.set_tub(writer.tub)
        controller.print_controls()

    V.add(DriveLog(tub_path, (lambda: simulator.lap_times) if simulator else tuple), inputs=[channels.CTE, channels.HIT])
    if simulator:
        V.add(SessionCut(writer.tub), inputs=[channels.HIT])
    V.add(DriveStopper(V, laps, stop_at_wall=not aicc.sim_put_back), inputs=[channels.LAP, channels.HIT])

    finished = V.start(rate_hz=AS_FAST_AS_POSSIBLE_HZ if fast else cfg.DRIVE_LOOP_HZ, max_loop_count=cfg.MAX_LOOPS)
    return 0 if finished else 1  # donkeycar prints a part's exception and returns nothing


def add_controls(V, cfg, headless, fast, use_joystick):
    """The web page and any game controller; headless, the pilot has the wheel from the start."""
    problem = None if fast else car.port_problem(cfg.WEB_CONTROL_PORT)
    if problem and not headless:
        raise AiccError(f"{problem}. End the program that uses it, or set WEB_CONTROL_PORT in myconfig.py")
    if problem:
        print(f"{problem}; going on without it")
    if fast or problem:
        return V.add(HeadlessController(), outputs=list(HeadlessController.outputs))
    if headless:
        cfg.WEB_INIT_MODE = "local"
        cfg.USE_JOYSTICK_AS_DEFAULT = False
        V.mem["recording"] = True
    print(f"The web page is at http://localhost:{cfg.WEB_CONTROL_PORT}")
    return add_user_controller(V, cfg, use_joystick)


def main(args):
    """Settings from the files, then from the command line, checked against each other."""
    folder = Path(__file__).resolve().parent
    if not (folder / args["--myconfig"]).is_file():
        raise AiccError(f"no settings file {folder / args['--myconfig']}")
    cfg = dk.load_config(str(folder / "config.py"), args["--myconfig"])
    logging.getLogger().setLevel(cfg.LOGGING_LEVEL)
    if args["--track"] is not None:
        cfg.AICC_SIM_TRACK = args["--track"]
    if args["--seed"] is not None:
        cfg.AICC_SIM_SEED = whole_number("--seed", args["--seed"], at_least=0)
    if args["--inject"] is not None:
        cfg.AICC_INJECT = args["--inject"]
    if args["--alarm-laps"] is not None:
        cfg.AICC_ALARM_LAPS = whole_number("--alarm-laps", args["--alarm-laps"], at_least=4)
    if getattr(cfg, "AICC_ALARM_LAPS", None):
        cfg.DATA_PATH = time.strftime(f"{cfg.DATA_PATH}_alarm_laps_%Y-%m-%d_%H%M%S")
    if args["--fast"]:
        cfg.AICC_SCORER_THREADED = False  # a thread that follows the wall clock would miss most frames
    laps = None if args["--laps"] is None else whole_number("--laps", args["--laps"], at_least=1)
    aicc = AiccConfig.from_donkey(cfg)
    headless, fast, use_joystick = args["--headless"], args["--fast"], args["--js"]
    for option in ("--track", "--seed", "--laps", "--fast"):
        if args[option] and not aicc.sim:
            raise ConfigError(f"{option} is for the embedded simulator, and AICC_SIM is False")
    if fast and (not headless or aicc.sim_realtime):
        raise ConfigError("--fast needs --headless and AICC_SIM_REALTIME = False: nobody can steer faster than real time")
    if headless and use_joystick:
        raise ConfigError("--js needs somebody at the controller; leave out --headless")
    if headless and not aicc.sim and args["--model"] is None:
        raise ConfigError("--headless needs a pilot: give --model")
    if headless:
        cfg.RECORD_DURING_AI = True
    model = args["--model"] or (car.SHIPPED_PILOT if aicc.sim else None)
    return drive(cfg, aicc, model, args["--type"], laps, headless, fast, use_joystick)


def whole_number(name, text, at_least):
    """The number behind a command line option."""
    if not text.isdecimal() or int(text) < at_least:
        raise ConfigError(f"{name} must be a whole number >= {at_least}, got {text!r}")
    return int(text)


if __name__ == "__main__":
    plain_errors("manage.py")
    try:
        sys.exit(main(docopt(__doc__)))
    except DocoptExit as mistake:
        print(mistake, file=sys.stderr)
        sys.exit(2)
