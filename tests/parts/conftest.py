"""A small monitor for the parts' scenarios: untrained nets, a short context, statistics of the frames it will see."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import HISTORY, Manifest
from donkey_aicc.nets.own_predictor import register_predictor
from donkey_aicc.nets.preprocess import LAGS, input_channels, to_model_image
from donkey_aicc.nets.trained_nets import Nets, load_nets, save_bundle
from donkey_aicc.nets.use_predictor import use_predictor
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.monitor_stream import MonitorStream
from donkey_aicc.scoring.score_table import HORIZONS, ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.statistics import Normaliser, ScoreStatistics
from donkey_aicc.scoring.stream import StreamScorer
from tests.parts.streams import Streams

CONTEXT = 8
SMALL = ScoreSettings(samples=2, rollout_steps=3, rollout_every=3, context=CONTEXT)


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def camera_frame(number: int) -> np.ndarray:
    """(120, 160, 3) grey with noise: no two are alike."""
    rng = np.random.default_rng([7, number])
    return rng.integers(90, 166, (120, 160, 3)).astype(np.uint8)


def command_of(number: int) -> tuple[float, float]:
    return float(0.3 * np.sin(number / 3.0)), 0.25


@pytest.fixture(scope="session")
def bundle(tmp_path_factory):
    torch.manual_seed(0)
    nets = Nets(VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS)))
    manifest = Manifest(horizons=list(HORIZONS), action_stats={"mean": [0.0, 0.25], "std": [0.2, 0.05]}, context=CONTEXT)
    folder = tmp_path_factory.mktemp("bundle") / "tiny"
    save_bundle(folder, nets, manifest)
    return Bundle.load(folder)


@pytest.fixture(scope="session")
def history_bundle(bundle, tmp_path_factory):
    """The same world model, and a predictor that looks at several frames and commands."""
    torch.manual_seed(1)
    safety = SafetyCNN(len(HORIZONS), inputs=input_channels(LAGS))
    manifest = replace(bundle.manifest, predictor=HISTORY, lags=list(LAGS))
    folder = tmp_path_factory.mktemp("bundle") / "history"
    save_bundle(folder, replace(load_nets(bundle), safety=safety), manifest)
    return Bundle.load(folder)


def mine(frames, steering):
    """Somebody's own safety predictor: of brightness now and before, and of the steering."""
    light = frames.mean(axis=(2, 3, 4))
    near = 0.5 + 0.4 * np.sin(9.0 * light[:, :1] - 5.0 * light[:, 1:2] + steering[:, :1])
    return near ** np.linspace(1.0, 2.0, 4), light


@pytest.fixture(scope="session")
def own_bundle(bundle, tmp_path_factory):
    """The same world model, and a predictor of its owner's."""
    register_predictor("mine", mine, horizons=(1, 10, 15, 50), lags=(0, 3))
    return Bundle.load(use_predictor(bundle.path, "mine", tmp_path_factory.mktemp("bundle") / "own"))


@pytest.fixture(scope="session")
def statistics(bundle):
    """Nominal are the frames of `camera_frame` under the commands of `command_of`."""
    stream = StreamScorer(bundle, SMALL)
    found = [stream.step(to_model_image(camera_frame(n))[None], np.array([command_of(n)])) for n in range(40)][CONTEXT:]
    rho = np.array([scores.rho_raw[0] for scores in found])
    features = np.stack([scores.features[0] for scores in found])
    latent = np.stack([scores.latent[0] for scores in found])
    rows = len(found)

    def unknown(columns):
        return np.full((rows, columns), np.nan)

    table = ScoreTable(
        horizons=np.array(HORIZONS),
        sequence=np.array(["a", "b"] * (rows // 2)),
        index=np.arange(rows),
        step=np.arange(rows),
        p_safe=unknown(len(HORIZONS)),
        p_tta=unknown(len(HORIZONS)),
        tta_spread=np.random.default_rng(0).uniform(0.0, 0.02, (rows, len(HORIZONS))),
        rho_raw=rho,
        features=features,
        latent=latent,
        cnn_features=np.random.default_rng(1).normal(0.0, 1.0, (rows, 128)),
        mc_dropout=unknown(len(HORIZONS)),
        valid=np.ones(rows, dtype=bool),
        labels=unknown(len(HORIZONS)),
        cte=unknown(1)[:, 0],
        protocol=np.full(rows, ""),
        severity=np.zeros(rows, dtype=np.int64),
    )
    fitted = ScoreStatistics.fit(table, regularisation=1e-3)
    return replace(fitted, rho_raw=Normaliser(fitted.rho_raw.mu, 0.05 * fitted.rho_raw.mu))


@pytest.fixture
def calibrator(statistics):
    fitted = AnomalyTemperature()
    fitted.temperatures = {horizon: 1.0 + horizon / 50 for horizon in HORIZONS}
    fitted.weights = {"rho": 1.2, "delta": 0.8}
    fitted.statistics = statistics
    return fitted


@pytest.fixture
def camera():
    """number -> frame."""
    return camera_frame


@pytest.fixture
def commands():
    """number -> (steering, throttle)."""
    return command_of


@pytest.fixture
def small():
    """Settings that keep scoring cheap."""
    return {"settings": SMALL}


@pytest.fixture
def context():
    """Frames until the scores are valid."""
    return CONTEXT


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def streams(bundle, statistics):
    """The scorer's streams, as it would make them itself, for a test to watch and to disturb."""
    return Streams(lambda pause: MonitorStream(bundle, statistics, SMALL, pause=pause))


@pytest.fixture
def intake(clock):
    """What the monitor's parts share, on the clock of the test."""
    return FrameIntake(clock=clock)
