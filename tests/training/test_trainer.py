import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch import nn

from donkey_aicc.errors import AiccError
from donkey_aicc.training.exact_resume import saving_on_interrupt, stop_requested
from donkey_aicc.training.presets import NetSettings
from donkey_aicc.training.trainer import Task, TrainingRun, fit


class Line(Task):
    """Fit y = 3 x with dropout and random noise, so that every source of randomness counts."""

    name = "line"

    def __init__(self, epochs: int = 4, validation: list[float] | None = None, pause_s: float = 0.0) -> None:
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.BatchNorm1d(8), nn.Linear(8, 1))
        self.recipe = NetSettings(epochs=epochs, batch=8, lr=1e-2)
        self.x = torch.randn(40, 4, generator=torch.Generator().manual_seed(1))
        self.scripted, self.pause_s, self.seen = validation, pause_s, []

    def examples(self) -> int:
        return len(self.x)

    def loss(self, chosen, epoch, generator):
        time.sleep(self.pause_s)
        self.seen += chosen.tolist()
        x = self.x[chosen] + 0.1 * torch.randn(len(chosen), 4, generator=generator)
        return (self.net(x) - 3 * x.sum(dim=1, keepdim=True)).square().mean()

    def validate(self):
        if self.scripted:
            return {"loss": self.scripted.pop(0)}
        return {"loss": float((self.net(self.x) - 3 * self.x.sum(dim=1, keepdim=True)).square().mean())}


def run_in(folder, **values) -> TrainingRun:
    return TrainingRun(work=folder, seed=5, device=torch.device("cpu"), **values)


def weights(task: Task) -> torch.Tensor:
    return torch.cat([value.flatten().float() for value in task.net.state_dict().values()])


def position(folder) -> dict:
    with safe_open(folder / "line.checkpoint.safetensors", framework="pt") as file:
        return json.loads(file.metadata()["position"])


def test_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path):
    one, two, other = Line(), Line(), Line()
    fit(one, run_in(tmp_path / "1"))
    fit(two, run_in(tmp_path / "2"))
    fit(other, TrainingRun(work=tmp_path / "3", seed=6, device=torch.device("cpu")))
    assert torch.equal(weights(one), weights(two))
    assert not torch.equal(weights(one), weights(other))


def test_every_epoch_sees_every_example_in_another_order():
    import tempfile

    task = Line(epochs=2)
    with tempfile.TemporaryDirectory() as folder:
        fit(task, run_in(Path(folder)))
    first, second = task.seen[:40], task.seen[40:]
    assert sorted(first) == sorted(second) == list(range(40))
    assert first != second


def test_keeps_the_best_epoch_by_validation(tmp_path):
    task = Line(epochs=4, validation=[3.0, 1.0, 2.0, 5.0])
    fitted = fit(task, run_in(tmp_path))
    short = Line(epochs=4, validation=[3.0, 1.0, 2.0, 5.0])
    states = []
    fit(short, run_in(tmp_path / "watch", after_epoch=lambda stage, history: states.append(weights(short))))
    assert fitted.best_epoch == 2
    assert torch.equal(weights(task), states[1])
    assert not torch.equal(states[1], states[3])


def test_interrupted_in_the_middle_of_an_epoch_resumes_to_equal_weights(tmp_path):
    whole = Line()
    fit(whole, run_in(tmp_path / "whole"))
    stopped = Line()
    stopped_loss = stopped.loss

    def interrupting(chosen, epoch, generator):
        if epoch == 2 and len(stopped.seen) == 2 * 40 + 16:
            os.kill(os.getpid(), signal.SIGINT)
        return stopped_loss(chosen, epoch, generator)

    stopped.loss = interrupting
    with pytest.raises(KeyboardInterrupt), saving_on_interrupt():
        fit(stopped, run_in(tmp_path / "stopped"))
    saved = position(tmp_path / "stopped")
    assert (saved["epoch"], saved["step"]) == (2, 3)
    resumed = Line()
    fitted = fit(resumed, run_in(tmp_path / "stopped", resume=True))
    assert torch.equal(weights(resumed), weights(whole))
    assert [row["epoch"] for row in fitted.history] == [1, 2, 3, 4]
    assert not stop_requested()


KILLED = """
import sys
from pathlib import Path
import torch
sys.path.insert(0, {folder!r})
torch.set_num_threads(1)
from test_trainer import Line, run_in
from donkey_aicc.training.trainer import fit
fit(Line(epochs=6, pause_s=0.02), run_in(Path({work!r})))
"""


def test_killed_without_warning_resumes_to_equal_weights(tmp_path):
    whole = Line(epochs=6)
    fit(whole, run_in(tmp_path / "whole"))
    work = tmp_path / "killed"
    code = KILLED.format(folder=str(Path(__file__).parent), work=str(work))
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    checkpoint = work / "line.checkpoint.safetensors"
    deadline = time.monotonic() + 120
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.03)
    process.kill()
    process.wait()
    assert 1 <= position(work)["epoch"] < 6, "the process was not killed in the middle"
    resumed = Line(epochs=6)
    fit(resumed, run_in(work, resume=True))
    assert torch.equal(weights(resumed), weights(whole))


def test_finished_stage_is_not_trained_again(tmp_path):
    first, again = Line(), Line()
    fit(first, run_in(tmp_path))
    fit(again, run_in(tmp_path, resume=True))
    assert again.seen == []
    assert torch.equal(weights(first), weights(again))


def test_resuming_with_other_settings_is_refused(tmp_path):
    fit(Line(), run_in(tmp_path, made_with={"lr": 1.0}))
    with pytest.raises(AiccError, match="made with lr = 1.0, now it is 2.0"):
        fit(Line(), run_in(tmp_path, made_with={"lr": 2.0}, resume=True))


def test_damaged_checkpoint_is_refused(tmp_path):
    fit(Line(), run_in(tmp_path))
    path = tmp_path / "line.checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(AiccError, match="not a readable checkpoint"):
        fit(Line(), run_in(tmp_path, resume=True))


def test_exploding_loss_says_what_to_change(tmp_path):
    task = Line()
    task.x = task.x * float("inf")
    with pytest.raises(AiccError, match="lower --set line.lr"):
        fit(task, run_in(tmp_path))


def test_learning_rate_warms_up_and_falls_to_the_final_value(tmp_path):
    from donkey_aicc.training.trainer import _Loop

    loop = _Loop(Line(epochs=100), run_in(tmp_path))
    rates = []
    for step in range(500):
        loop.set_lr(step)
        rates.append(loop.optimiser.param_groups[0]["lr"])
    assert rates[0] < 0.1 * max(rates) and max(rates) == pytest.approx(1e-2, rel=0.01)
    assert rates[-1] == pytest.approx(1e-6, abs=1e-6)
    assert all(later < earlier for earlier, later in zip(rates[20:], rates[21:], strict=False))
