"""SafetyPredictor: from a camera frame to the probability that the car is still safe k steps from now."""

import logging
from typing import Any

import numpy as np
import torch

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import images_to_tensor, to_model_image
from donkey_aicc.scoring.inference import for_inference

logger = logging.getLogger(__name__)


class SafetyPredictor:
    """Donkeycar part: image -> p_safe, one probability per horizon; an empty list when there is none.

    An empty list and not None, because donkeycar keeps a channel's old value when a part returns None.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.net = for_inference(bundle.safety)
        self.horizons = bundle.horizons
        self._device = next(self.net.parameters()).device
        self._complained = False

    def run(self, image: np.ndarray | None) -> list[float]:
        """image: (H, W[, C]) of any size; never raises."""
        images = self.to_input(image)
        if images is None:
            return []
        with torch.inference_mode():
            return finite_list(torch.sigmoid(self.net(images))[0])

    def to_input(self, image: Any) -> torch.Tensor | None:
        """(1, 3, 64, 64) for the net, or None for a frame that cannot be used."""
        if image is None:
            return None
        try:
            return images_to_tensor(to_model_image(image)[None]).to(self._device)
        except AiccError as error:
            if not self._complained:  # once: it is true of every frame that follows
                logger.error("no safety prediction: %s", error)
                self._complained = True
            return None

    def shutdown(self) -> None:
        """Ready for another drive."""
        self._complained = False


def finite_list(values: torch.Tensor) -> list[float]:
    """Plain floats; empty if one of them is not finite."""
    return values.tolist() if bool(torch.isfinite(values).all()) else []
