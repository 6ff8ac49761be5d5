"""TorchPilot: the vision pilot as a donkeycar part."""

import copy
import logging
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.limits import drive_command
from donkey_aicc.nets.pilot_file import load_pilot
from donkey_aicc.nets.preprocess import images_to_tensor, to_model_image

logger = logging.getLogger(__name__)

# Threads and vector instructions change the last bits of a sum. In double precision and rounded afterwards they never reach
# the servo, so that the same frames give the same drive on every machine. It costs a tenth of a millisecond.
COMMAND_DIGITS = 5


class TorchPilot:
    """donkeycar's pilot interface: load(path), run(image) -> (angle, throttle), shutdown().

    A frame it cannot use stops the car (0, 0) instead of raising, because an exception in `run` ends the drive.
    """

    def __init__(self, threads: int = 1) -> None:
        import torch

        # The net is so small that more threads only steal time from the camera and the recording.
        torch.set_num_threads(threads)
        self._net: Any = None
        self._complained = False

    @classmethod
    def of(cls, net: Any) -> "TorchPilot":
        """A pilot around a net that is already in memory."""
        pilot = cls()
        pilot._net = copy.deepcopy(net).double().eval()
        return pilot

    def load(self, model_path: str | Path) -> None:
        """Read the weights; raises AiccError on a file that cannot be used."""
        self._net = load_pilot(model_path).double()

    def run(self, img_arr: np.ndarray | None, *_: object) -> tuple[float, float]:
        """(H, W, 3) uint8 RGB frame -> steering (+1 right) and throttle in [-1, 1]."""
        import torch

        if img_arr is None or self._net is None:
            return 0.0, 0.0
        try:
            image = to_model_image(img_arr)
        except AiccError as error:
            self._complain(error)
            return 0.0, 0.0
        with torch.inference_mode():
            steering, throttle = self._net(images_to_tensor(image[None]).double())[0].tolist()
        return drive_command(round(steering, COMMAND_DIGITS)), drive_command(round(throttle, COMMAND_DIGITS))

    def _complain(self, error: Exception) -> None:
        if not self._complained:  # once: the same is true of every frame that follows
            logger.error(f"the pilot stops the car: {error}")
            self._complained = True

    def shutdown(self) -> None:
        """Nothing to release."""
