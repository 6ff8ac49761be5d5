"""The monitor in the drive loop: prediction, confidence, alarm and governor before the drivetrain, scoring behind it."""

import gc
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from donkey_aicc import channels
from donkey_aicc.car.assembly import ALARM_CHANNELS, MONITOR_CHANNELS, Assembly
from donkey_aicc.car.drive_loop import after_last_image, inserting_at
from donkey_aicc.car.learning_wiring import monitor_health
from donkey_aicc.car.monitor_loading import Monitor
from donkey_aicc.errors import ConfigError

if TYPE_CHECKING:
    from donkey_aicc.alarm.brake import BrakeSettings
    from donkey_aicc.parts.frame_intake import FrameIntake
    from donkey_aicc.parts.right_of_way import RightOfWay
    from donkey_aicc.parts.world_model_scorer import WorldModelScorer

SCORE_CHANNELS = [
    channels.RHO,
    channels.DELTA,
    channels.SCORES_AGE_S,
    channels.SCORES_VALID,
    channels.SCORES_STATE,
    channels.SCORES,
]
SENT = [channels.STEERING, channels.THROTTLE]


@dataclass(frozen=True)
class Judgement:
    """What stands before the drivetrain, and the scorer that it reads."""

    scorer: "WorldModelScorer"
    alarm: Any | None


def add_intake(car: Assembly, monitor: Monitor | None) -> "FrameIntake | None":
    """Behind the last part that writes the image: what the tub will hold, resized once for the monitor and for our own pilot."""
    if monitor is None and not car.config.learns:
        return None
    from donkey_aicc.nets.vision_pilot import VisionPilot
    from donkey_aicc.parts.frame_intake import FrameIntake

    config, place = car.config, after_last_image(car.V.parts)
    intake = FrameIntake(frozen_s=config.frozen_s, tick_s=1.0 / car.cfg.DRIVE_LOOP_HZ if car.in_ticks else None)
    with inserting_at(car.V, place):
        car.V.add(intake, inputs=[channels.IMAGE, channels.CLEAN_IMAGE], outputs=[channels.FRAME, channels.MODEL_IMAGE])
    for entry in car.V.parts[place:]:
        if isinstance(entry["part"], VisionPilot):
            entry["inputs"] = [channels.MODEL_IMAGE if name == channels.IMAGE else name for name in entry["inputs"]]
    return intake


def add_judgement(car: Assembly, monitor: Monitor | None, intake: "FrameIntake | None") -> Judgement | None:
    """Before the drivetrain: this tick's prediction and the newest scores -> confidence, hazard and alarm."""
    if monitor is None or intake is None:
        return None
    from donkey_aicc.parts.monitor_status import MonitorStatus, NewestScores
    from donkey_aicc.parts.right_of_way import RightOfWay

    first = RightOfWay()
    scorer = _make_scorer(car, monitor, intake, first)
    car.V.add(NewestScores(scorer), outputs=[*SCORE_CHANNELS, channels.SIGNS])
    if monitor.bundle.has_predictor:
        _add_confidence(car, monitor, first, scorer)
    else:
        _add_status(car)
    _add_health(car, monitor, scorer)
    has_alarm = monitor.calibrator is not None and monitor.calibrator.alarm is not None
    alarm = _add_alarm(car, monitor, scorer) if has_alarm else None
    status = MonitorStatus(scorer) if alarm is None else MonitorStatus(scorer, lambda: str(alarm.today))
    car.V.add(status, inputs=[channels.STATUS], outputs=[channels.STATUS, channels.GRADE])
    return Judgement(scorer, alarm)


def _make_scorer(car: Assembly, monitor: Monitor, intake: "FrameIntake", first: "RightOfWay") -> "WorldModelScorer":
    from donkey_aicc.parts.world_model_scorer import WorldModelScorer

    config, calibrator = car.config, monitor.calibrator
    return WorldModelScorer(
        monitor.bundle,
        calibrator.statistics if calibrator is not None else None,
        monitor.settings,
        lower=[(each.settings, each.statistics) for each in monitor.lower],
        intake=intake,
        right_of_way=first if config.scorer_threaded else None,
        signs=calibrator.alarm.signs if calibrator is not None and calibrator.alarm is not None else None,
    )


def _add_confidence(car: Assembly, monitor: Monitor, first: "RightOfWay", scorer: "WorldModelScorer") -> None:
    from donkey_aicc.parts.anomaly_calibrator import AnomalyCalibrator
    from donkey_aicc.parts.safety_predictor import TTA, Restoring, SafetyPredictor

    calibrator, restoration = monitor.calibrator, monitor.settings.restoration
    tta = TTA(
        SafetyPredictor(monitor.bundle, scorer.intake),
        monitor.settings,
        details=True,
        statistics=calibrator.statistics if calibrator is not None else None,
        score_names=(*calibrator.score_names, "tta_spread", "hindsight") if calibrator is not None else (),  # the alarm's, too
        right_of_way=first,
        restoring=None if restoration is None else Restoring(restoration, lambda: scorer.newest),
    )
    max_age_s = car.config.max_score_age_s
    confidence = monitor.by_grade(lambda fitted: AnomalyCalibrator(fitted, monitor.bundle.horizons, max_age_s=max_age_s), scorer)
    p = channels.P_TTA if calibrator is None else f"aicc/{calibrator.starts_from}"
    car.V.add(tta, inputs=[channels.FRAME, channels.STEERING], outputs=list(TTA.DETAILS))
    said = [channels.CONFIDENCE, channels.CONFIDENCE_MIN, channels.STATUS]
    car.V.add(confidence, inputs=[p, *SCORE_CHANNELS, channels.FRAME_SCORES, channels.SIGNS], outputs=said)
    car.recorded |= MONITOR_CHANNELS


def _add_health(car: Assembly, monitor: Monitor, scorer: "WorldModelScorer") -> None:
    """Whether the monitor sees, whatever it computes."""
    from donkey_aicc.parts.monitor_status import HealthCheck

    read = [channels.FRAME, channels.SCORES_STATE, *([channels.P_TTA] if monitor.bundle.has_predictor else [])]
    car.V.add(HealthCheck(scorer, monitor_health(car)), inputs=read, outputs=[channels.HEALTH])
    car.recorded[channels.HEALTH] = "str"


def _add_status(car: Assembly) -> None:
    """A bundle trained without labels: rho, delta and a status that says what is missing."""
    from donkey_aicc.parts.monitor_status import NoConfidence
    from donkey_aicc.parts.safety_predictor import TTA

    car.V.add(NoConfidence(), inputs=[channels.SCORES_STATE], outputs=[channels.STATUS])
    predicted = (*TTA.DETAILS, channels.CONFIDENCE, channels.CONFIDENCE_MIN)
    car.recorded |= {name: kind for name, kind in MONITOR_CHANNELS.items() if name not in predicted}


def _add_alarm(car: Assembly, monitor: Monitor, scorer: "WorldModelScorer") -> Any:
    from donkey_aicc.parts.alarm_memory import AlarmMemory
    from donkey_aicc.parts.departure_alarm import DepartureAlarm

    horizons = tuple(int(step) for step in monitor.bundle.horizons)
    # A simulated drive is the same every time: nothing is remembered there.
    memory = None if car.config.sim else AlarmMemory(monitor.bundle.calibrator_path)

    def part(fitted: Any) -> DepartureAlarm:
        return DepartureAlarm(fitted.alarm, horizons, memory=memory, first_lap_is_normal=car.config.today)

    alarm = monitor.by_grade(part, scorer)
    read = [channels.SIGNS, channels.P_RESTORED, channels.FRAME_SCORES, channels.HEALTH, channels.MODE]
    car.V.add(alarm, inputs=read, outputs=[channels.HAZARD, channels.ALARM, channels.REASON])
    car.recorded |= ALARM_CHANNELS
    return alarm


def add_fresh_laps(car: Assembly, monitor: Monitor | None) -> None:
    """Before the tub, where somebody wants laps for the alarm's thresholds."""
    if car.config.alarm_laps is None:
        return
    from donkey_aicc.alarm.pieces import Piece
    from donkey_aicc.parts.fresh_laps import FreshLaps

    alarm = None if monitor is None or monitor.calibrator is None else monitor.calibrator.alarm
    name = "BUNDLE" if monitor is None else monitor.bundle.path.name
    command = f"donkey-aicc calibrate --bundle {name} --data THE_TUBS_IT_WAS_TRAINED_ON --alarm-drives {car.cfg.DATA_PATH}"
    laps = FreshLaps(car.config.alarm_laps, Piece() if alarm is None else alarm.piece, command)
    car.V.add(laps, inputs=["recording", channels.THROTTLE], outputs=["recording"])


def add_governor(car: Assembly, monitor: Monitor | None) -> None:
    """Before the drivetrain, behind the alarm that it acts on in the same tick. With mode off it waits for the cockpit."""
    alarm = None if monitor is None or monitor.calibrator is None else monitor.calibrator.alarm
    if monitor is None or alarm is None:
        if car.config.governor != "off":
            raise ConfigError(
                f"AICC_GOVERNOR = {car.config.governor!r} acts on the alarm, and AICC_BUNDLE = {car.config.bundle!r} has none: "
                "make it with donkey-aicc calibrate, or set AICC_GOVERNOR = 'off'"
            )
        return
    from donkey_aicc.alarm.governor_policy import GovernorPolicy
    from donkey_aicc.parts.safety_governor import SafetyGovernor

    policy = GovernorPolicy(
        car.config.governor, cruise=alarm.cruise, stop_hazard=alarm.stop_hazard, brake=brake_of(car), clock=car.clock()
    )
    governor = SafetyGovernor(policy, alarm.hazard.horizons if alarm.hazard is not None else ())
    inputs = [channels.ALARM, channels.HAZARD, channels.THROTTLE, channels.MODE, channels.HEALTH, channels.FRAME]
    inputs.append(speed_channel(car.V))
    car.V.add(governor, inputs=inputs, outputs=[channels.THROTTLE, channels.ACTION])
    car.recorded[channels.ACTION] = "str"


def brake_of(car: Assembly) -> "BrakeSettings":
    """How this car brakes. A real one, whose brake nobody has tried, coasts; that is said at the start."""
    from donkey_aicc.alarm.brake import COASTS, SIMULATED, BrakeSettings

    config = car.config
    if config.brake_throttle is None:
        if config.sim:
            return replace(SIMULATED, kind=config.sim_esc)
        if config.governor == "stop":
            car.said.append("a STOP ONLY COASTS, because this car's brake was never tried: donkey-aicc brake-test")
        return COASTS
    found = BrakeSettings(config.brake_throttle, config.brake_s, config.brake_lag_s, config.brake_kind)
    if not found.brakes and config.governor == "stop":
        car.said.append(f"a stop coasts: AICC_BRAKE_{'THROTTLE' if config.brake_throttle == 0.0 else 'S'} is 0")
    return found


def speed_channel(V: Any) -> str:
    """Where this car's speed is measured; nothing writes the last one if nowhere."""
    written = {name for entry in V.parts for name in entry["outputs"]}
    return next((name for name in (channels.ODOMETER_SPEED, channels.SPEED) if name in written), channels.SPEED)


def add_scoring(car: Assembly, judgement: Judgement | None) -> None:
    """Behind the drivetrain: the scorer gets the commands that were really sent; after a put-back a new sequence starts.

    What it finds is judged in the next tick: a record holds the scores that its confidence and its alarm were made of.
    """
    if judgement is None:
        return
    from donkey_aicc.parts.frame_intake import SequenceStart

    car.V.add(judgement.scorer, inputs=[channels.FRAME, *SENT], outputs=[channels.SCORED], threaded=car.config.scorer_threaded)
    if car.config.sim:
        forgetful = [judgement.scorer.intake] if judgement.alarm is None else [judgement.scorer.intake, judgement.alarm]
        car.V.add(SequenceStart(*forgetful), inputs=[channels.HIT])


def keep_models_out_of_garbage_collection() -> None:
    """Nets and libraries stay; a collection that walks through all of them takes a tick of the drive loop."""
    gc.collect()
    gc.freeze()
