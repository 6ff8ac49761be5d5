import numpy as np
import pytest
import torch

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.camera_nets import PilotNet
from donkey_aicc.nets.preprocess import images_to_tensor
from donkey_aicc.nets.vision_pilot import VisionPilot, load_pilot, save_pilot


@pytest.fixture
def pilot(tmp_path):
    torch.manual_seed(2)
    save_pilot(tmp_path, PilotNet(), {})
    pilot = VisionPilot()
    pilot.load(str(tmp_path))
    return pilot


def test_drives_from_any_frame_size(pilot):
    rng = np.random.default_rng(0)
    for shape in ((120, 160, 3), (60, 80, 3), (240, 320, 3)):
        frame = rng.integers(0, 256, shape, dtype=np.uint8)
        frame.flags.writeable = False
        command = pilot.run(frame)
        assert all(isinstance(value, float) and -1 <= value <= 1 for value in command)
        assert pilot.run(frame) == command


@pytest.mark.parametrize(
    "frame",
    [
        None,
        "x",
        np.zeros((120, 160, 3), np.int32),
        np.full((4, 4, 3), 255.0),
        np.zeros((4, 4, 2), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_a_frame_it_cannot_use_stops_the_car(pilot, frame):
    assert pilot.run(frame) == (0.0, 0.0)


def test_without_weights_the_car_stands():
    assert VisionPilot().run(np.zeros((120, 160, 3), np.uint8)) == (0.0, 0.0)


def test_a_bad_file_is_refused_at_load(tmp_path):
    (tmp_path / "broken.safetensors").write_bytes(b"junk")
    with pytest.raises(AiccError, match="corrupt"):
        VisionPilot().load(tmp_path / "broken.safetensors")


def test_it_drives_as_the_net_does(pilot, tmp_path):
    net, rng = load_pilot(tmp_path).double(), np.random.default_rng(1)
    for _ in range(5):
        image = rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)
        with torch.inference_mode():
            expected = net(images_to_tensor(image[None]).double())[0].tolist()
        assert pilot.run(image) == pytest.approx(expected, abs=1e-5)
        assert VisionPilot.of(net).run(image) == pilot.run(image)
