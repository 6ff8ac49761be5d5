import torch

from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.preprocess import ActionStats
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.train_dynamics import LatentPool, dynamics_gate

CPU = torch.device("cpu")


class Oracle(LatentDynamics):
    """Knows that the latent grows by one each step."""

    def step(self, z, action, state, masks=None):
        return z + 1.0, state


class Frozen(LatentDynamics):
    def step(self, z, action, state, masks=None):
        return z, state


def growing(drive_with, frames: int) -> LatentPool:
    pool = FramePool([drive_with(number, frames) for number in range(2)])
    ramp = torch.arange(frames, dtype=torch.float32).repeat(2)
    return LatentPool.make(pool, ramp[:, None, None, None].expand(-1, 64, 4, 4), ActionStats.fit(pool.sequences[0].actions))


def test_a_perfect_rollout_passes_and_reports_all_guesses(drive_with):
    gate = dynamics_gate(Oracle(), growing(drive_with, 80), torch.full((64, 4, 4), 40.0), 100, CPU)
    assert gate["passed"] and gate["context"] == 30
    assert list(gate["latent_mse"]) == ["1", "10", "25", "50"]
    at_50 = gate["latent_mse"]["50"]
    assert at_50["rollout"] == 0.0 and at_50["copy_last"] == 2500.0 and at_50["mean"] > 0


def test_copying_fails_at_every_step(drive_with):
    gate = dynamics_gate(Frozen(), growing(drive_with, 80), torch.full((64, 4, 4), 40.0), 100, CPU)
    assert not gate["passed"] and "k = 1, 10, 25, 50" in gate["reason"]


def test_without_long_sequences_it_is_not_passed(drive_with):
    gate = dynamics_gate(Oracle(), growing(drive_with, 40), torch.zeros(64, 4, 4), 100, CPU)
    assert not gate["passed"] and "longer than 51" in gate["reason"]
