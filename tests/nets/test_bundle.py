import json

import pytest
import torch

from donkey_aicc.errors import AiccError
from donkey_aicc.files import sha256_of
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import Manifest, read_manifest
from donkey_aicc.nets.trained_nets import Nets, load_nets, save_bundle
from tests.nets.rewriting import edit_manifest, rewrite_weights

HORIZONS = [1, 5, 10]


@pytest.fixture(scope="module")
def nets() -> Nets:
    torch.manual_seed(0)
    return Nets(VAE().eval(), LatentDynamics().eval(), SafetyCNN(3).eval())


@pytest.fixture
def folder(nets, tmp_path):
    manifest = Manifest(horizons=HORIZONS, action_stats={"mean": [0.0, 0.3], "std": [0.2, 0.05]}, tau=0.4)
    save_bundle(tmp_path / "mine", nets, manifest)
    return tmp_path / "mine"


def test_comes_back_as_it_was_saved(nets, folder):
    bundle = Bundle.load(folder)
    for name, net in load_nets(bundle).by_name().items():
        assert not net.training and not any(parameter.requires_grad for parameter in net.parameters())
        for key, value in nets.by_name()[name].state_dict().items():
            assert torch.equal(net.state_dict()[key], value), key
    assert bundle.horizons == (1, 5, 10)
    assert bundle.manifest.tau == 0.4
    assert bundle.action_stats.std.tolist() == pytest.approx([0.2, 0.05])


def test_holds_only_manifest_and_weights(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        "dynamics.safetensors",
        "manifest.json",
        "safety.safetensors",
        "vae.safetensors",
    ]
    assert [path.name for path in folder.parent.iterdir()] == ["mine"]


def test_same_nets_give_the_same_bytes(nets, folder, tmp_path):
    save_bundle(tmp_path / "again", nets, read_manifest(folder))
    for file in folder.iterdir():
        assert sha256_of(file) == sha256_of(tmp_path / "again" / file.name)


def test_rounded_weights_are_stored_in_half_precision_without_loss(nets, folder, tmp_path):
    rounded = SafetyCNN(3)
    rounded.load_state_dict({n: v.half().float() if v.is_floating_point() else v for n, v in nets.safety.state_dict().items()})
    manifest = save_bundle(tmp_path / "half", Nets(nets.vae, nets.dynamics, rounded), read_manifest(folder))
    assert manifest.files["safety.safetensors"]["dtype"] == "float16"
    assert manifest.files["vae.safetensors"]["dtype"] == "float32"
    for name, value in load_nets(Bundle.load(tmp_path / "half")).safety.state_dict().items():
        assert torch.equal(value, rounded.state_dict()[name])


def test_a_later_calibrator_does_not_disturb_loading(folder):
    (folder / "calibrator.json").write_text("{}")
    assert Bundle.load(folder).calibrator_path.is_file()


@pytest.mark.parametrize("in_one_step", [True, False])  # False: where the system cannot exchange two folders
def test_saving_over_a_bundle_replaces_it_and_its_calibrator(nets, folder, in_one_step, monkeypatch):
    if not in_one_step:
        monkeypatch.setattr("donkey_aicc.nets.trained_nets.exchange", lambda one, other: False)
    (folder / "calibrator.json").write_text("{}")
    manifest = read_manifest(folder)
    manifest.tau = 0.7
    save_bundle(folder, nets, manifest)
    assert Bundle.load(folder).manifest.tau == 0.7
    assert not (folder / "calibrator.json").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["mine"]


def test_refuses_to_write_over_something_else(nets, folder, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").write_bytes(b"x")
    with pytest.raises(AiccError, match="not a model bundle"):
        save_bundle(tmp_path / "photos", nets, read_manifest(folder))
    assert (tmp_path / "photos" / "one.jpg").exists()


def test_missing_folder_names_the_command_that_makes_one(tmp_path):
    with pytest.raises(AiccError, match="donkey-aicc train"):
        Bundle.load(tmp_path / "nothing")


def test_folder_without_manifest_is_no_bundle(tmp_path):
    with pytest.raises(AiccError, match="not a model bundle"):
        Bundle.load(tmp_path)


def test_foreign_manifest_is_no_bundle(tmp_path):
    (tmp_path / "manifest.json").write_text('["a", "tub", "manifest"]\n')
    with pytest.raises(AiccError, match="not a model bundle"):
        Bundle.load(tmp_path)


def test_newer_schema_asks_for_an_update(folder):
    edit_manifest(folder, schema_version=99)
    with pytest.raises(AiccError, match="too new.*update"):
        Bundle.load(folder)


def test_truncated_manifest(folder):
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text[: len(text) // 2])
    with pytest.raises(AiccError, match="truncated"):
        Bundle.load(folder)


def test_incomplete_manifest(folder):
    stored = json.loads((folder / "manifest.json").read_text())
    del stored["horizons"]
    (folder / "manifest.json").write_text(json.dumps(stored))
    with pytest.raises(AiccError, match="incomplete.*horizons"):
        Bundle.load(folder)


def test_manifest_without_hashes(folder):
    edit_manifest(folder, files={})
    with pytest.raises(AiccError, match="no hash of vae.safetensors"):
        Bundle.load(folder)


def test_missing_weights(folder):
    (folder / "dynamics.safetensors").unlink()
    with pytest.raises(AiccError, match="lacks dynamics.safetensors"):
        Bundle.load(folder)


def test_truncated_weights(folder):
    path = folder / "vae.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(AiccError, match="truncated"):
        Bundle.load(folder)


def test_changed_weights(folder):
    path = folder / "safety.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(AiccError, match="sha256 differs"):
        Bundle.load(folder)


def test_a_bundle_is_loaded_without_torch(folder):
    import subprocess
    import sys

    code = (
        "import sys; from donkey_aicc.nets.bundle import Bundle; "
        f"print(Bundle.load({str(folder)!r}).manifest.tau); assert 'torch' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "0.4\n"


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_weight_that_is_no_number_is_refused_though_its_hash_fits(folder, bad):
    rewrite_weights(folder, "dynamics.safetensors", lambda weights: weights["head.bias"].__setitem__(3, bad))
    with pytest.raises(AiccError, match="head.bias must hold finite numbers"):
        Bundle.load(folder)


def test_a_layer_far_too_wide_is_refused_before_a_net_is_made_of_it(folder):
    wide = {"convolutions.0.0.weight": torch.zeros(9000, 3, 3, 3)}
    rewrite_weights(folder, "safety.safetensors", lambda weights: weights.update(wide))
    with pytest.raises(AiccError, match=r"convolutions.0.0.weight must have at most 8192 in a dimension, got \(9000, 3, 3, 3\)"):
        Bundle.load(folder)
