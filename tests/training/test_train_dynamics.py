import pytest
import torch

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.dynamics import LatentDynamics, Masks
from donkey_aicc.nets.preprocess import ActionStats
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.presets import PRESETS, preset_named
from donkey_aicc.training.train_dynamics import DynamicsTask, LatentPool, roll_out, set_latent_statistics

CPU = torch.device("cpu")


@pytest.fixture
def pool(drives) -> LatentPool:
    frames = FramePool(drives[:3])
    latents = torch.randn(len(frames), 64, 4, 4, generator=torch.Generator().manual_seed(0))
    return LatentPool.make(frames, latents, ActionStats.fit(drives[0].actions))


def task_on(pool, *overrides) -> DynamicsTask:
    torch.manual_seed(0)
    return DynamicsTask(LatentDynamics(), pool, pool, preset_named("tiny", overrides)[0].dynamics, CPU)


class Recording(LatentDynamics):
    """Remembers what each step was given."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[torch.Tensor, Masks | None]] = []

    def step(self, z, action, state, masks=None):
        self.steps.append((z.detach(), masks))
        return super().step(z, action, state, masks)


def test_no_window_crosses_a_cut(pool):
    starts = pool.frames.window_starts(10)
    ends = starts + 9
    for first, last in zip(pool.frames.first[:-1], pool.frames.first[1:] - 1, strict=True):
        inside = (starts >= int(first)) & (starts <= int(last))
        assert (ends[inside] <= int(last)).all()
    assert len(starts) == sum(len(sequence) - 9 for sequence in pool.frames.sequences)


def test_forcing_fades_and_the_predicted_stretch_grows(pool):
    task = task_on(pool, "dynamics.epochs=60", "dynamics.target=20", "dynamics.first_target=5")
    assert task.forcing(0) == 1.0 and task.forcing(20) == pytest.approx(0.5) and task.forcing(40) == task.forcing(59) == 0.0
    assert task.stretch(0) == 5 and task.stretch(30) == task.stretch(59) == 20
    assert 5 < task.stretch(15) < 20


def test_training_uses_one_recurrent_mask_per_window_and_a_new_one_between_layers_per_step(pool):
    task = task_on(pool)
    task.dynamics = Recording()
    task.loss(torch.arange(4), 1, torch.Generator().manual_seed(0))
    masks = [given for _, given in task.dynamics.steps]
    assert len(masks) == 4 + 6 - 1
    assert all(mask.recurrent is masks[0].recurrent for mask in masks)
    assert (masks[0].recurrent[0] == 0).any() and (masks[0].between == 0).any()
    assert not torch.equal(masks[0].between, masks[1].between)


@pytest.mark.parametrize("forcing", [0.0, 1.0])
def test_open_loop_sees_own_predictions_and_teacher_forcing_the_truth(pool, forcing):
    task = task_on(pool)
    task.dynamics = Recording()
    latents, actions = pool.windows(torch.arange(3), 10, CPU)
    task.window_loss(latents, actions, forcing, torch.Generator().manual_seed(0))
    for step, (z, _) in enumerate(task.dynamics.steps):
        assert torch.equal(z, latents[step]) == (step < 4 or forcing == 1.0)


def test_statistics_ignore_channels_that_hold_only_noise():
    net = LatentDynamics()
    latents = torch.randn(200, 64, 4, 4) * torch.linspace(0, 2, 64)[:, None, None] + 1.0
    set_latent_statistics(net, latents)
    assert torch.allclose(net.latent_mean.flatten(), torch.ones(64), atol=0.2)
    assert net.latent_std[0, 63].item() == pytest.approx(2.0, rel=0.1)
    assert net.latent_std.min() > 0.3


def test_learns_a_moving_latent(drives):
    """Latents that follow the steering: a few epochs must beat copying."""
    frames = FramePool(drives[:4])
    direction = torch.randn(64, 4, 4, generator=torch.Generator().manual_seed(1))
    stats = ActionStats.fit(drives[0].actions)
    actions = frames.actions(stats)
    place = torch.cat([part.cumsum(0).roll(1, 0) for part in actions[:, 0].split(24)]) / 4
    pool = LatentPool(frames, place[:, None, None, None] * direction, actions)
    torch.manual_seed(0)
    settings = preset_named("tiny", ["dynamics.epochs=1", "dynamics.lr=0.003"])[0].dynamics
    task = DynamicsTask(LatentDynamics(), pool, pool, settings, CPU)
    optimiser = torch.optim.AdamW(task.net.parameters(), lr=3e-3)
    before = task.validate()["loss"]
    for number in range(15):
        optimiser.zero_grad()
        generator = torch.Generator().manual_seed(number)
        task.loss(torch.randint(0, task.examples(), (8,), generator=generator), 1, generator).backward()
        optimiser.step()
    assert task.validate()["loss"] < 0.6 * before


def test_rollout_uses_recorded_actions_or_holds_the_last(pool):
    net = LatentDynamics().eval()
    latents, actions = pool.windows(torch.arange(2), 8, CPU)
    recorded, held = roll_out(net, latents, actions, 4), roll_out(net, latents, actions, 4, hold=True)
    assert recorded.shape == (4, 2, 64, 4, 4)
    assert torch.equal(recorded[0], held[0]) and not torch.equal(recorded[3], held[3])


def test_too_short_sequences_say_what_to_do(pool):
    settings = PRESETS["paper"].dynamics
    with pytest.raises(AiccError, match="no training sequence has 200 frames in a row .the longest has 24"):
        DynamicsTask(LatentDynamics(), pool, pool, settings, CPU)
