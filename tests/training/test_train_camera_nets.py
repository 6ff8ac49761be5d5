import contextlib
import dataclasses

import numpy as np
import torch

from donkey_aicc.nets.camera_nets import SafetyCNN
from donkey_aicc.nets.preprocess import LAGS, ActionStats, input_channels, stacked, without_past
from donkey_aicc.training.exact_resume import Position, load_checkpoint, save_checkpoint
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.presets import PRESETS
from donkey_aicc.training.train_camera_nets import Past, SafetyTask, auroc_per_horizon, masked_bce, pool_labels
from donkey_aicc.training.trainer import TrainingRun, fit

CPU = torch.device("cpu")


def test_unlabelled_entries_have_neither_loss_nor_gradient():
    logits = torch.zeros(2, 3, requires_grad=True)
    labels = torch.tensor([[1.0, float("nan"), 0.0], [float("nan")] * 3])
    loss = masked_bce(logits, labels)
    loss.backward()
    torch.testing.assert_close(loss.item(), float(np.log(2)), rtol=1e-5, atol=1e-6)
    assert torch.equal(logits.grad != 0, labels.isfinite())


def test_no_label_at_all_gives_zero_not_nan():
    assert masked_bce(torch.zeros(2, 2), torch.full((2, 2), float("nan"))).item() == 0.0


def test_labels_never_reach_into_the_next_sequence(drives):
    pool = FramePool(drives[:2])
    labels = pool_labels(pool, (1, 5))
    assert labels[23].isnan().all() and labels[47].isnan().all()
    assert labels[19, 1].isnan() and labels[18, 1].item() == drives[0].safe[23]


def test_frames_without_any_label_are_not_examples(drives):
    task = SafetyTask(SafetyCNN(2), FramePool(drives[:2]), FramePool(drives[2:3]), (5, 10), PRESETS["tiny"].safety, CPU)
    assert task.examples() == 2 * 19


def test_auroc_is_undefined_with_one_class():
    labels = torch.tensor([[1.0, 1.0], [0.0, 1.0], [1.0, float("nan")]])
    areas = auroc_per_horizon(torch.tensor([[2.0, 0.0], [-1.0, 1.0], [0.5, 0.0]]), labels, (1, 5))
    assert areas == {1: 1.0, 5: None}


def test_history_of_a_training_example_stays_in_its_own_sequence(drives):
    pool, stats = FramePool(drives[:2]), ActionStats(np.zeros(2), np.ones(2))
    seen = pool.inputs(np.array([23, 24, 30]), LAGS, stats, CPU)
    for row, (sequence, numbers) in enumerate([(0, (23, 21, 18)), (1, (0, 0, 0)), (1, (6, 4, 1))]):
        frames, commands = drives[sequence].images[list(numbers)], drives[sequence].actions[list(numbers)]
        torch.testing.assert_close(seen[row : row + 1], torch.from_numpy(stacked(frames[None], commands[None], stats)))


def test_some_examples_are_shown_as_starts_of_sequences(drives):
    stats = ActionStats(np.zeros(2), np.ones(2))
    net = SafetyCNN(2, inputs=input_channels(LAGS))
    task = SafetyTask(net, FramePool(drives[:4]), FramePool(drives[4:5]), (5, 10), PRESETS["tiny"].safety, CPU, Past(LAGS, stats))
    shown = []
    net.register_forward_pre_hook(lambda _, inputs: shown.append(inputs[0]))
    task.loss(torch.arange(task.examples()), 0, torch.Generator().manual_seed(0))
    starts = (shown[0] == without_past(shown[0])).flatten(1).all(dim=1)
    assert 4 < starts.sum() < 0.4 * len(starts)  # the four that are, and a few more


def test_a_training_that_is_stopped_after_every_epoch_ends_with_the_same_weights(drives, tmp_path):
    """The net's weights lie in memory in another order (channels last), and so must what the optimiser remembers of them."""
    recipe = dataclasses.replace(PRESETS["tiny"].safety, epochs=4, batch=8)

    def task():
        torch.manual_seed(3)
        return SafetyTask(SafetyCNN(2), FramePool(drives[:3]), FramePool(drives[3:4]), (5, 10), recipe, CPU)

    def stop(stage, history):
        raise KeyboardInterrupt

    whole = task()
    fit(whole, TrainingRun(tmp_path / "whole", seed=5, device=CPU))
    for _ in range(recipe.epochs):
        with contextlib.suppress(KeyboardInterrupt):
            fit(task(), TrainingRun(tmp_path / "stopped", seed=5, device=CPU, resume=True, after_epoch=stop))
    resumed = task()
    fit(resumed, TrainingRun(tmp_path / "stopped", seed=5, device=CPU, resume=True))
    expected = whole.net.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in resumed.net.state_dict().items())


def test_a_resumed_optimiser_remembers_in_the_order_of_the_weights(drives, tmp_path):
    pools = FramePool(drives[:3]), FramePool(drives[3:4])
    tasks = [SafetyTask(SafetyCNN(2), *pools, (5, 10), PRESETS["tiny"].safety, CPU) for _ in range(2)]
    first, second = (torch.optim.AdamW(task.net.parameters(), lr=1e-3) for task in tasks)
    tasks[0].loss(torch.arange(8), 0, torch.Generator()).backward()
    first.step()
    save_checkpoint(tmp_path / "c.safetensors", tasks[0].net, first, {}, Position({}))
    load_checkpoint(tmp_path / "c.safetensors", tasks[1].net, second, {})
    for weight, state in second.state.items():
        assert state["exp_avg"].stride() == state["exp_avg_sq"].stride() == weight.stride()
