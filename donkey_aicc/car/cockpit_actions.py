"""What the cockpit's buttons do to this car, by the names that the page sends."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from donkey_aicc.car.assembly import Assembly
from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.web.cockpit_exchange import Action, Hold, flag

if TYPE_CHECKING:
    from donkey_aicc.parts.injection_control import InjectionControl
    from donkey_aicc.web.page_wheel import PageHalt, PageWheel

MODES = ("user", "local_angle", "local")


def cockpit_actions(
    car: Assembly, app: Any, injection: "InjectionControl | None", mark: Hold, halt: "PageHalt"
) -> dict[str, Action]:
    """Only what this car has a part for."""

    def mode(given: Mapping[str, Any]) -> str:
        one_of("mode", given.get("mode"), MODES)
        app.mode = app.mode_latch = given["mode"]
        said = {"user": "you drive", "local_angle": "the pilot steers", "local": "the pilot drives"}[given["mode"]]
        return said if given["mode"] == "user" or app.recording else f"{said}; nothing is recorded"

    def record(given: Mapping[str, Any]) -> str:
        app.recording = app.recording_latch = flag(given, "on")
        if not given["on"]:
            return "recording ended"
        if app.mode != "user" and car.part(lambda part: getattr(part, "record_in_autopilot", True) is False):
            raise AiccError("this car records only while you drive: RECORD_DURING_AI = True in myconfig.py changes that")
        return "recording"

    def hold(given: Mapping[str, Any]) -> str:
        mark.set(flag(given, "held"))
        return "marking as unsafe" if given["held"] else "mark ended"

    def stop_the_car(given: Mapping[str, Any]) -> str:
        halt.halt()
        wait_for_nothing = "" if injection is None else " and all faults ended"
        if injection is not None:
            injection.stop()
        return f"the car is stopped{wait_for_nothing}: throttle zero, you have the wheel. Pilot lets it drive again"

    found: dict[str, Action] = {"mode": mode, "record": record, "mark": hold, "halt": stop_the_car}
    if injection is not None:
        found |= _injection_actions(injection, app)
    governor, alarm = car.part_with("set_mode"), car.part_with("false_alarm")
    if governor is not None:
        found["governor"] = lambda given: _set_governor(governor, given)
        if hasattr(governor, "confirm"):
            found["confirm"] = lambda given: "confirmed" if governor.confirm() else "not confirmed: the evidence is still there"
    if alarm is not None:
        found["false_alarm"] = lambda given: alarm.false_alarm()
        found["lap_was_normal"] = lambda given: alarm.lap_was_normal()
    return found


def steering_action(car: Assembly, app: Any, wheel: "PageWheel") -> dict[str, Action]:
    """Only where nothing behind the page overwrites the user's throttle, as a game controller does."""
    throttle = "user/throttle"
    writers = [entry for entry in car.V.parts if throttle in entry["outputs"] and throttle not in entry["inputs"]]
    if [entry["part"] for entry in writers] != [app]:
        return {}
    return {"drive": wheel.steer}


def _injection_actions(control: "InjectionControl", app: Any) -> dict[str, Action]:
    from donkey_aicc.faults.fault import WAIT_S

    def arm(given: Mapping[str, Any]) -> str:
        control.arm()
        return "armed" if control.arm_s is None else f"armed for {control.arm_s:g} s"

    def inject(given: Mapping[str, Any]) -> str:
        protocol, severity = given.get("protocol"), given.get("severity")
        if not isinstance(protocol, str) or not isinstance(severity, int) or isinstance(severity, bool):
            raise AiccError("inject needs a protocol and a severity")
        control.inject(protocol[:40], severity)
        return f"{protocol}:{severity} " + (
            "is on" if control.permits(app.mode) else f"waits for pilot mode, {WAIT_S:g} s at most"
        )

    return {"arm": arm, "inject": inject, "stop": lambda given: _called(control.stop, "all faults ended")}


def _set_governor(governor: Any, given: Mapping[str, Any]) -> str:
    one_of("governor mode", given.get("mode"), tuple(governor.modes))
    governor.set_mode(given["mode"])
    return f"governor: {given['mode']}"


def _called(function: Callable[[], Any], said: str) -> str:
    function()
    return said
