"""The monitor in the drive loop: prediction and confidence before the drivetrain, scoring behind it."""

import gc
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc import channels
from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.tub_channels import MONITOR_CHANNELS
from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.manifest import read_manifest
from donkey_aicc.resources import models_dir
from donkey_aicc.scoring.settings import MAX_GAP_S, ScoreSettings

if TYPE_CHECKING:
    from donkey_aicc.calibration.base import Calibrator
    from donkey_aicc.nets.bundle import Bundle
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


def bundle_path(name: str) -> Path:
    """A folder of the user's, or a shipped bundle by its name."""
    path = Path(name).expanduser()
    shipped = models_dir() / name
    return shipped if not path.exists() and shipped.is_dir() else path


def add_governor(car: Assembly) -> None:
    """Before the drivetrain: less confidence, less throttle."""
    if not car.config.governor:
        return
    from donkey_aicc.parts.safety_governor import SafetyGovernor

    config = car.config
    manifest = read_manifest(bundle_path(str(config.bundle)))
    if not manifest.has_predictor:
        raise ConfigError(
            f"AICC_GOVERNOR = True needs a confidence, and AICC_BUNDLE = {config.bundle!r} was trained without labels: it has "
            "none. Label and train again, or set AICC_GOVERNOR = False"
        )
    horizons = tuple(manifest.horizons)
    governor = SafetyGovernor(config.governor_stop_at, config.governor_full_at, horizons, config.governor_horizon)
    inputs = [channels.CONFIDENCE, channels.THROTTLE, channels.MODE]
    car.V.add(governor, inputs=inputs, outputs=[channels.THROTTLE, channels.ACTION])
    car.recorded[channels.ACTION] = "str"


def add_monitor(car: Assembly, monitor: Monitor | None) -> None:
    """Predictor and TTA in one pass, the scorer, the calibrator; after a put-back a new sequence."""
    if monitor is None:
        return
    from donkey_aicc.parts.anomaly_calibrator import AnomalyCalibrator
    from donkey_aicc.parts.right_of_way import RightOfWay
    from donkey_aicc.parts.safety_predictor import SafetyPredictor
    from donkey_aicc.parts.sequence_start import SequenceStart
    from donkey_aicc.parts.tta import TTA
    from donkey_aicc.parts.world_model_scorer import WorldModelScorer

    config, calibrator, V = car.config, monitor.calibrator, car.V
    statistics = calibrator.statistics if calibrator is not None else None
    # A simulated drive that does not follow the wall clock has no gaps in time.
    gap_s = math.inf if config.sim and not config.scorer_threaded else MAX_GAP_S
    first = RightOfWay()
    scorer = WorldModelScorer(
        monitor.bundle,
        statistics,
        monitor.settings,
        threads=config.scorer_threads,
        frozen_frames=config.frozen_frames,
        gap_s=gap_s,
        right_of_way=first if config.scorer_threaded else None,
    )
    if not monitor.bundle.has_predictor:
        _add_scores_only(car, scorer)
        return
    tta = TTA(
        SafetyPredictor(monitor.bundle),
        monitor.settings.views,
        monitor.settings.seed,
        details=True,
        statistics=statistics,
        score_names=calibrator.score_names if calibrator is not None else (),
        gap_s=gap_s,
        right_of_way=first,
    )
    confidence = AnomalyCalibrator(calibrator, monitor.bundle.horizons, max_age_s=config.max_score_age_s)
    p = channels.P_TTA if calibrator is None or calibrator.uses_tta else channels.P_SAFE
    V.add(tta, inputs=[channels.IMAGE, *SENT], outputs=[channels.P_TTA, channels.P_SAFE, channels.FRAME_SCORES])
    V.add(scorer, inputs=[channels.IMAGE, *SENT], outputs=SCORES, threaded=config.scorer_threaded)
    said = [channels.CONFIDENCE, channels.CONFIDENCE_MIN, channels.STATUS]
    V.add(confidence, inputs=[p, *SCORES, channels.FRAME_SCORES], outputs=said)
    if config.sim:
        V.add(SequenceStart(tta, scorer), inputs=[channels.HIT])
    car.recorded |= MONITOR_CHANNELS


def _add_scores_only(car: Assembly, scorer: "WorldModelScorer") -> None:
    """A bundle trained without labels: rho, delta and a status that says what is missing."""
    from donkey_aicc.parts.no_confidence import NoConfidence
    from donkey_aicc.parts.sequence_start import SequenceStart

    car.V.add(scorer, inputs=[channels.IMAGE, *SENT], outputs=SCORES, threaded=car.config.scorer_threaded)
    car.V.add(NoConfidence(), inputs=[channels.SCORES_STATE], outputs=[channels.STATUS])
    if car.config.sim:
        car.V.add(SequenceStart(scorer), inputs=[channels.HIT])
    predicted = (channels.P_SAFE, channels.P_TTA, channels.CONFIDENCE, channels.CONFIDENCE_MIN)
    car.recorded |= {name: kind for name, kind in MONITOR_CHANNELS.items() if name not in predicted}


def keep_models_out_of_garbage_collection() -> None:
    """Nets and libraries stay; a collection that walks through all of them takes a tick of the drive loop."""
    gc.collect()
    gc.freeze()
