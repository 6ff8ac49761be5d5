"""Rounding finished weights to 16 bits, which halves the bundle, where the outputs show that it costs nothing."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

NIL = 2e-3  # change of the output, RMS over its standard deviation, that is far below every other source of error


@torch.no_grad()
def round_weights(net: nn.Module, outputs: Callable[[], Tensor]) -> dict[str, Any]:
    """Round the net in place and measure what that does to `outputs()`; undone when it does more than NIL."""
    exact = {name: value.clone() for name, value in net.state_dict().items()}
    before = outputs()
    net.load_state_dict({name: v.half().float() if v.is_floating_point() else v for name, v in exact.items()})
    after = outputs()
    spread = before.std().clamp(min=1e-12)
    change = float((after - before).square().mean().sqrt() / spread)
    nil = change <= NIL  # False for NaN: a value beyond the range of float16
    if not nil:
        net.load_state_dict(exact)
    return {"dtype": "float16" if nil else "float32", "output_change": change if change == change else None}
