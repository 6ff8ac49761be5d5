import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.camera_nets import PilotNet
from donkey_aicc.nets.vision_pilot import load_pilot, save_pilot


@pytest.fixture
def pilot(tmp_path):
    torch.manual_seed(1)
    net = PilotNet().eval()
    save_pilot(tmp_path / "pilot", net, {"seed": 1})
    return tmp_path / "pilot", net


def test_folder_and_file_give_back_the_same_net(pilot):
    folder, net = pilot
    frame = torch.rand(1, 3, 64, 64)
    for path in (folder, folder / "pilot.safetensors", str(folder)):
        assert torch.equal(load_pilot(path)(frame), net(frame))


def test_a_flipped_bit_is_found(pilot):
    folder, _ = pilot
    data = bytearray((folder / "pilot.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "pilot.safetensors").write_bytes(data)
    with pytest.raises(AiccError, match="corrupt: its hash differs"):
        load_pilot(folder)


@pytest.mark.parametrize("content", [b"", b"not a model at all", b"\xff" * 64])
def test_a_file_that_is_no_model_is_called_corrupt(tmp_path, content):
    (tmp_path / "pilot.safetensors").write_bytes(content)
    with pytest.raises(AiccError, match="corrupt"):
        load_pilot(tmp_path / "pilot.safetensors")


def test_a_cut_file_is_called_corrupt(pilot):
    file = pilot[0] / "pilot.safetensors"
    file.write_bytes(file.read_bytes()[:2000])
    with pytest.raises(AiccError, match="corrupt"):
        load_pilot(file)


def test_weights_of_something_else_are_refused(tmp_path, pilot):
    other = tmp_path / "other.safetensors"
    save_file({"a": torch.zeros(2)}, other)
    with pytest.raises(AiccError, match="must be a donkey_aicc.pilot file"):
        load_pilot(other)
    metadata = {"format": "donkey_aicc.pilot", "version": "1"}
    save_file({"a": torch.zeros(2)}, other, metadata=metadata)
    with pytest.raises(AiccError, match="does not fit the pilot net"):
        load_pilot(other)
    weights = load_file(pilot[0] / "pilot.safetensors")
    weights["head.1.bias"][3] = float("nan")
    save_file(weights, other, metadata=metadata)
    with pytest.raises(AiccError, match="not a number in head.1.bias"):
        load_pilot(other)


def test_missing_pilot_and_broken_manifest_say_so(tmp_path, pilot):
    with pytest.raises(AiccError, match="no pilot at"):
        load_pilot(tmp_path / "nowhere")
    (pilot[0] / "manifest.json").write_text(json.dumps([]))
    with pytest.raises(AiccError, match="manifest.json is corrupt"):
        load_pilot(pilot[0])
