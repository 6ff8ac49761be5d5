"""The light in the room, and what the camera's own electronics make of it.

Another brightness and colour on every drive, clouds while driving, lamps and shadows by place; exposure time, gain and white
balance, each late.
"""

import math

import numpy as np

from donkey_aicc.simulator.ground import scene_rng, smooth_field
from donkey_aicc.simulator.track import Track

NOMINAL_LIGHT = (0.4, 2.2)  # of average light: what a nominal drive may meet anywhere; the camera can expose for all of it
MAX_WARMTH = 0.12
_DAY_LIGHT, _DAY_WARMTH = (0.6, 1.6), 0.09  # drawn once per drive
_PLACE_SPREAD, _PLACE_WARMTH = 0.08, 0.03
_CLOUD_SPREAD, _CLOUD_FRAMES = 0.10, 300.0  # relative, in about 15 s
_FLICKER = 0.006
_CELL_M = 0.1


class Lighting:
    """Brightness and colour of the light, frame by frame. Its slow parts move one step per frame."""

    def __init__(self, track: Track):
        xmin, ymin, xmax, ymax = track.arena
        self._origin = (xmin, ymin)
        shape = (math.ceil((ymax - ymin) / _CELL_M), math.ceil((xmax - xmin) / _CELL_M))
        rng = scene_rng(track, "lighting")
        hills = (shape[0] // 18 + 2, shape[1] // 18 + 2)
        self._brightness = np.clip(_PLACE_SPREAD * smooth_field(rng, shape, hills), -0.2, 0.2)
        self._warmth = np.clip(_PLACE_WARMTH * smooth_field(rng, shape, hills), -0.06, 0.06)
        self.reset()

    def reset(self, rng: np.random.Generator | None = None) -> None:
        """Back to average light, or with a generator to light as it may be on any day."""
        self.day, self.day_warmth, self._cloud = 1.0, 0.0, 0.0
        if rng is not None:
            low, high = (math.log(limit) for limit in _DAY_LIGHT)
            self.day = math.exp(float(rng.uniform(low, high)))
            self.day_warmth = float(rng.uniform(-_DAY_WARMTH, _DAY_WARMTH))
            self._cloud = _CLOUD_SPREAD * float(rng.standard_normal())

    def next_frame(self, x: float, y: float, rng: np.random.Generator) -> tuple[float, float]:
        """(light, warmth) at a place: a factor of average light, and by how much red gains and blue loses."""
        cloud, flicker = rng.standard_normal(2).tolist()
        self._cloud = wander(self._cloud, _CLOUD_SPREAD, _CLOUD_FRAMES, cloud)
        row = min(max(int((y - self._origin[1]) / _CELL_M), 0), self._brightness.shape[0] - 1)
        col = min(max(int((x - self._origin[0]) / _CELL_M), 0), self._brightness.shape[1] - 1)
        light = self.day * (1.0 + float(self._brightness[row, col])) * math.exp(self._cloud + _FLICKER * flicker)
        return min(max(light, NOMINAL_LIGHT[0]), NOMINAL_LIGHT[1]), self.day_warmth + float(self._warmth[row, col])


def wander(value: float, spread: float, frames: float, noise: float) -> float:
    """One step of a value that strays by `spread` around 0 and forgets in about `frames` steps; noise is standard normal."""
    keep = math.exp(-1.0 / frames)
    return keep * value + spread * math.sqrt(1.0 - keep * keep) * noise


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
