"""One line at every start: what is on, what is off and why, and where to look."""

from typing import TYPE_CHECKING

from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.bundles import simulator_warning

if TYPE_CHECKING:
    from donkey_aicc.car.monitor_loading import Monitor
    from donkey_aicc.parts.injection_control import InjectionControl


def say_at_start(car: Assembly, injection: "InjectionControl | None", monitor: "Monitor | None") -> None:
    """Print the line, and a warning where the monitor does not fit the car."""
    print("donkey_aicc: " + "; ".join([_monitor(monitor), _injection(car, injection), *car.said]), flush=True)
    if monitor is not None and not car.simulated:
        warning = simulator_warning(monitor.bundle.path.name, monitor.bundle.manifest)
        if warning is not None:
            print(warning, flush=True)
    if not getattr(car.cfg, "RECORD_DURING_AI", True):
        print("Not recorded while the pilot drives: RECORD_DURING_AI is False", flush=True)


def _monitor(monitor: "Monitor | None") -> str:
    if monitor is None:
        return "monitor off because AICC_BUNDLE is None"
    lacks = "" if monitor.calibrator is not None else ", no calibrator"
    lacks += "" if monitor.bundle.manifest.has_predictor else ", no confidence because it was trained without labels"
    return f"monitor on ({monitor.bundle.path.name}{lacks}, {monitor.runtime.name}, {monitor.grade_said})"


def _injection(car: Assembly, injection: "InjectionControl | None") -> str:
    if injection is None:
        return "injection off"
    planned = f", planned {', '.join(map(str, injection.schedule))}" if injection.schedule else ""
    if injection.arm_s is None:
        return f"injection armed by the simulator{planned}"
    by = ["the web page or the cockpit"] if car.web_buttons_inject else []
    by += [f"the controller's {car.config.inject_joystick_button}"] if car.config.inject_joystick_button and car.joysticks else []
    return f"injection off until armed by {' or '.join(by)}, for {injection.arm_s:g} s at a time{planned}"
