"""A long training that is stopped and goes on as if nothing had happened.

- Random numbers depend only on (seed, stage, epoch, step): nothing to save, exact to resume.
- Checkpoints: one safetensors file per stage, replaced atomically, nothing pickled.
- Ctrl-C and SIGTERM: finish the step, save, then stop. A second Ctrl-C stops at once.
"""

import hashlib
import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path, save_tensors


def derived_seed(*parts: object) -> int:
    """A 63-bit number from the parts, the same on every machine and in every run."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def generator_for(*parts: object) -> torch.Generator:
    """A CPU generator of its own for the named purpose."""
    return torch.Generator().manual_seed(derived_seed(*parts))


NET, BEST, OPTIMISER = "net/", "best/", "optimiser/"


@dataclass
class Position:
    """How far a training has come; with the tensors, all that is needed to go on. No RNG state: see `derived_seed`."""

    made_with: dict[str, Any]  # settings, seed and data: a resumed training must have the same
    epoch: int = 0  # epochs finished
    step: int = 0  # steps finished in the epoch under way
    loss_sum: float = 0.0  # over those steps
    seconds: float = 0.0  # spent in the epoch under way
    best_epoch: int = -1
    best_loss: float | None = None
    history: list[dict[str, float]] = field(default_factory=list)


def save_checkpoint(
    path: Path, net: nn.Module, optimiser: torch.optim.Optimizer, best: dict[str, Tensor], position: Position
) -> None:
    """Write everything to one file; a crash leaves the previous one."""
    tensors = {NET + name: value for name, value in net.state_dict().items()}
    tensors |= {BEST + name: value for name, value in best.items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"{OPTIMISER}{number}/{name}": value for name, value in state.items()}
    # clone: net and best may share memory, which the format forbids
    ready = {name: value.detach().cpu().clone(memory_format=torch.contiguous_format) for name, value in tensors.items()}
    with atomic_path(path) as temporary:
        save_tensors(temporary, ready, metadata={"position": json.dumps(asdict(position))})


def load_checkpoint(
    path: Path, net: nn.Module, optimiser: torch.optim.Optimizer, made_with: dict[str, Any]
) -> tuple[dict[str, Tensor], Position]:
    """Put net and optimiser back; returns the best weights so far and the position."""
    try:
        with safe_open(path, framework="pt") as file:
            position = Position(**json.loads(file.metadata()["position"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dictionary
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise AiccError(f"{path} is not a readable checkpoint ({error}); delete it and start that stage again") from error
    _refuse_other_training(path, position.made_with, json.loads(json.dumps(made_with)))
    net.load_state_dict(_below(NET, tensors))
    stored = _below(OPTIMISER, tensors)
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in stored.items():
        number, name = key.split("/")
        state.setdefault(int(number), {})[name] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
    _lay_like_weights(optimiser)
    return _below(BEST, tensors), position


def _lay_like_weights(optimiser: torch.optim.Optimizer) -> None:
    """In memory in the order of the weights, as before: where both orders meet, the last bits of a step come out otherwise."""
    for weight, state in optimiser.state.items():
        for name, value in state.items():
            if value.shape == weight.shape:
                state[name] = torch.empty_like(weight, dtype=value.dtype).copy_(value)


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _refuse_other_training(path: Path, stored: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name in sorted(stored.keys() | wanted.keys()):
        if stored.get(name) != wanted.get(name):
            raise AiccError(
                f"cannot resume {path}: it was made with {name} = {stored.get(name)!r}, now it is {wanted.get(name)!r}; "
                "use the same settings and data, or start again without --resume"
            )


_requested = threading.Event()


def stop_requested() -> bool:
    """True after a signal arrived inside `saving_on_interrupt`."""
    return _requested.is_set()


@contextmanager
def saving_on_interrupt() -> Iterator[None]:
    """Within the block the first SIGINT or SIGTERM only sets `stop_requested`."""
    if threading.current_thread() is not threading.main_thread():  # signals can be caught by the main thread only
        yield
        return
    _requested.clear()
    previous = {number: signal.signal(number, _request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        _requested.clear()


def _request(number: int, frame: FrameType | None) -> None:
    if _requested.is_set():
        raise KeyboardInterrupt
    _requested.set()
    print("stopping after this step; continue later with --resume", file=sys.stderr, flush=True)
