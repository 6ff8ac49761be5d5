"""Faults on purpose, and marks by hand: who may begin one, and the parts that carry it out."""

from typing import TYPE_CHECKING

from donkey_aicc import channels
from donkey_aicc.car.assembly import INJECTION_CHANNELS, Assembly
from donkey_aicc.car.config import speaking_of
from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.fault import parse_schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from donkey_aicc.faults.protocols import Body
    from donkey_aicc.parts.injection_control import InjectionControl

REAL_CAR_MAX_THROTTLE = 0.5


def make_injection(car: Assembly) -> "InjectionControl | None":
    """What decides when a fault is due, bound to the controller's buttons; None if this drive can have no fault."""
    from donkey_aicc.parts.injection_control import InjectionControl

    config = car.config
    schedule = parse_schedule(config.inject)
    web = car.web_buttons_inject
    by_joystick = bool(config.inject_joystick_button and car.joysticks)
    if not (schedule or web or by_joystick):
        return None
    if any(episode.unit == "lap" for episode in schedule) and not any(channels.LAP in entry["outputs"] for entry in car.V.parts):
        raise ConfigError(f"AICC_INJECT = {config.inject!r} waits for a lap, and only simulators count laps")
    if not car.simulated:
        _check_real_car(car, web, by_joystick)
    with speaking_of("AICC_INJECT_PARAMETERS" if config.inject_parameters else "AICC_INJECT"):
        control = InjectionControl(
            schedule,
            rate_hz=car.cfg.DRIVE_LOOP_HZ,
            seed=config.inject_seed,
            overrides=config.inject_parameters,
            arm_s=None if car.simulated else config.inject_arm_s,
            in_user_mode=config.inject_user_mode,
            button_severity=config.inject_button_severity,
            physical=config.sim,
        )
    for joystick in car.joysticks:
        for button, action in ((config.inject_joystick_button, control.cycle), (config.inject_stop_button, control.stop)):
            if button is not None:
                joystick.set_button_down_trigger(button, action)
    return control


def _check_real_car(car: Assembly, web: bool, by_joystick: bool) -> None:
    """On a real car somebody arms, and one button ends every fault."""
    if not (web or by_joystick):
        raise ConfigError(
            f"AICC_INJECT = {car.config.inject!r} could never begin: a real car injects only after a button has armed it. Set "
            "AICC_INJECT_BUTTONS = True, or AICC_INJECT_JOYSTICK_BUTTON and drive with a game controller"
        )
    if not (web or car.config.inject_stop_button):
        raise ConfigError("AICC_INJECT_JOYSTICK_BUTTON needs AICC_INJECT_STOP_BUTTON beside it: one button must end every fault")


def add_sensor_faults(car: Assembly, control: "InjectionControl | None") -> None:
    """Behind the camera: the part that disturbs its frames."""
    if control is None:
        return
    from donkey_aicc.parts.anomaly_injector import AnomalyInjector

    if car.config.record_clean:
        car.recorded[channels.CLEAN_IMAGE] = "image_array"
    sensor = AnomalyInjector(control, "sensor", clean_too=True)  # the intake looks at it to know a frozen camera
    car.V.add(sensor, inputs=[channels.IMAGE, channels.MODE, channels.LAP], outputs=[channels.IMAGE, channels.CLEAN_IMAGE])


def add_command_faults(car: Assembly, control: "InjectionControl | None") -> None:
    """Before the drivetrain: the page's buttons, and the part that disturbs commands."""
    if control is None:
        return
    from donkey_aicc.parts.anomaly_injector import AnomalyInjector
    from donkey_aicc.parts.injection_control import WEB_BUTTONS, InjectionButtons

    if car.web_buttons_inject:
        used = {button: name for button, name in WEB_BUTTONS.items() if button != car.config.mark_button}
        car.V.add(InjectionButtons(control, list(used.values())), inputs=[f"web/{button}" for button in used])
    most = car.config.inject_max_throttle or (1.0 if car.simulated else REAL_CAR_MAX_THROTTLE)
    sent = [channels.STEERING, channels.THROTTLE]
    command = AnomalyInjector(control, "command", max_throttle=most, suffer=_simulated_car(car))
    car.V.add(command, inputs=[*sent, channels.MODE], outputs=[*sent, *INJECTION_CHANNELS])
    car.recorded |= INJECTION_CHANNELS


def _simulated_car(car: Assembly) -> "Callable[[Body], None] | None":
    """Where faults of the car itself go: the embedded simulator's world."""
    worlds = [entry["part"].world for entry in car.V.parts if hasattr(entry["part"], "world")] if car.config.sim else []
    return worlds[0].suffer if worlds else None


def add_unsafe_mark(car: Assembly) -> None:
    """If nobody can mark, nothing is recorded: it would read as if all were safe."""
    from donkey_aicc.parts.unsafe_mark import UnsafeMark

    config = car.config
    joysticks = car.joysticks if config.mark_joystick_button else []
    if config.mark_button is None and not joysticks:
        return
    mark = UnsafeMark()
    for joystick in joysticks:
        joystick.set_button_down_trigger(config.mark_joystick_button, mark.press)
        joystick.set_button_up_trigger(config.mark_joystick_button, mark.release)
    car.V.add(mark, inputs=[f"web/{config.mark_button}"] if config.mark_button else [], outputs=[channels.UNSAFE_MARK])
    car.recorded[channels.UNSAFE_MARK] = "boolean"
