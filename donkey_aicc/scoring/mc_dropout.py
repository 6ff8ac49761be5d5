"""MC dropout of the safety predictor: spread of its probability over dropout samples of the fully connected part."""

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.inference import for_inference
from donkey_aicc.nets.safety_cnn import SafetyCNN

PASSES = 10


class McDropout:
    """Runs on torch: only offline tables have this column."""

    def __init__(self, net: SafetyCNN, passes: int = PASSES) -> None:
        if passes < 1:
            raise ConfigError(f"dropout passes must be >= 1, got {passes}")
        self._net, self._passes = for_inference(net), passes
        self._device = next(net.parameters()).device

    @torch.inference_mode()
    def spread(self, images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(B, C, 64, 64) -> (B, K): standard deviation of the probability. The masks are shared by the B frames.

        Dropout only acts behind the first fully connected layer, so all before it is computed once.
        """
        net = self._net
        first = net.seen(torch.from_numpy(images).to(self._device))
        p = []
        for _ in range(self._passes):
            features = torch.relu(net.second(first * _mask(rng, first, net.dropout.p)))
            p.append(torch.sigmoid(net.third(features * _mask(rng, features, net.dropout.p))))
        return torch.stack(p).std(dim=0, correction=0).cpu().numpy()


def _mask(rng: np.random.Generator, like: Tensor, drop: float) -> Tensor:
    kept = rng.random(like.shape[1], dtype=np.float32) >= drop
    return torch.from_numpy(kept.astype(np.float32) / np.float32(1.0 - drop)).to(like.device)
