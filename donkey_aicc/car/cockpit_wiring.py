"""The cockpit on the car's own web page: what it shows and what its buttons do, found among the parts that are there."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from donkey_aicc import __version__, channels
from donkey_aicc.alarm.outlook import missing_dial
from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.cockpit_actions import cockpit_actions, steering_action
from donkey_aicc.car.config import speaking_of
from donkey_aicc.car.drive_loop import before_drivetrain, inserting_at
from donkey_aicc.car.outlook_wiring import on_the_road
from donkey_aicc.car.unity_wiring import known_half_width
from donkey_aicc.faults.protocols import FAULTS, SEVERITIES, in_software
from donkey_aicc.web.cockpit_exchange import Controls, Hold

if TYPE_CHECKING:
    from donkey_aicc.car.monitor_loading import Monitor
    from donkey_aicc.parts.injection_control import InjectionControl
    from donkey_aicc.web.ride_book import RideBook

_TRACK_POINTS = 160


def add_cockpit(car: Assembly, injection: "InjectionControl | None", monitor: "Monitor | None") -> None:
    """Behind everything that it shows. Without donkeycar's web page there is none."""
    app = car.part(lambda part: type(part).__name__ == "LocalWebController")
    if app is None:
        return
    from donkey_aicc.web.drive_guard import guard_drive_page
    from donkey_aicc.web.page_wheel import PageHalt, PageWheel

    wheel, halt = PageWheel(app, silence_s=car.config.web_silence_s), PageHalt(app)
    car.V.add(wheel)
    with inserting_at(car.V, before_drivetrain(car.V.parts)):
        car.V.add(halt, inputs=[channels.THROTTLE, channels.MODE, "user/throttle"], outputs=[channels.THROTTLE])
    guard_drive_page(app, buttons_need_origin=not car.simulated, heard=wheel.heard)
    if not car.config.cockpit:
        return
    from donkey_aicc.web.access import Access, announcement, own_address
    from donkey_aicc.web.cockpit_exchange import CockpitFeed
    from donkey_aicc.web.cockpit_hub import CockpitHub
    from donkey_aicc.web.cockpit_socket import add_cockpit_handlers

    feed = CockpitFeed(half_width=known_half_width(car), step_s=1.0 / car.cfg.DRIVE_LOOP_HZ if car.in_ticks else None)
    with speaking_of("AICC_WEB_TOKEN"):
        access = Access(car.config.web_token, car.config.web_view)
    about: dict[str, Any] = {}
    hub = CockpitHub(feed, access, about, _instruments(car, injection, feed.book), _heat(car, monitor))
    mark = Hold(*_mark(car, lambda: hub.attended))
    hub.on_beat.append(mark.check)

    def let_go() -> None:
        mark.let_go()
        wheel.let_go()

    controls = Controls(cockpit_actions(car, app, injection, mark, halt) | steering_action(car, app, wheel), let_go)
    about |= _about(car, monitor, controls)
    add_cockpit_handlers(app, hub, controls)
    car.V.add(feed, inputs=list(feed.inputs))
    address = f"http://{own_address()}:{app.port}/aicc"
    car.said.append(f"cockpit at {address}")
    print(announcement(f"{address}#token={access.token}"), flush=True)


def _mark(car: Assembly, attended: Callable[[], bool]) -> tuple[Callable[[], None], Callable[[], None]]:
    """The mark that a button of the car has already, or one of the page's own."""
    from donkey_aicc.parts.unsafe_mark import AttendedMark, UnsafeMark

    mark = car.part(lambda part: isinstance(part, UnsafeMark))
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
        "governor_modes": list(getattr(car.part_with("set_mode"), "modes", ())),
        "monitor": None,
    }
    if monitor is not None:
        known["monitor"] = monitor.bundle.path.name
        known["horizons"] = list(monitor.bundle.horizons) if monitor.bundle.has_predictor else []
        known["no_dial"] = _no_dial(monitor)
        known["beside"] = "" if on_the_road(monitor.bundle.manifest) else safe_in_words(monitor.bundle.manifest)
        known["features"] = list(FEATURE_NAMES)
        here = home_of_car(car.config, car.cfg)
        known["foreign"] = foreign_warning(known["monitor"], monitor.bundle.manifest, here)
    elif car.config.learns:
        from donkey_aicc.parts.learning_monitor import NEEDS

        known["learning"], known["no_dial"] = "learning mode", f"no number: learning mode needs no nets; {NEEDS}"
    if car.config.sim:
        from donkey_aicc.simulator.tracks import make_track

        track = make_track(car.config.sim_track)
        every = max(1, len(track.centreline) // _TRACK_POINTS)
        known["track"] = {"points": track.centreline[::every].round(2).tolist(), "half_width_m": track.half_width_m}
    return known


def _no_dial(monitor: "Monitor") -> str:
    alarm = None if monitor.calibrator is None else monitor.calibrator.alarm
    has_hazard, manifest = alarm is not None and alarm.hazard is not None, monitor.bundle.manifest
    return missing_dial(has_hazard, on_the_road(manifest), manifest.has_predictor)


def _instruments(car: Assembly, injection: "InjectionControl | None", book: "RideBook") -> dict[str, Callable[[], Any]]:
    from donkey_aicc.web.cockpit_exchange import plain

    scorer, governor = car.part_with("newest"), car.part_with("set_mode")
    found: dict[str, Callable[[], Any]] = {"ride": lambda: {name: plain(value) for name, value in book.shown().items()}}
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


def _heat(car: Assembly, monitor: "Monitor | None") -> Callable[[], Any] | None:
    """Where the last scored frame could not be rebuilt, against how well nominal frames can, and how blurry it is."""
    from donkey_aicc.alarm.signs import SIGN_NAMES
    from donkey_aicc.web.cockpit_exchange import heat_of

    scorer = car.part_with("newest")
    if scorer is None or monitor is None or monitor.calibrator is None or monitor.calibrator.statistics is None:
        return None
    sharpness = SIGN_NAMES.index("sharpness")
    nominal, alarm = monitor.calibrator.statistics.rho_raw.mu, monitor.calibrator.alarm

    def heat() -> str | None:
        newest = scorer.newest
        if newest is None or newest.squared_error is None:
            return None
        lost = 0.0 if alarm is None or newest.signs is None else alarm.scales.lost_detail(newest.signs[sharpness])
        return heat_of(newest.squared_error, nominal, lost)

    return heat
