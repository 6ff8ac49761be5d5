"""SafetyPredictor: from a camera frame, or the last few, to the probability that the car is still safe k steps from now."""

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.history import History
from donkey_aicc.nets.preprocess import to_model_image
from donkey_aicc.nets.runtime import Runtime, runtime_of
from donkey_aicc.scoring.tta_views import sigmoid

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

logger = logging.getLogger(__name__)
_NO_COMMAND = np.zeros((1, 2), dtype=np.float32)


class SafetyPredictor:
    """Donkeycar part: image, steering -> p_safe, one probability per horizon; an empty list when there is none.

    A predictor with history remembers the last frames and their steering; one without takes no notice of the steering.
    An empty list and not None, because donkeycar keeps a channel's old value when a part returns None.
    """

    def __init__(self, nets: "Runtime | Bundle") -> None:
        self.runtime = runtime_of(nets)
        self.horizons, lags = self.runtime.horizons, self.runtime.lags
        self._history, self._needs_command = History(lags, self.runtime.action_stats), len(lags) > 1
        self._complained = False

    def reset(self) -> None:
        """The next frame is the first of a new sequence."""
        self._history.reset()

    def run(self, image: np.ndarray | None, steering: Any = None) -> list[float]:
        """image: (H, W[, C]) of any size; never raises."""
        images = self.to_input(image, steering)
        if images is None:
            return []
        return finite_list(sigmoid(self.runtime.predict(images)[1])[0])

    def to_input(self, image: Any, steering: Any = None) -> np.ndarray | None:
        """(1, C, 64, 64) for the net, or None for a frame that cannot be used: the next one then starts a sequence."""
        command = self._command(steering)
        try:
            if image is not None and command is not None:
                return self._history.push(to_model_image(image)[None], command)
        except AiccError as error:
            if not self._complained:  # once: it is true of every frame that follows
                logger.error("no safety prediction: %s", error)
                self._complained = True
        self.reset()
        return None

    def _command(self, steering: Any) -> np.ndarray | None:
        """(1, 2), the steering within [-1, 1] as tubs are read, or None where a predictor with history lacks it."""
        if not self._needs_command:
            return _NO_COMMAND
        try:
            command = np.array([[steering, 0.0]], dtype=np.float32)
        except (TypeError, ValueError):
            return None
        return np.clip(command, -1.0, 1.0) if np.isfinite(command).all() else None

    def shutdown(self) -> None:
        """Ready for another drive."""
        self._complained = False
        self.reset()


def finite_list(values: np.ndarray) -> list[float]:
    """Plain floats; empty if one of them is not finite."""
    return values.tolist() if bool(np.isfinite(values).all()) else []
