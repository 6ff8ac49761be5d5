"""SafetyPredictor: from a camera frame, or the last few, to the probability that the car is still safe k steps from now."""

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.nets.preprocess import NO_HISTORY, History
from donkey_aicc.nets.runtime import Runtime, runtime_of
from donkey_aicc.parts.frame_intake import FrameIntake, SeenFrame
from donkey_aicc.scoring.tta_views import sigmoid

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

logger = logging.getLogger(__name__)


class SafetyPredictor:
    """Donkeycar part: image, steering -> p_safe, one probability per horizon; an empty list when there is none.

    A predictor with history remembers the last frames and their steering; one without takes no notice of the steering.
    An empty list and not None, because donkeycar keeps a channel's old value when a part returns None.
    intake: the one that the monitor's parts share; without one it looks for itself where a sequence begins.
    """

    def __init__(self, nets: "Runtime | Bundle", intake: FrameIntake | None = None) -> None:
        self.runtime = runtime_of(nets)
        self.intake = intake or FrameIntake()
        self.horizons, lags = self.runtime.horizons, self.runtime.lags
        self._history, self._needs_command = History(lags, self.runtime.action_stats), tuple(lags) != NO_HISTORY
        self._usual = self.runtime.action_stats.mean[None]  # (1, 2) steering, throttle
        self._complained = False

    def reset(self) -> None:
        """The next frame is the first of a new sequence."""
        self.intake.reset()

    def run(self, image: Any, steering: Any = None) -> list[float]:
        """image: (H, W[, C]) of any size, or what the intake has seen; never raises."""
        images = self.to_input(self.intake.see(image), steering)
        if images is None:
            return []
        try:
            return finite_list(sigmoid(self.runtime.predict(images)[1])[0])
        except Exception as error:  # a net that fails must not end the drive
            self.complain(error)
            return []

    def complain(self, error: Exception) -> None:
        """Say that a net failed, but only once: it may do so in every tick that follows."""
        if not self._complained:
            self._complained = True
            logger.error("no safety prediction: %r", error)

    def to_input(self, seen: SeenFrame, steering: Any = None) -> np.ndarray | None:
        """(1, C, 64, 64) for the net, or None for a frame that cannot be used: the next one then starts a sequence."""
        command = self._command(steering)
        if seen.image is None or command is None:
            self.reset()
            return None
        if seen.number == 0:
            self._history.reset()
        return self._history.push(seen.image[None], command)

    def _command(self, steering: Any) -> np.ndarray | None:
        """(1, 2), the steering within [-1, 1] as tubs are read, or None where a predictor with history lacks it."""
        if not self._needs_command:
            return self._usual
        command = self._usual.copy()  # of the throttle it takes no notice
        try:
            command[0, 0] = steering
        except Exception:  # a text, 10**400
            return None
        return np.clip(command, -1.0, 1.0) if np.isfinite(command).all() else None

    def shutdown(self) -> None:
        """Ready for another drive."""
        self._complained = False
        self.intake.shutdown()


def finite_list(values: np.ndarray) -> list[float]:
    """Plain floats; empty if one of them is not finite."""
    return values.tolist() if bool(np.isfinite(values).all()) else []
