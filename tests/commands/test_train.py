import re
import shutil

import numpy as np
import pytest
import torch

from donkey_aicc.car.bundles import bundle_path, foreign_warning
from donkey_aicc.cli import main
from donkey_aicc.commands.train import predictor_for
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.own_predictor import register_predictor
from donkey_aicc.simulator.record_drives import plan_nominal, record


@pytest.fixture(scope="module")
def tubs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tubs")
    record(plan_nominal(folder, "loop", 6, (22, 22), 0), None)
    return folder


def test_tubs_in_bundle_out(tubs, tmp_path, capsys):
    threads, out = torch.get_num_threads(), tmp_path / "models" / "mine"
    arguments = ["--preset", "tiny", "--threads", "1", "--seed", "3", "--tau", "0.1", "--cache-dir", str(tmp_path / "cache")]
    for stage in ("vae", "dynamics", "safety"):
        arguments += ["--set", f"{stage}.epochs=1"]
    try:
        assert main(["train", str(tubs), "--out", str(out), *arguments]) == 0
    finally:
        torch.set_num_threads(threads)
    manifest = Bundle.load(out).manifest
    assert manifest.tau == 0.1 and manifest.seeds["training"] == 3 and manifest.overrides["vae.epochs"] == 1
    assert manifest.data["tubs"] == sorted(path.name for path in tubs.iterdir()) and manifest.data["labels"] == "cte"
    said = capsys.readouterr().out
    assert "preset tiny" in said and "split session: by whole tub sessions; no frame left out" in said
    assert f"data      the embedded simulator: {manifest.data['tubs'][0]}, " in said and "labels cte; split session" in said
    assert "was trained in the embedded simulator, and this is a real car" in foreign_warning("mine", manifest, "a real car")


def test_a_world_model_for_ones_own_predictor(tubs, tmp_path, capsys, own_registries):
    register_predictor("mine", lambda frames, steering: np.full((len(frames), 2), 0.4), horizons=(3, 9), lags=(0, 1))
    out, small = tmp_path / "mine", [f"--set={stage}.epochs=1" for stage in ("vae", "dynamics")]
    arguments = ["--preset", "tiny", "--predictor", "mine", "--tau", "0.1", "--cache-dir", str(tmp_path / "cache")]
    assert main(["train", str(tubs), "--out", str(out), *arguments, *small]) == 0
    manifest = Bundle.load(out).manifest
    assert (manifest.predictor, manifest.horizons, manifest.lags, manifest.tau) == ("own", [3, 9], [0, 1], 0.1)
    assert set(manifest.files) == {"vae.safetensors", "dynamics.safetensors"} and manifest.data["labels"] == "cte"
    assert "predictor its owner's, mine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--predictor", "yours"], "--predictor must be one of"),
        (["--preset", "huge"], "preset must be one of paper, quick, tiny"),
        (["--set", "vae.speed=9"], "NAME one of vae.epochs"),
        (["--threads", "0"], "--threads must be >= 1, got 0"),
        (["--device", "abacus"], "--device must be auto, cpu, cuda"),
    ],
)
def test_mistakes_end_in_one_line_and_code_2(tubs, tmp_path, capsys, arguments, message):
    assert main(["train", str(tubs), "--out", str(tmp_path / "b"), "--cache-dir", str(tmp_path / "cache"), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error.splitlines()[-1]


def test_info_on_something_else(tmp_path, capsys):
    assert main(["info", str(tmp_path)]) == 2
    assert "is not a model bundle" in capsys.readouterr().err


def test_info_says_what_the_calibrator_is_for(tmp_path, capsys):
    bundle = shutil.copytree(bundle_path("reference"), tmp_path / "mine")
    assert main(["info", str(bundle)]) == 0
    said = capsys.readouterr().out
    assert "calibrator for the grades full, half, light" in said
    assert re.search(r"alarm: danger at most 1 false alarm in \d+ (laps|pieces|nominal drives)", said)
    (bundle / "calibrator.json").write_text("[]")
    assert main(["info", str(bundle)]) == 0
    assert "calibrator cannot be read; make it again" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "homes", "kind"),
    [
        ("auto", {"a real car"}, "history"),
        ("auto", {"the embedded simulator"}, "single"),
        ("auto", {"a real car", "the Unity simulator"}, "single"),
        ("direct", {"a real car"}, "single"),
        ("history", {"the embedded simulator"}, "history"),
    ],
)
def test_a_person_at_the_wheel_is_foreseen_from_some_frames_and_a_simulator_from_one(asked, homes, kind):
    assert predictor_for(asked, homes) == kind
