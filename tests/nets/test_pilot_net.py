import torch

from donkey_aicc.nets.camera_nets import PilotNet


def test_one_command_per_frame_within_the_limits():
    torch.manual_seed(0)
    commands = PilotNet()(100 * torch.rand(5, 3, 64, 64))
    assert commands.shape == (5, 2)
    assert commands.abs().max() <= 1


def test_small_enough_for_a_car():
    assert 100_000 < sum(weight.numel() for weight in PilotNet().parameters()) < 250_000
