"""Milliseconds of each component on this machine, one frame at a time, for the runtime table.

CPU time of one thread, so that other work on the machine does not count; on an idle machine it equals the wall clock.
"""

import platform
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.cold_start import cold_disagreement, cold_prediction
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.catalogue import OURS, make_calibrator
from donkey_aicc.calibration.pool import FOLDS, build_pool
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.engine import Engine, StepMasks, initial_state
from donkey_aicc.nets.preprocess import HIDDEN, IMAGE_SIZE, LATENT_CHANNELS, POSITIONS, images_to_array
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.score_table import FEATURE_NAMES, ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.scoring.stream import StreamScorer
from donkey_aicc.scoring.tta_views import predict_tta

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

REPEATS = 15
TIMED = {"temperature": "temperature", OURS: "ours", "dac": "dac"}  # row of the catalogue -> its name in the runtime table


def cost_ms(run: Callable[[], object], repeats: int) -> float:
    """Median CPU time of one call, after a first one that does not count."""
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(1e3 * (time.process_time() - start))
    return float(np.median(times))


def timed_calibrators(calibration: ScoreTable, augmented: ScoreTable) -> dict[str, Calibrator]:
    """Fitted on everything; one that these scores do not suffice for is left out."""
    sequences = len(calibration.select(calibration.valid.astype(bool)).sequences())
    pool = build_pool(calibration, augmented, folds=min(FOLDS, sequences))
    found = {}
    for name in TIMED:
        try:
            found[name] = make_calibrator(name).fit(pool.nominal, pool)
        except AiccError:
            continue
    return found


def measure_runtime(
    bundle: "Bundle",
    calibrators: Mapping[str, Calibrator] | None = None,
    settings: ScoreSettings | None = None,
    repeats: int = REPEATS,
) -> dict[str, Any]:
    """What the report's runtime table shows; calibrators: fitted rows named as in TIMED."""
    settings = settings or ScoreSettings(context=bundle.manifest.context)
    components = _nets(bundle, settings, repeats) | _pipelines(bundle, settings, repeats)
    components |= _calibration(calibrators or {}, bundle.horizons, repeats)
    return {"device": f"one thread of {platform.machine()}, CPU time", "components_ms": components | _totals(components)}


def _totals(ms: Mapping[str, float]) -> dict[str, float]:
    """One frame from nothing, added up from the parts as the paper does it; without a calibrator, nothing for it."""
    world_model = ms["vae_encode_context"] + ms["dynamics_deterministic"] + ms["vae_decode"]
    base = world_model + ms["predictor"] + ms.get("calibrate_temperature", 0.0)
    with_tta = base - ms["predictor"] + ms["tta"]
    scores = ms["dynamics_dropout"] + ms["rho"] + ms.get("delta", 0.0) + ms.get("calibrate_ours", 0.0)
    return {"cold_start_base": base, "cold_start_tta": with_tta, "cold_start_full": with_tta + scores}


def _frames(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Made-up frames and commands: the cost does not depend on what they show."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, IMAGE_SIZE, IMAGE_SIZE, 3), dtype=np.uint8)
    return images, rng.uniform(-1.0, 1.0, (count, 2)).astype(np.float32)


def _nets(bundle: "Bundle", settings: ScoreSettings, repeats: int) -> dict[str, float]:
    images, actions = _frames(settings.context)
    context, commands = images_to_array(images), bundle.action_stats.normalise(actions)
    one, randomness, latents = context[:1], FrameRandomness(0, settings.samples), bundle.encode(context)
    few = max(1, repeats // 5)
    step = step_ms(bundle, settings.samples, repeats)
    return {
        "vae_encode": cost_ms(lambda: bundle.encode(one), repeats),
        "vae_decode": cost_ms(lambda: bundle.decode(latents[:1]), repeats),
        "vae_encode_context": cost_ms(lambda: bundle.encode(context), few),
        "rho": cost_ms(lambda: bundle.decode(bundle.encode(context)), few),
        "dynamics_deterministic": cost_ms(lambda: cold_prediction(bundle, latents, commands, settings.rollout_steps), 1),
        "dynamics_dropout": cost_ms(lambda: cold_disagreement(bundle, latents, commands, 0, settings), 1),
        "dynamics_step": step,
        "dynamics_rollout": step * (settings.rollout_steps - 1),
        "predictor": cost_ms(lambda: bundle.predict(one), repeats),
        "tta": cost_ms(lambda: predict_tta(bundle, one, randomness.tta(0), settings.views), repeats),
    }


def step_ms(engine: Engine, samples: int, repeats: int, lanes: int = 1) -> float:
    """One step of the dynamics net."""
    z = np.zeros((POSITIONS, lanes, samples, LATENT_CHANNELS), np.float32)
    masks = StepMasks(np.ones((2, samples, HIDDEN), np.float32), np.ones((1, samples, HIDDEN), np.float32))
    command, state = engine.command(np.zeros((lanes, 2), np.float32)), initial_state(lanes, samples)
    return cost_ms(lambda: engine.step(z, command, state, masks), repeats)


def _pipelines(bundle: "Bundle", settings: ScoreSettings, repeats: int) -> dict[str, float]:
    images, actions = _frames(settings.context)
    randomness = FrameRandomness(0, settings.samples)

    def predict() -> object:
        return predict_tta(bundle, images_to_array(images[:1]), randomness.tta(0), settings.views)

    return {
        "streaming_control_path": cost_ms(predict, repeats),
        "streaming_scoring": _streaming_ms(bundle, settings, images, actions),
    }


def _streaming_ms(bundle: "Bundle", settings: ScoreSettings, images: np.ndarray, actions: np.ndarray) -> float:
    """Average over whole periods of the rollout, after a first frame that does not count."""
    scorer = StreamScorer(bundle, settings)
    frames = min(2 * settings.rollout_every, len(images) - 1)
    scorer.step(images[:1], actions[:1])
    start = time.process_time()
    for number in range(1, frames + 1):
        scorer.step(images[number : number + 1], actions[number : number + 1])
    return 1e3 * (time.process_time() - start) / frames


def _calibration(calibrators: Mapping[str, Calibrator], horizons: tuple[int, ...], repeats: int) -> dict[str, float]:
    found = {}
    for name, key in TIMED.items():
        calibrator = calibrators.get(name)
        if calibrator is None:
            continue
        statistics = calibrator.statistics
        if name == OURS and statistics is not None:
            found["delta"] = _delta_ms(statistics, repeats)
        found[f"calibrate_{key}"] = cost_ms(_one_frame(calibrator, statistics, horizons), repeats)
    return found


def _delta_ms(statistics: ScoreStatistics, repeats: int) -> float:
    features = np.zeros(len(FEATURE_NAMES))
    return cost_ms(lambda: statistics.delta(features), repeats)


def _one_frame(calibrator: Calibrator, statistics: ScoreStatistics | None, horizons: tuple[int, ...]) -> Callable[[], object]:
    """All horizons of one frame; DAC's search for neighbours belongs to it."""
    p, zero = np.array([0.7]), {name: np.zeros(1) for name in calibrator.score_names}
    density = statistics.density if statistics is not None and "dac" in calibrator.score_names else None

    def run() -> object:
        scores = zero
        if density is not None:
            probe = density.references[:1]
            scores = {"dac": np.clip(density.dac_from_distance(density.distance(probe)), 0.0, 1.0)}
        return [calibrator.calibrate(p, scores, horizon) for horizon in horizons]

    return run
