"""Our parts in a car's drive loop: one call in manage.py, and the whole online flow on one screen.

    camera or simulator -> faults of the frame, intake -> controller, pilot, drive mode -> faults of the command, governor,
    limits -> drivetrain -> monitor, unsafe mark, cockpit -> tub

`donkey-aicc install` puts the call into an existing manage.py; mycar_template/manage.py has it already. It reads and checks
the AICC_* keys, so that a mistake ends the program before the car moves.
"""

from collections.abc import Sequence
from typing import Any

from donkey_aicc import channels
from donkey_aicc.car.assembly import SENT_CHANNELS, SIM_CHANNELS, Assembly
from donkey_aicc.car.cockpit_wiring import add_cockpit
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.drive_loop import after_camera, before_drivetrain, inserting_at, name_steering, shorten_profile, steady_loop
from donkey_aicc.car.injection_wiring import add_command_faults, add_sensor_faults, add_unsafe_mark, make_injection
from donkey_aicc.car.learning_wiring import add_learning
from donkey_aicc.car.monitor_loading import load_monitor
from donkey_aicc.car.monitor_wiring import (
    add_fresh_laps,
    add_governor,
    add_intake,
    add_judgement,
    add_scoring,
    keep_models_out_of_garbage_collection,
)
from donkey_aicc.car.outlook_wiring import add_outlook
from donkey_aicc.car.start_checks import (
    begin,
    check_settings,
    check_tub_takes,
    given_inject,
    leave_no_empty_tub,
    plain_errors,
    say_at_start,
)
from donkey_aicc.car.unity_wiring import add_unity
from donkey_aicc.car.watchdog_wiring import add_watchdog
from donkey_aicc.parts.drive_end import DriveEnd
from donkey_aicc.parts.guarded_tub import GuardedTub
from donkey_aicc.parts.safety_governor import CommandLimits
from donkey_aicc.plugins import load_plugins

__all__ = ["GuardedTub", "add_aicc", "begin", "plain_errors"]  # what an installed manage.py calls


def add_aicc(
    V: Any, cfg: Any, inputs: Sequence[str] = (), types: Sequence[str] = (), config: AiccConfig | None = None
) -> tuple[list[str], list[str]]:
    """Put our parts at their places among those the vehicle has already; call it once, right before the tub is made.

    Args:
        V: donkeycar's vehicle, with camera, controller, pilot and drivetrain added.
        cfg: donkeycar's configuration with the AICC_* keys (mycar_template/myconfig.py explains each with its unit).
        inputs: names of the channels that the tub records. Both are returned with ours added.
        types: of those channels, as donkeycar's tub names them.
        config: the AICC_* keys of `cfg`, if they have been read already.

    Example:
        >>> from types import SimpleNamespace
        >>> from donkeycar.parts.transform import Lambda
        >>> from donkeycar.vehicle import Vehicle
        >>> from donkey_aicc import add_aicc
        >>> V, sent = Vehicle(), ["steering", "throttle"]
        >>> V.add(Lambda(lambda: np.zeros((120, 160, 3), dtype=np.uint8)), outputs=["cam/image_array"])
        >>> V.add(Lambda(lambda: (0.0, 0.3, "local")), outputs=[*sent, "user/mode"])  # pilot and drive mode
        >>> V.add(Lambda(lambda *command: None), inputs=sent)  # the drivetrain
        >>> cfg = SimpleNamespace(DRIVE_LOOP_HZ=20, DONKEY_GYM=True, DATA_PATH=str(folder))
        >>> cfg.AICC_BUNDLE, cfg.AICC_GRADE = "reference", "light"
        >>> inputs, types = add_aicc(V, cfg, ["cam/image_array"], ["image_array"])
        donkey_aicc: monitor on (reference, grade light, ...
        >>> "aicc/confidence" in inputs, "aicc/alarm" in inputs
        (True, True)
    """
    if given_inject() is not None:
        cfg.AICC_INJECT = given_inject()
    car = Assembly(V, cfg, config or AiccConfig.from_donkey(cfg))
    load_plugins(car.config.plugins)
    check_settings(car)
    name_steering(V)
    shorten_profile(V)
    steady_loop(V)
    car.recorded |= SENT_CHANNELS | (SIM_CHANNELS if car.config.sim else {})
    add_unity(car)
    injection = make_injection(car)
    monitor = load_monitor(car)
    with inserting_at(V, after_camera(V.parts)):
        add_sensor_faults(car, injection)
    intake = add_intake(car, monitor)
    with inserting_at(V, before_drivetrain(V.parts)):
        add_command_faults(car, injection)
        judgement = add_judgement(car, monitor, intake)
        add_learning(car)
        add_governor(car, monitor)
        add_outlook(car, monitor)
        sent = [channels.STEERING, channels.THROTTLE]
        V.add(CommandLimits(), inputs=sent, outputs=sent)
    add_scoring(car, judgement)
    add_unsafe_mark(car)
    add_fresh_laps(car, monitor)
    add_cockpit(car, injection, monitor)
    V.add(DriveEnd(V))
    add_watchdog(car)
    if monitor is not None:
        keep_models_out_of_garbage_collection()
    all_inputs, all_types = car.tub_channels(inputs, types)
    check_tub_takes(car, all_inputs)
    leave_no_empty_tub(cfg)
    say_at_start(car, injection, monitor)
    return all_inputs, all_types
