"""The monitor in the drive loop: prediction, confidence, alarm and governor before the drivetrain, scoring behind it."""

import gc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from donkey_aicc import channels
from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.bundles import bundle_path
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.tub_channels import ALARM_CHANNELS, MONITOR_CHANNELS
from donkey_aicc.errors import ConfigError
from donkey_aicc.scoring.settings import MAX_GAP_S, ScoreSettings

if TYPE_CHECKING:
    from donkey_aicc.calibration.base import Calibrator
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.parts.right_of_way import RightOfWay
    from donkey_aicc.parts.world_model_scorer import WorldModelScorer

SCORES = [channels.RHO, channels.DELTA, channels.SCORES_AGE_S, channels.SCORES_VALID, channels.SCORES_STATE, channels.SCORES]
SENT = [channels.STEERING, channels.THROTTLE]


@dataclass(frozen=True)
class Monitor:
    """The loaded models of this drive."""

    bundle: "Bundle"
    calibrator: "Calibrator | None"
    settings: ScoreSettings


def load_monitor(car: Assembly) -> Monitor | None:
    """The models that AICC_BUNDLE names; None without one."""
    if car.config.bundle is None:
        return None
    import torch

    from donkey_aicc.nets.bundle import Bundle

    torch.set_num_threads(car.config.control_threads)  # of this thread, which is the one that drives
    bundle = Bundle.load(bundle_path(car.config.bundle))
    calibrator = _load_calibrator(bundle)
    return Monitor(bundle, calibrator, _score_settings(car.config, bundle, calibrator))


def _load_calibrator(bundle: "Bundle") -> Any:
    from donkey_aicc.calibration.calibrator_file import load_calibrator

    if not bundle.calibrator_path.is_file():
        print(f"{bundle.path} has no calibrator: confidence stays at 0.5 or below. Make one with: donkey-aicc calibrate")
        return None
    return load_calibrator(bundle)


def _score_settings(config: AiccConfig, bundle: "Bundle", calibrator: "Calibrator | None") -> ScoreSettings:
    """Those that the calibrator was fitted with; the keys of myconfig.py count only where nothing was fitted."""
    keys = {"views": "tta_views", "samples": "score_samples", "rollout_every": "rollout_every", "seed": "monitor_seed"}
    given = {name: getattr(config, key) for name, key in keys.items()}
    if calibrator is None:
        return ScoreSettings(context=bundle.manifest.context, **{name: v for name, v in given.items() if v is not None})
    calibrator.settings.refuse_others({name: (f"AICC_{keys[name].upper()}", value) for name, value in given.items()})
    return calibrator.settings


@dataclass(frozen=True)
class Judgement:
    """What stands before the drivetrain and must know when a new sequence starts, and the scorer that it reads."""

    scorer: "WorldModelScorer"
    others: tuple[Any, ...]


def add_judgement(car: Assembly, monitor: Monitor | None) -> Judgement | None:
    """Before the drivetrain: this tick's prediction and the newest scores -> confidence, hazard and alarm."""
    if monitor is None:
        return None
    from donkey_aicc.parts.newest_scores import NewestScores
    from donkey_aicc.parts.right_of_way import RightOfWay

    first = RightOfWay()
    scorer = _make_scorer(car, monitor, first)
    car.V.add(NewestScores(scorer), outputs=[*SCORES, channels.SIGNS])
    others = [_add_confidence(car, monitor, first)] if monitor.bundle.has_predictor else _add_status(car)
    if monitor.calibrator is not None and monitor.calibrator.alarm is not None:
        others.append(_add_alarm(car, monitor))
    return Judgement(scorer, tuple(others))


def _make_scorer(car: Assembly, monitor: Monitor, first: "RightOfWay") -> "WorldModelScorer":
    from donkey_aicc.parts.world_model_scorer import WorldModelScorer

    config, calibrator = car.config, monitor.calibrator
    return WorldModelScorer(
        monitor.bundle,
        calibrator.statistics if calibrator is not None else None,
        monitor.settings,
        threads=config.scorer_threads,
        frozen_frames=config.frozen_frames,
        gap_s=_gap_s(config),
        right_of_way=first if config.scorer_threaded else None,
        reaction=calibrator.alarm.reaction if calibrator is not None and calibrator.alarm is not None else None,
    )


def _gap_s(config: AiccConfig) -> float:
    """A simulated drive that does not follow the wall clock has no gaps in time."""
    return math.inf if config.sim and not config.scorer_threaded else MAX_GAP_S


def _add_confidence(car: Assembly, monitor: Monitor, first: "RightOfWay") -> Any:
    from donkey_aicc.parts.anomaly_calibrator import AnomalyCalibrator
    from donkey_aicc.parts.safety_predictor import SafetyPredictor
    from donkey_aicc.parts.tta import TTA

    calibrator = monitor.calibrator
    tta = TTA(
        SafetyPredictor(monitor.bundle),
        monitor.settings.views,
        monitor.settings.seed,
        details=True,
        statistics=calibrator.statistics if calibrator is not None else None,
        score_names=(*calibrator.score_names, "tta_spread") if calibrator is not None else (),  # the alarm's, too
        gap_s=_gap_s(car.config),
        right_of_way=first,
    )
    confidence = AnomalyCalibrator(calibrator, monitor.bundle.horizons, max_age_s=car.config.max_score_age_s)
    p = channels.P_TTA if calibrator is None or calibrator.uses_tta else channels.P_SAFE
    car.V.add(tta, inputs=[channels.IMAGE, channels.STEERING], outputs=[channels.P_TTA, channels.P_SAFE, channels.FRAME_SCORES])
    said = [channels.CONFIDENCE, channels.CONFIDENCE_MIN, channels.STATUS]
    car.V.add(confidence, inputs=[p, *SCORES, channels.FRAME_SCORES], outputs=said)
    car.recorded |= MONITOR_CHANNELS
    return tta


def _add_status(car: Assembly) -> list[Any]:
    """A bundle trained without labels: rho, delta and a status that says what is missing."""
    from donkey_aicc.parts.no_confidence import NoConfidence

    car.V.add(NoConfidence(), inputs=[channels.SCORES_STATE], outputs=[channels.STATUS])
    predicted = (channels.P_SAFE, channels.P_TTA, channels.CONFIDENCE, channels.CONFIDENCE_MIN)
    car.recorded |= {name: kind for name, kind in MONITOR_CHANNELS.items() if name not in predicted}
    return []


def _add_alarm(car: Assembly, monitor: Monitor) -> Any:
    from donkey_aicc.parts.departure_alarm import DepartureAlarm

    assert monitor.calibrator is not None and monitor.calibrator.alarm is not None
    horizons = tuple(int(step) for step in monitor.bundle.horizons)
    alarm = DepartureAlarm(monitor.calibrator.alarm, horizons, max_age_s=car.config.max_score_age_s)
    read = [channels.SIGNS, channels.P_TTA, channels.FRAME_SCORES, channels.SCORES_STATE, channels.SCORES_AGE_S]
    car.V.add(alarm, inputs=read, outputs=[channels.HAZARD, channels.ALARM, channels.REASON])
    car.recorded |= ALARM_CHANNELS
    return alarm


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
    from donkey_aicc.parts.governor_policy import GovernorPolicy
    from donkey_aicc.parts.safety_governor import SafetyGovernor

    policy = GovernorPolicy(car.config.governor, cruise=alarm.cruise, stop_hazard=alarm.stop_hazard)
    governor = SafetyGovernor(policy, alarm.hazard.horizons if alarm.hazard is not None else ())
    inputs = [channels.ALARM, channels.HAZARD, channels.THROTTLE, channels.MODE]
    car.V.add(governor, inputs=inputs, outputs=[channels.THROTTLE, channels.ACTION])
    car.recorded[channels.ACTION] = "str"


def add_scoring(car: Assembly, judgement: Judgement | None) -> None:
    """Behind the drivetrain: the scorer gets the commands that were really sent; after a put-back a new sequence starts.

    Its outputs are what the tub records beside this frame; the next tick's judgement reads them afresh.
    """
    if judgement is None:
        return
    from donkey_aicc.parts.sequence_start import SequenceStart

    car.V.add(judgement.scorer, inputs=[channels.IMAGE, *SENT], outputs=SCORES, threaded=car.config.scorer_threaded)
    if car.config.sim:
        car.V.add(SequenceStart(*judgement.others, judgement.scorer), inputs=[channels.HIT])


def keep_models_out_of_garbage_collection() -> None:
    """Nets and libraries stay; a collection that walks through all of them takes a tick of the drive loop."""
    gc.collect()
    gc.freeze()
