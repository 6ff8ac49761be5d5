"""`donkey-aicc evaluate` from tubs on disk to a report, and what it refuses before it scores a single frame."""

import json
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from donkeycar.parts.tub_v2 import Tub

from donkey_aicc.calibration import augmented_drives, calibrating
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.calibrating import fit_calibrator
from donkey_aicc.calibration.calibrator_file import load_calibrator, save_calibrator
from donkey_aicc.calibration.catalogue import DEFAULT_METHOD, register_calibrator
from donkey_aicc.cli import build_parser, main
from donkey_aicc.commands.evaluate import _drives
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import Manifest, read_manifest, write_manifest
from donkey_aicc.nets.own_predictor import OWN_PREDICTORS, register_predictor
from donkey_aicc.nets.preprocess import images_to_tensor
from donkey_aicc.nets.trained_nets import Nets, save_bundle
from donkey_aicc.nets.use_predictor import use_predictor
from donkey_aicc.scoring import parallel
from donkey_aicc.scoring.own_scores import OWN_SCORES, register_score
from donkey_aicc.scoring.restored_view import Restoration
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.tubs.labels import horizon_labels
from donkey_aicc.tubs.load import load_drives

FRAMES, CONTEXT, TAU = 30, 6, 0.25
HORIZONS = (1, 5)  # short, because D_aug is 55 pieces of context, usable frames and the last horizon
CHANNELS = {
    "cam/image_array": "image_array",
    "user/angle": "float",
    "user/throttle": "float",
    "user/mode": "str",
    "pos/cte": "float",
    "aicc/inject_protocol": "str",
    "aicc/inject_severity": "int",
}


def write_tub(path: Path, number: int, protocol: str = "") -> None:
    """A car that swings to both sides of tau; its camera is brighter when it will be safe. The protocol starts late."""
    rng = np.random.default_rng(number)
    tub = Tub(str(path), list(CHANNELS), list(CHANNELS.values()))
    for step in range(FRAMES):
        swing, soon = (np.sin((step + ahead) / 4.0 + number) for ahead in (0, 5))
        injected = protocol if step >= CONTEXT else ""
        values = [
            np.clip(rng.normal(128 + 60 * soon, 30, (64, 64, 3)), 0, 255).astype(np.uint8),
            float(np.clip(0.6 * np.sin(0.3 * step + number) + rng.normal(0, 0.05), -1, 1)),
            0.3,
            "user",
            float(TAU * (1 - 0.6 * swing)),
            injected,
            3 if injected else 0,
        ]
        tub.write_record(dict(zip(CHANNELS, values, strict=True)))
    tub.close()


@torch.no_grad()
def teach(safety: SafetyCNN, drives) -> None:
    """D_aug severities need a predictor that knows something: least squares on the features of the untrained net."""
    images = images_to_tensor(np.concatenate([drive.images for drive in drives]))
    labels = torch.from_numpy(np.concatenate([horizon_labels(drive.safe, HORIZONS) for drive in drives]))
    features, _ = safety.eval().features_and_logits(images)
    centre, spread = features.mean(dim=0), features.std(dim=0).mean()
    standard = (features - centre) / spread
    wanted = torch.nan_to_num(4.0 * labels - 2.0)  # logits of +-2, 0 where there is no label
    solved = torch.linalg.solve(standard.T @ standard + 10.0 * torch.eye(features.shape[1]), standard.T @ wanted).T / spread
    safety.third.weight.copy_(solved)
    safety.third.bias.copy_(-solved @ centre)


@pytest.fixture(scope="module")
def world(tmp_path_factory, tables):
    """Nominal and OOD tubs, and a bundle, untrained but for its predictor, that names the nominal ones."""
    folder = tmp_path_factory.mktemp("world")
    for number in range(5):
        write_tub(folder / "nominal" / f"tub_{number}", number)
    for number, protocol in enumerate(("dark", "blur")):
        write_tub(folder / protocol / "tub", 10 + number, protocol)
    drives = load_drives([folder / "nominal"], tau=TAU, cache_dir=folder / "cache").drives
    ids = [drive.id for drive in drives]
    torch.manual_seed(0)
    nets = Nets(VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS)))
    teach(nets.safety, drives)
    split = {"train": [], "calibration": ids[:3], "test": ids[3:]}
    stats = {"mean": [0.0, 0.3], "std": [0.4, 0.1]}
    save_bundle(folder / "bundle", nets, Manifest(list(HORIZONS), stats, context=CONTEXT, tau=TAU, split=split))
    view = Restoration.measure(Bundle.load(folder / "bundle"), [drive.images for drive in drives[:3]])
    settings = ScoreSettings(samples=2, context=CONTEXT, restoration=view)
    fitted, _ = fit_calibrator(tables.calibration, tables.augmented, "tta_rho_delta", settings=settings)
    columns = np.isin(tables.calibration.horizons, HORIZONS)
    of_bundle = {
        name: getattr(tables.calibration, name)[:, columns]
        for name in ("p_safe", "p_tta", "p_restored", "tta_spread", "mc_dropout", "labels")
    }
    nominal = replace(tables.calibration, horizons=np.array(HORIZONS), **of_bundle)
    save_calibrator(Bundle.load(folder / "bundle"), fitted, {}, nominal)
    return folder


def arguments(world, out, *more):
    drives = ["--nominal", str(world / "nominal"), "--ood", f"dark={world / 'dark'}", f"blur={world / 'blur'}"]
    small = ["--d-aug-frames", "2", "--seeds", "1", "--draws", "20", "--workers", "1"]
    return [
        "evaluate",
        "--bundle",
        str(world / "bundle"),
        *drives,
        "--out",
        str(out),
        "--cache-dir",
        str(world / "cache"),
        *small,
        *more,
    ]


def test_from_tubs_to_a_report_with_its_scores_beside_it(world, tmp_path, capsys):
    assert main(arguments(world, tmp_path / "report")) == 0
    said = capsys.readouterr().out
    assert "note: Cross-fitting uses 3 folds instead of 5" in said and "report:" in said
    results = json.loads((tmp_path / "report" / "results.json").read_text(encoding="utf-8"))
    under = FRAMES - (ScoreSettings().rollout_every - 1)  # the first rollout is done later than the context is full
    assert results["data"]["dark"]["frames"] == results["data"]["blur"]["frames"] == under
    assert results["data"]["nominal"]["frames"] == 2 * under
    assert {path.name for path in (tmp_path / "report").iterdir()} >= {
        "index.html",
        "results.json",
        "tables",
        "figures",
        "scores",
    }
    assert len(ScoreTable.load(tmp_path / "report" / "scores" / "test.npz")) == 2 * FRAMES


def test_tubs_that_the_bundle_has_never_seen_are_halved(world, capsys):
    for number in range(4):
        write_tub(world / "own" / f"tub_{number}", 20 + number)
    bundle = Bundle.load(world / "bundle")
    args = build_parser("evaluate").parse_args(arguments(world, world / "unused", "--nominal", str(world / "own")))
    calibration, test, ood = _drives(args, bundle)
    assert len(calibration) == len(test) == 2 and set(ood) == {"dark", "blur"}
    assert not {drive.id for drive in calibration} & {drive.id for drive in test}
    assert "the bundle's own drives are not among these" in capsys.readouterr().out


def test_what_calibrate_scored_is_not_scored_again(world, tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        sys.exit("everything is scored")

    few = partial(augmented_drives.build_augmented, severities=(3,), ladder_frames=10)
    monkeypatch.setattr(augmented_drives, "build_augmented", few)
    monkeypatch.setattr(calibrating, "calibrate_bundle", stop)
    monkeypatch.setattr("donkey_aicc.evaluation.study.evaluate", stop)
    scored, score_drives = [], parallel.score_drives
    monkeypatch.setattr(parallel, "score_drives", lambda *a, title, **more: scored.append(title) or score_drives(*a, **more))
    common = ["--bundle", str(world / "bundle"), "--cache-dir", str(tmp_path / "cache"), "--workers", "1"]
    with pytest.raises(SystemExit, match="everything is scored"):
        main(["calibrate", "--data", str(world / "nominal"), "--samples", "2", *common])
    assert (
        scored == ["scoring calibration drives", "scoring drives kept aside", "scoring D_aug"]
        and "scored before" not in capsys.readouterr().out
    )
    drives = ["--nominal", str(world / "nominal"), "--ood", f"dark={world / 'dark'}", "--out", str(tmp_path / "report")]
    with pytest.raises(SystemExit, match="everything is scored"):
        main(["evaluate", *drives, *common])
    assert scored[3:] == ["scoring nominal test drives", "scoring dark"]
    assert "scoring calibration drives: the same bundle, settings and drives were scored before" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--tau", "9"], "calibration split must hold safe and unsafe frames at horizon 1, got only safe ones"),
        (["--seeds", "0"], "seeds must be >= 1, got 0"),
        (["--folds", "1"], "folds must be >= 2, got 1"),
        (["--d-aug-frames", "0"], "--d-aug-frames must be >= 1, got 0"),
        (["--ood", "dark={world}/nominal/tub_0"], "OOD dark contains 1 nominal drives"),
        (["--ood", "dark={world}/copy"], "OOD dark contains 1 nominal drives"),
        (["--ood", "dark={world}/blur"], "its tubs were driven under blur, not under dark"),
        (["--nominal", "{world}/nominal/tub_0"], "give the tubs it was trained on"),
        (["--bundle", "{world}/uncalibrated"], "has no calibrator; make it again with: donkey-aicc calibrate"),
        (["--bundle", "{world}/mixed"], "was fitted for a bundle with other weights"),
        (["--out", "{world}/bundle/manifest.json"], "is a file"),
    ],
)
def test_mistakes_are_told_before_scoring(world, tmp_path, capsys, monkeypatch, wrong, said):
    if not (world / "copy").exists():
        shutil.copytree(world / "nominal" / "tub_4", world / "copy")
        shutil.copytree(world / "bundle", world / "uncalibrated", ignore=shutil.ignore_patterns("calibrator.json"))
        stats = {"mean": [0.0, 0.0], "std": [1.0, 1.0]}
        save_bundle(
            world / "mixed",
            Nets(VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS))),
            Manifest(list(HORIZONS), stats, context=CONTEXT),
        )
        shutil.copy(world / "bundle" / "calibrator.json", world / "mixed")
    monkeypatch.setattr("donkey_aicc.scoring.parallel.score_drives", lambda *_, **__: pytest.fail("scored"))
    assert main(arguments(world, tmp_path / "report", *(word.format(world=world) for word in wrong))) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


@pytest.mark.slow
def test_predictor_score_and_calibrator_of_ones_own_from_tubs_to_the_report(world, tmp_path, monkeypatch, own_registries):
    """Calibrated with the score, judged with the score and the calibrator, and a computer that knows none of them refuses."""

    def bright_is_safe(frames, steering):
        light = np.clip(2.0 * frames[:, 0].mean(axis=(1, 2, 3)) - 0.5, 0.01, 0.99)
        return np.stack([light, light**0.9], axis=1)

    class Halved(Calibrator):
        kind, shown_as = "halved", "Half as sure"

        def fit(self, table, pool=None):
            return self

        def calibrate(self, p, scores, horizon):
            return 0.25 + 0.5 * p

    register_predictor("bright", bright_is_safe, horizons=HORIZONS)
    register_score("glare", lambda: lambda image, steering, throttle: float((image > 200).mean()))
    register_calibrator("halved", Halved)
    own = use_predictor("reference", "bright", tmp_path / "own")  # its world model tells pictures apart
    known = Bundle.load(world / "bundle").manifest
    drives = {"split": known.split, "data": known.data, "tau": TAU, "context": CONTEXT}
    write_manifest(own, replace(read_manifest(own), **drives))
    few = partial(augmented_drives.build_augmented, severities=(3, 5), ladder_frames=10)
    monkeypatch.setattr(augmented_drives, "build_augmented", few)
    common = ["--bundle", str(own), "--cache-dir", str(tmp_path / "cache"), "--workers", "1"]
    assert main(["calibrate", "--data", str(world / "nominal"), "--grade", "light", "--scores", "glare", *common]) == 0
    fitted = load_calibrator(Bundle.load(own))
    assert fitted.settings.own == ("glare",) and "glare" in fitted.weights and fitted.name == f"{DEFAULT_METHOD}+glare"
    assert fitted.statistics.own["glare"].sigma > 0.0

    report = arguments(world, tmp_path / "report", "--cache-dir", str(tmp_path / "cache"))
    report[report.index("--bundle") + 1] = str(own)
    assert main(report) == 0
    rows = json.loads((tmp_path / "report" / "results.json").read_text(encoding="utf-8"))["calibration"]
    assert rows["halved"]["group"] == rows[f"{DEFAULT_METHOD}+glare"]["group"] == "own"
    assert rows["halved"]["ece"]["dark"]["mean"] > 0.0 and rows["halved"]["label"] == "Half as sure"
    assert "Half as sure" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert np.isfinite(ScoreTable.load(tmp_path / "report" / "scores" / "test.npz").own).all()

    OWN_SCORES.clear()
    assert main(report) == 2
    OWN_PREDICTORS.clear()
    assert main(report) == 2
