import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from donkey_aicc.commands.info import describe
from donkey_aicc.errors import AiccError
from donkey_aicc.files import only_one, sha256_of
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.manifest import CONTEXT, WEIGHT_FILES, read_manifest
from donkey_aicc.nets.trained_nets import load_nets
from donkey_aicc.training.pipeline import Plan, _split, data_fingerprint, train_bundle
from donkey_aicc.training.presets import preset_named
from donkey_aicc.tubs.split_units import choose_method
from donkey_aicc.tubs.splits import split_sequences
from tests.tubs.test_laps import driven

HORIZONS = (1, 5)
SHORT = {"vae.epochs": 1, "dynamics.epochs": 2, "safety.epochs": 2}


def plan_for(folder: Path, **values) -> Plan:
    preset, overrides = preset_named("tiny", [f"{name}={value}" for name, value in SHORT.items()])
    return Plan(preset, folder / "mine", overrides, horizons=HORIZONS, tau=0.5, device="cpu", **values)


def weight_hashes(folder: Path) -> list[str]:
    return [sha256_of(folder / file) for file in WEIGHT_FILES.values()]


@pytest.fixture(scope="module")
def trained(drives, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    torch.set_num_threads(1)
    train_bundle(drives, plan_for(folder))
    return folder


def test_bundle_is_loadable_and_tells_its_story(trained, drives):
    manifest = Bundle.load(trained / "mine").manifest
    assert manifest.preset == "tiny" and manifest.overrides == SHORT
    assert manifest.settings["vae"]["epochs"] == 1 and manifest.tau == 0.5 and manifest.horizons == [1, 5]
    assert manifest.data["fingerprint"] == data_fingerprint(drives)
    assert set(manifest.metrics) == {"best_epochs", "validation", "test"}
    assert set(manifest.metrics["test"]["auroc"]) == {"1", "5"}
    assert set(manifest.precision) == {"vae", "dynamics", "safety"}


def test_a_world_model_can_be_trained_further(trained, drives, tmp_path):
    start = Bundle.load(trained / "mine")
    slow = [f"{name}.{key}={value}" for name in ("vae", "dynamics") for key, value in (("lr", 1e-6), ("epochs", 1))]
    preset, overrides = preset_named("tiny", [*slow, "safety.epochs=1"])
    plan = Plan(preset, tmp_path / "mine", overrides, horizons=HORIZONS, tau=0.5, device="cpu", start=trained / "mine")
    train_bundle(drives, plan)
    further = Bundle.load(tmp_path / "mine")
    for name, weight in load_nets(start).vae.named_parameters():
        assert torch.allclose(dict(load_nets(further).vae.named_parameters())[name], weight, atol=2e-3), name
    assert further.manifest.data["start"]["vae.safetensors"] == sha256_of(trained / "mine" / "vae.safetensors")


def test_split_keeps_validation_apart_from_calibration_and_test(trained, drives):
    split = read_manifest(trained / "mine").split
    ids = [one for side in split.values() for one in side]
    assert sorted(ids) == sorted(sequence.id for sequence in drives)
    assert all(split[side] for side in ("train", "validation", "calibration", "test"))


def test_a_failed_gate_is_recorded_and_shown(trained):
    manifest = read_manifest(trained / "mine")
    assert not manifest.gate_passed  # 24 frames are too short to measure 50 steps
    text = describe(trained / "mine", manifest)
    assert "gate FAILED" in text and "rollout features are flagged" in text


def test_work_folder_holds_curves_and_pictures(trained):
    work = trained / "mine.training"
    assert (work / "curves.png").stat().st_size > 1000 and (work / "reconstruction.png").stat().st_size > 1000
    lines = (work / "dynamics.curves.csv").read_text().splitlines()
    assert lines[0].startswith("epoch,train_loss,loss") and len(lines) == 3


def test_info_command_prints_text_and_json(trained, capsys):
    from donkey_aicc.cli import main

    assert main(["info", str(trained / "mine")]) == 0
    assert "preset tiny" in capsys.readouterr().out
    assert main(["info", str(trained / "mine"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["preset"] == "tiny"


def test_drives_with_injected_anomalies_are_left_out(drives):
    from donkey_aicc.training.pipeline import _nominal_only

    dark = replace(drives[0], protocol=np.full(len(drives[0]), "dark"))
    clean, notes = _nominal_only([dark, *drives[1:]])
    assert len(clean) == len(drives) - 1 and "left out 1" in notes[0]
    with pytest.raises(AiccError, match="none of the 1 sequences is nominal"):
        _nominal_only([dark])


def test_fingerprint_changes_with_labels_but_not_with_order(drives):
    other = replace(drives[0], safe=1 - drives[0].safe)
    assert data_fingerprint(drives) == data_fingerprint(drives[::-1])
    assert data_fingerprint(drives) != data_fingerprint([other, *drives[1:]])


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import torch
torch.set_num_threads(1)
from conftest import drive
from test_pipeline import plan_for
from donkey_aicc.training.pipeline import train_bundle
train_bundle([drive(number) for number in range(8)], plan_for(Path({folder!r})))
"""


def test_two_trainings_into_one_place_are_refused(drives, tmp_path):
    """They took each other's checkpoints away."""
    plan = plan_for(tmp_path)
    with only_one(plan.work, "training"), pytest.raises(AiccError, match="another training works in .*mine.training: wait"):
        train_bundle(drives, plan)


def test_killed_between_two_stages_resumes_to_the_same_bundle(trained, drives, tmp_path):
    """The stages before leave complete checkpoints, and the next one has none yet: its first weights must be the same."""
    shutil.copytree(trained / "mine.training", tmp_path / "mine.training")
    (tmp_path / "mine.training" / "safety.checkpoint.safetensors").unlink()
    train_bundle(drives, plan_for(tmp_path, resume=True))
    assert weight_hashes(tmp_path / "mine") == weight_hashes(trained / "mine")


def test_killed_training_resumes_to_the_same_bundle(trained, drives, tmp_path):
    code = SCRIPT.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    checkpoint, deadline = tmp_path / "mine.training" / "dynamics.checkpoint.safetensors", time.monotonic() + 300
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "mine").exists(), "the process was not killed in the middle"
    train_bundle(drives, plan_for(tmp_path, resume=True))
    assert weight_hashes(tmp_path / "mine") == weight_hashes(trained / "mine")


def test_laps_too_long_for_a_short_recording_are_cut_so_that_calibrate_has_its_two_drives(tmp_path):
    """Four laps of half a minute: whole laps would leave the calibration side with one drive, which calibrate refuses."""
    drive = driven(4, lap=560)[0]
    whole = split_sequences([drive], 0, method=choose_method([drive]))
    assert choose_method([drive]).lap and sum(len(one) > CONTEXT for one in whole.calibration) < 2
    quick = Plan(preset_named("quick")[0], tmp_path)
    split = _split([drive], quick, None)[0]
    assert sum(len(one) > CONTEXT for one in split.calibration) == 2 and not split.method.lap
