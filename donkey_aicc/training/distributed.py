"""Data-parallel training under torchrun; without torchrun everything here is the single process it looks like.

Gradients are averaged over the processes after each backward pass, so that N processes with a share of the batch
each take the step that one process would take with the whole batch.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from donkey_aicc.errors import ConfigError


@dataclass(frozen=True)
class Workers:
    """This process's place among the training processes."""

    rank: int = 0
    count: int = 1

    @property
    def is_main(self) -> bool:
        """True for the one process that validates, writes files and prints."""
        return self.rank == 0

    def share(self, batch: Tensor) -> Tensor:
        """This process's part of a batch of example numbers; empty when there are fewer examples than processes."""
        return batch[self.rank :: self.count]

    def sum_gradients(self, net: nn.Module) -> None:
        """Add up the gradients of all processes (each was computed as its share of the whole batch's mean)."""
        if self.count == 1:
            return
        parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
        flat = torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in parameters])
        dist.all_reduce(flat)
        start = 0
        for parameter in parameters:
            parameter.grad = flat[start : start + parameter.numel()].view_as(parameter)
            start += parameter.numel()

    def average_buffers(self, net: nn.Module) -> None:
        """Batch normalisation saw another share of the data in each process: agree on the mean statistics."""
        if self.count == 1:
            return
        for buffer in net.buffers():
            if buffer.is_floating_point():
                dist.all_reduce(buffer)
                buffer.div_(self.count)

    def copy_from_main(self, net: nn.Module) -> None:
        """Everyone gets the main process's weights."""
        if self.count == 1:
            return
        for value in [*net.parameters(), *net.buffers()]:
            dist.broadcast(value.data, src=0)

    def any(self, flag: bool) -> bool:
        """True in all processes if it is in one, so that all stop together."""
        if self.count == 1:
            return flag
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        value = torch.tensor([int(flag)], device=device)
        dist.all_reduce(value, op=dist.ReduceOp.MAX)
        return bool(value.item())

    def wait(self) -> None:
        if self.count > 1:
            dist.barrier()


@contextmanager
def workers(device: torch.device) -> Iterator[Workers]:
    """The processes that torchrun started (it says so in the environment), or this one alone."""
    if dist.is_available() and dist.is_initialized():  # the caller has set the processes up and will end them
        yield Workers(dist.get_rank(), dist.get_world_size())
        return
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Workers()
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Workers(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


def choose_device(name: str) -> torch.device:
    """auto, cpu, cuda or cuda:N; under torchrun each process takes its own GPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"--device must be auto, cpu, cuda or cuda:N, got {name!r}") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"--device must be auto, cpu, cuda or cuda:N, got {name!r}")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ConfigError("--device cuda: torch sees no CUDA GPU here; use --device cpu")
        if device.index is None:
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        torch.cuda.set_device(device)
    return device
