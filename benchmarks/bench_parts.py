"""The monitor's parts: cost per frame, each alone on one thread. bench_loop.py has them in the whole car.

The nets are untrained: their weights do not change what they cost.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.nets.bundle import Bundle, Nets, save_bundle
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import Manifest
from donkey_aicc.nets.safety_cnn import SafetyCNN
from donkey_aicc.nets.vae import VAE
from donkey_aicc.parts.anomaly_calibrator import AnomalyCalibrator
from donkey_aicc.parts.safety_predictor import SafetyPredictor
from donkey_aicc.parts.tta import TTA
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from donkey_aicc.scoring.score_table import HORIZONS, ScoreTable

CONTROL_PATH_LIMIT_MS = 15.0


def make_bundle(folder: Path) -> Bundle:
    manifest = Manifest(horizons=list(HORIZONS), action_stats={"mean": [0.0, 0.3], "std": [0.2, 0.05]})
    save_bundle(folder, Nets(VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS))), manifest)
    return Bundle.load(folder)


def make_calibrator(rows: int = 200) -> AnomalyTemperature:
    rng = np.random.default_rng(0)

    def unknown(columns: int) -> np.ndarray:
        return np.full((rows, columns), np.nan)

    table = ScoreTable(
        horizons=np.array(HORIZONS),
        sequence=np.array(["a", "b"] * (rows // 2)),
        index=np.arange(rows),
        step=np.arange(rows),
        p_safe=unknown(len(HORIZONS)),
        p_tta=unknown(len(HORIZONS)),
        tta_spread=unknown(len(HORIZONS)),
        rho_raw=rng.uniform(0.1, 0.2, rows),
        features=rng.normal(size=(rows, 12)),
        latent=rng.normal(size=(rows, 64)),
        cnn_features=unknown(128),
        mc_dropout=unknown(len(HORIZONS)),
        valid=np.ones(rows, dtype=bool),
        labels=unknown(len(HORIZONS)),
        cte=unknown(1)[:, 0],
        protocol=np.full(rows, ""),
        severity=np.zeros(rows, dtype=np.int64),
    )
    calibrator = AnomalyTemperature()
    calibrator.temperatures = dict.fromkeys(HORIZONS, 1.5)
    calibrator.weights = {"rho": 1.0, "delta": 1.0}
    calibrator.statistics = ScoreStatistics.fit(table)
    return calibrator


def frames(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (120, 160, 3), dtype=np.uint8) for _ in range(count)]


def told(name: str, times_ms: list[float]) -> None:
    p50, p99 = np.percentile(times_ms, [50, 99])
    print(f"{name:<28} mean {np.mean(times_ms):7.2f} ms  p50 {p50:7.2f} ms  p99 {p99:7.2f} ms")


def bench_costs(bundle: Bundle, calibrator: AnomalyTemperature) -> None:
    """Each part alone, on one thread."""
    predictor = SafetyPredictor(bundle)
    tta = TTA(predictor, details=True)
    scorer = WorldModelScorer(bundle, calibrator.statistics, calibrator.settings)
    part = AnomalyCalibrator(calibrator, bundle.horizons)
    times: dict[str, list[float]] = {name: [] for name in ("predictor", "TTA (9 views)", "scorer", "calibrator", "control path")}
    for number, image in enumerate(frames(240)):
        marks = [time.perf_counter()]
        predictor.run(image, 0.1)
        marks.append(time.perf_counter())
        p_tta, _, frame_scores = tta.run(image, 0.1)
        marks.append(time.perf_counter())
        scored = scorer.run(image, 0.1, 0.3)
        marks.append(time.perf_counter())
        part.run(p_tta, *scored, frame_scores)
        marks.append(time.perf_counter())
        if number >= 40:  # the first frames pay for set-up inside torch
            spent = 1e3 * np.diff(marks)
            for name, value in zip(times, [*spent, spent[1] + spent[3]], strict=True):
                times[name].append(float(value))
    for name, values in times.items():
        told(name, values)
    share = np.percentile(times["control path"], 99) / CONTROL_PATH_LIMIT_MS
    print(f"control path (TTA with the prediction, calibrator): p99 is {share:.0%} of {CONTROL_PATH_LIMIT_MS:g} ms")


def main() -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        bench_costs(make_bundle(Path(folder) / "bundle"), make_calibrator())


if __name__ == "__main__":
    main()
