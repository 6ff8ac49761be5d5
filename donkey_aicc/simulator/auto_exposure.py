"""What the camera's own electronics do to a picture: exposure time, gain and white balance, each late."""

import math

import numpy as np

from donkey_aicc.simulator.lighting import MAX_WARMTH, wander

TARGET_GREY = 128.0
LONGEST = 0.8  # exposure up to which a longer shutter does it alone; 1 exposes average light well
MAX_EXPOSURE, MIN_EXPOSURE = 3.2, 0.25  # hence at most 4 times gain
_LAG_FRAMES = 8.0  # 0.4 s
_SLACK = 0.1  # of a change of light, in stops, that stays visible: dim rooms look a little dim
_BALANCE_FRAMES, _BALANCE_SHARE = 60.0, 0.5  # 3 s, and never the whole way
_HUNTING_SPREAD, _HUNTING_FRAMES = 0.015, 12.0
_DRIFT_SPREAD, _DRIFT_FRAMES = 0.012, 400.0


class AutoExposure:
    """Follows the brightness of the frames it has made; `reset` starts as a camera that has looked at this light for a while."""

    def __init__(self) -> None:
        self.reset()

    def reset(self, light: float = 1.0, warmth: float = 0.0, rng: np.random.Generator | None = None) -> None:
        self._exposure = min(max(1.0 / light, MIN_EXPOSURE), MAX_EXPOSURE)
        self._balance = _BALANCE_SHARE * warmth
        self._hunting, self._drift = 0.0, _DRIFT_SPREAD * float(rng.standard_normal()) if rng is not None else 0.0

    @property
    def exposure(self) -> float:
        """Shutter and gain together; 1 exposes average light well."""
        return self._exposure * math.exp(self._hunting)

    @property
    def gain(self) -> float:
        """How much of the exposure is amplified, and the noise with it: 1 to 4."""
        return max(1.0, self._exposure / LONGEST)

    @property
    def shutter(self) -> float:
        """How long the shutter is open, of the longest time."""
        return min(1.0, self._exposure / LONGEST)

    def tint(self, warmth: float) -> float:
        """What is left of the light's warmth after the white balance, within +-MAX_WARMTH."""
        return min(max(warmth - self._balance + self._drift, -MAX_WARMTH), MAX_WARMTH)

    def look_at(self, grey: float, warmth: float, rng: np.random.Generator) -> None:
        """Adjust to a frame's mean grey (0 to 255) and the light's warmth, a step of the way."""
        hunting, drift = rng.standard_normal(2).tolist()
        self._hunting = wander(self._hunting, _HUNTING_SPREAD, _HUNTING_FRAMES, hunting)
        self._drift = wander(self._drift, _DRIFT_SPREAD, _DRIFT_FRAMES, drift)
        too_dark = TARGET_GREY * self._exposure**-_SLACK / max(grey, 1.0)
        self._exposure = min(max(self._exposure * too_dark ** (1.0 / _LAG_FRAMES), MIN_EXPOSURE), MAX_EXPOSURE)
        self._balance += (_BALANCE_SHARE * warmth - self._balance) / _BALANCE_FRAMES
