"""Two real processes under torchrun on this machine."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.training.distributed import Workers, choose_device

SCRIPT = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, str(Path({tests!r}).parents[1])]
import torch
torch.set_num_threads(1)
from safetensors.torch import save_file
from conftest import drive
from test_distributed import Plain, fitted
from test_pipeline import plan_for
from donkey_aicc.training.distributed import workers
from donkey_aicc.training.pipeline import train_bundle
folder = Path({folder!r})
with workers(torch.device("cpu")) as team:
    assert team.count == 2
    save_file(fitted(folder, team).state_dict(), folder / f"rank_{{team.rank}}.safetensors")
    train_bundle([drive(number) for number in range(8)], plan_for(folder))
"""


class Plain:
    """Imported lazily: a task without any randomness of its own, on which processes must agree exactly."""

    @staticmethod
    def task():
        from test_trainer import Line
        from torch import nn

        class Exact(Line):
            def __init__(self) -> None:
                super().__init__(epochs=3)
                torch.manual_seed(0)
                self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

            def loss(self, chosen, epoch, generator):
                x = self.x[chosen]
                return (self.net(x) - 3 * x.sum(dim=1, keepdim=True)).square().mean()

        return Exact()


def fitted(folder: Path, team: Workers) -> torch.nn.Module:
    from test_trainer import run_in

    from donkey_aicc.training.trainer import fit

    task = Plain.task()
    fit(task, run_in(folder / "exact", workers=team))
    return task.net


def test_two_processes_train_what_one_trains(tmp_path, monkeypatch):
    tests = str(Path(__file__).parent)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=tests, folder=str(tmp_path)))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    done = subprocess.run(launcher, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    first, second = (load_file(tmp_path / f"rank_{rank}.safetensors") for rank in (0, 1))
    monkeypatch.syspath_prepend(tests)
    alone = fitted(tmp_path / "alone", Workers()).state_dict()
    for name, value in alone.items():
        assert torch.equal(first[name], second[name])
        torch.testing.assert_close(first[name], value, rtol=1e-4, atol=1e-5)
    bundle = Bundle.load(tmp_path / "mine")
    assert 0.0 < bundle.manifest.metrics["validation"]["vae_mse"] < 0.2


def test_shares_of_a_batch_cover_it_once():
    batch = torch.arange(7)
    shares = [Workers(rank, 3).share(batch) for rank in range(3)]
    assert sorted(torch.cat(shares).tolist()) == list(range(7))


def test_unknown_device():
    with pytest.raises(ConfigError, match="auto, cpu, cuda"):
        choose_device("abacus")
    assert choose_device("cpu").type == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is present")
def test_missing_gpu_is_said_plainly():
    with pytest.raises(ConfigError, match="no CUDA GPU"):
        choose_device("cuda")
