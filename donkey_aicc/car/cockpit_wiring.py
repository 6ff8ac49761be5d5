"""The cockpit on the car's own web page: what it shows and what its buttons do, found among the parts that are there."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from donkey_aicc import __version__, channels
from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.config import speaking_of
from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.faults.protocols import FAULTS, SEVERITIES, in_software
from donkey_aicc.web.cockpit_exchange import Action, Controls, Hold, flag

if TYPE_CHECKING:
    from donkey_aicc.car.monitor_loading import Monitor
    from donkey_aicc.parts.injection_control import InjectionControl
    from donkey_aicc.web.page_wheel import PageWheel

MODES = ("user", "local_angle", "local")
TIMED_PARTS = 6  # the slowest ones are shown
_TRACK_POINTS = 160


def add_cockpit(car: Assembly, injection: "InjectionControl | None", monitor: "Monitor | None") -> None:
    """Behind everything that it shows. Without donkeycar's web page there is none."""
    app = _part(car, lambda part: type(part).__name__ == "LocalWebController")
    if app is None:
        return
    from donkey_aicc.web.drive_guard import guard_drive_page
    from donkey_aicc.web.page_wheel import PageWheel

    wheel = PageWheel(app, silence_s=car.config.web_silence_s)
    car.V.add(wheel)
    guard_drive_page(app, buttons_need_origin=not car.simulated, heard=wheel.heard)
    if not car.config.cockpit:
        return
    from donkey_aicc.web.access import Access, announcement, own_address
    from donkey_aicc.web.cockpit_exchange import CockpitFeed
    from donkey_aicc.web.cockpit_hub import CockpitHub
    from donkey_aicc.web.cockpit_socket import add_cockpit_handlers

    feed = CockpitFeed()
    with speaking_of("AICC_WEB_TOKEN"):
        access = Access(car.config.web_token, car.config.web_view)
    about: dict[str, Any] = {}
    hub = CockpitHub(feed, access, about, _instruments(car, injection), _heat(car, monitor))
    mark = Hold(*_mark(car, lambda: hub.attended))
    hub.on_beat.append(mark.check)

    def let_go() -> None:
        mark.let_go()
        wheel.let_go()

    controls = Controls(_actions(car, app, injection, mark) | _steering(car, app, wheel), let_go)
    about |= _about(car, monitor, controls)
    add_cockpit_handlers(app, hub, controls)
    car.V.add(feed, inputs=list(feed.inputs))
    address = f"http://{own_address()}:{app.port}/aicc"
    car.said.append(f"cockpit at {address}")
    print(announcement(f"{address}#token={access.token}"), flush=True)


def _part(car: Assembly, fits: Callable[[Any], bool]) -> Any:
    return next((entry["part"] for entry in car.V.parts if fits(entry["part"])), None)


def _with(car: Assembly, name: str) -> Any:
    """The first part that has a method or property of this name."""
    return _part(car, lambda part: hasattr(part, name))


def _mark(car: Assembly, attended: Callable[[], bool]) -> tuple[Callable[[], None], Callable[[], None]]:
    """The mark that a button of the car has already, or one of the page's own."""
    from donkey_aicc.parts.unsafe_mark import AttendedMark, UnsafeMark

    mark = _part(car, lambda part: isinstance(part, UnsafeMark))
    if mark is None:
        mark = AttendedMark(car.V.mem, attended)
        car.V.add(mark)
        car.recorded[channels.UNSAFE_MARK] = "boolean"
    return mark.press, mark.release


def _about(car: Assembly, monitor: "Monitor | None", controls: Controls) -> dict[str, Any]:
    """What does not change during a drive."""
    from donkey_aicc.car.bundles import foreign_warning, home_of_car, safe_in_words
    from donkey_aicc.scoring.score_table import FEATURE_NAMES

    known: dict[str, Any] = {
        "version": __version__,
        "rate_hz": car.cfg.DRIVE_LOOP_HZ,
        "simulated": car.simulated,
        "actions": controls.names,
        "protocols": list(FAULTS if car.config.sim else in_software()),
        "severities": list(SEVERITIES),
        "severity": car.config.inject_button_severity,
        "arm_s": None if car.simulated else car.config.inject_arm_s,
        "governor_modes": list(getattr(_with(car, "set_mode"), "modes", ())),
        "monitor": None,
    }
    if monitor is not None:
        known["monitor"] = monitor.bundle.path.name
        known["horizons"] = list(monitor.bundle.horizons) if monitor.bundle.has_predictor else []
        known["safe"] = safe_in_words(monitor.bundle.manifest)
        known["features"] = list(FEATURE_NAMES)
        here = home_of_car(car.config, car.cfg)
        known["foreign"] = foreign_warning(known["monitor"], monitor.bundle.manifest, here)
    if car.config.sim:
        from donkey_aicc.simulator.tracks import make_track

        track = make_track(car.config.sim_track)
        every = max(1, len(track.centreline) // _TRACK_POINTS)
        known["track"] = {"points": track.centreline[::every].round(2).tolist(), "half_width_m": track.half_width_m}
    return known


def _instruments(car: Assembly, injection: "InjectionControl | None") -> dict[str, Callable[[], Any]]:
    from donkey_aicc.web.cockpit_exchange import plain

    scorer, governor = _with(car, "newest"), _with(car, "set_mode")
    found: dict[str, Callable[[], Any]] = {"parts": lambda: _timings(car.V)}
    if scorer is not None:
        found["features"] = lambda: None if scorer.newest is None else plain(scorer.newest.features)
    if governor is not None:
        found["governor_mode"] = lambda: governor.mode
    if injection is not None:
        found["injection"] = lambda: {
            "armed": injection.armed,
            "left_s": plain(injection.armed_left_s),
            "asked_for": list(injection.asked_for),
        }
    return found


def _timings(V: Any) -> list[list[Any]]:
    """[name, mean milliseconds of the last 20 runs] in the order of the loop, from donkeycar's own clock."""
    found: dict[str, float] = {}
    for part, record in list(V.profiler.records.items()):
        times = [each for each in record["times"][-21:-1] if each < 100.0]  # the last may be a start, not a duration
        if times:
            name = type(part).__name__
            found[name] = found.get(name, 0.0) + 1000.0 * sum(times) / len(times)
    shown = sorted(found, key=lambda name: -found[name])[:TIMED_PARTS]
    return [[name, round(found[name], 2)] for name in found if name in shown]


def _heat(car: Assembly, monitor: "Monitor | None") -> Callable[[], Any] | None:
    """Where the last scored frame could not be rebuilt, against how well nominal frames can."""
    from donkey_aicc.web.cockpit_exchange import heat_of

    scorer = _with(car, "newest")
    if scorer is None or monitor is None or monitor.calibrator is None or monitor.calibrator.statistics is None:
        return None
    nominal = monitor.calibrator.statistics.rho_raw.mu

    def heat() -> str | None:
        newest = scorer.newest
        error = None if newest is None else newest.squared_error
        return None if error is None else heat_of(error, nominal)

    return heat


def _actions(car: Assembly, app: Any, injection: "InjectionControl | None", mark: Hold) -> dict[str, Action]:
    """By the names that the page sends."""

    def mode(given: Mapping[str, Any]) -> str:
        one_of("mode", given.get("mode"), MODES)
        app.mode = app.mode_latch = given["mode"]
        said = {"user": "you drive", "local_angle": "the pilot steers", "local": "the pilot drives"}[given["mode"]]
        return said if given["mode"] == "user" or app.recording else f"{said}; nothing is recorded"

    def record(given: Mapping[str, Any]) -> str:
        app.recording = app.recording_latch = flag(given, "on")
        if not given["on"]:
            return "recording ended"
        if app.mode != "user" and _part(car, lambda part: getattr(part, "record_in_autopilot", True) is False):
            raise AiccError("this car records only while you drive: RECORD_DURING_AI = True in myconfig.py changes that")
        return "recording"

    def hold(given: Mapping[str, Any]) -> str:
        mark.set(flag(given, "held"))
        return "marking as unsafe" if given["held"] else "mark ended"

    found: dict[str, Action] = {"mode": mode, "record": record, "mark": hold}
    if injection is not None:
        found |= _injection_actions(injection, app)
    governor, alarm = _with(car, "set_mode"), _with(car, "false_alarm")
    if governor is not None:
        found["governor"] = lambda given: _set_governor(governor, given)
        if hasattr(governor, "confirm"):
            found["confirm"] = lambda given: "confirmed" if governor.confirm() else "not confirmed: the evidence is still there"
    if alarm is not None:
        found["false_alarm"] = lambda given: _called(alarm.false_alarm, "noted as a false alarm")
        found["lap_was_normal"] = lambda given: alarm.lap_was_normal()
    return found


def _steering(car: Assembly, app: Any, wheel: "PageWheel") -> dict[str, Action]:
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
