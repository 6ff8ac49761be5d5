"""VisionPilot: the pilot net as a donkeycar part, in numpy: so small a net needs neither torch nor an exported graph."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from threadpoolctl import threadpool_limits

from donkey_aicc.limits import drive_command
from donkey_aicc.nets.pilot_file import CONVOLUTIONS, HEAD, pilot_weights
from donkey_aicc.nets.preprocess import to_model_image

if TYPE_CHECKING:
    from donkey_aicc.nets.pilot_net import PilotNet

logger = logging.getLogger(__name__)

# Threads and vector instructions change the last bits of a sum. In double precision and rounded afterwards they never reach
# the servo, so that the same frames give the same drive on every machine.
COMMAND_DIGITS = 5


class VisionPilot:
    """donkeycar's pilot interface: load(path), run(image) -> (angle, throttle), shutdown().

    A frame it cannot use and a net that fails stop the car (0, 0): an exception in `run` would end the drive.
    """

    def __init__(self, threads: int = 1) -> None:
        threadpool_limits(threads, user_api="blas")  # more would only steal time from the camera and the recording
        self._layers: _Layers | None = None
        self._complained = False

    @classmethod
    def of(cls, net: "PilotNet") -> "VisionPilot":
        """A pilot around a net that is already in memory, as it is now."""
        pilot = cls()
        pilot._layers = _Layers({name: value.detach().cpu().numpy() for name, value in net.state_dict().items()})
        return pilot

    def load(self, model_path: str | Path) -> None:
        """Read the weights; raises AiccError on a file that cannot be used."""
        self._layers = _Layers(pilot_weights(model_path))

    def run(self, img_arr: np.ndarray | None, *_: object) -> tuple[float, float]:
        """(H, W, 3) uint8 RGB frame -> steering (+1 right) and throttle in [-1, 1]."""
        if img_arr is None or self._layers is None:
            return 0.0, 0.0
        try:
            steering, throttle = self._layers.command(to_model_image(img_arr))
        except Exception as error:
            self._complain(error)
            return 0.0, 0.0
        return drive_command(round(steering, COMMAND_DIGITS)), drive_command(round(throttle, COMMAND_DIGITS))

    def _complain(self, error: Exception) -> None:
        if not self._complained:  # once: the same is true of every frame that follows
            logger.error(f"the pilot stops the car: {error}")
            self._complained = True

    def shutdown(self) -> None:
        """Nothing to release."""


class _Layers:
    """PilotNet's layers in double precision."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self._weights = {name: value.astype(np.float64) for name, value in weights.items()}
        # (out, in, k, k) -> (k k in, out): a convolution is then one product
        self._kernels = {
            name: self._weights[f"{name}.weight"].transpose(2, 3, 1, 0).reshape(-1, shape[0])
            for name, (shape, _) in CONVOLUTIONS.items()
        }

    def command(self, image: np.ndarray) -> list[float]:
        """(64, 64, 3) uint8 -> [steering, throttle]."""
        x = image / np.float32(255.0) - 0.5
        for name, (shape, stride) in CONVOLUTIONS.items():
            out, channels, *window = shape
            windows = sliding_window_view(x, (*window, channels))[::stride, ::stride, 0]  # (height, width, k, k, in)
            rows = windows.reshape(-1, len(self._kernels[name]))
            x = np.maximum(rows @ self._kernels[name] + self._weights[f"{name}.bias"], 0.0).reshape(*windows.shape[:2], out)
        x = x.transpose(2, 0, 1).ravel()
        *hidden, last = HEAD
        for name in hidden:
            x = np.maximum(self._linear(name, x), 0.0)
        return np.tanh(self._linear(last, x)).tolist()

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return self._weights[f"{name}.weight"] @ x + self._weights[f"{name}.bias"]
