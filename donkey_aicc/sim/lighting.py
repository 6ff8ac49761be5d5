"""How bright a frame is: where the car stands, how the day goes on, and a camera that keeps adjusting itself."""

import math

import numpy as np

from donkey_aicc.sim.ground import scene_rng, smooth_field
from donkey_aicc.sim.track import Track

_CELL_M = 0.1
_PLACE_SPREAD = 0.05
_WARMTH_SPREAD, MAX_WARMTH = 0.02, 0.06
_SLOW_SPREAD, _SLOW_FRAMES = 0.03, 1200.0  # clouds: about a minute
_EXPOSURE_SPREAD, _EXPOSURE_FRAMES = 0.02, 12.0  # auto-exposure hunting: about half a second
_FLICKER = 0.006


class Lighting:
    """Brightness and colour of the light, frame by frame. Its slow parts move one step per frame."""

    def __init__(self, track: Track):
        xmin, ymin, xmax, ymax = track.arena
        self._origin = (xmin, ymin)
        shape = (math.ceil((ymax - ymin) / _CELL_M), math.ceil((xmax - xmin) / _CELL_M))
        rng = scene_rng(track, "lighting")
        hills = (shape[0] // 18 + 2, shape[1] // 18 + 2)
        self._brightness = np.clip(_PLACE_SPREAD * smooth_field(rng, shape, hills), -0.2, 0.2)
        self._warmth = np.clip(_WARMTH_SPREAD * smooth_field(rng, shape, hills), -MAX_WARMTH, MAX_WARMTH)
        self.reset()

    def reset(self, rng: np.random.Generator | None = None) -> None:
        """Back to average light, or with a generator to light as it may be at any moment."""
        slow, exposure = rng.standard_normal(2).tolist() if rng is not None else (0.0, 0.0)
        self._slow, self._exposure = _SLOW_SPREAD * slow, _EXPOSURE_SPREAD * exposure

    def next_frame(self, x: float, y: float, rng: np.random.Generator) -> tuple[float, float]:
        """(gain, warmth) at a place: a factor around 1, and by how much red gains and blue loses."""
        slow, exposure, flicker = rng.standard_normal(3).tolist()
        self._slow = _wander(self._slow, _SLOW_SPREAD, _SLOW_FRAMES, slow)
        self._exposure = _wander(self._exposure, _EXPOSURE_SPREAD, _EXPOSURE_FRAMES, exposure)
        row = min(max(int((y - self._origin[1]) / _CELL_M), 0), self._brightness.shape[0] - 1)
        col = min(max(int((x - self._origin[0]) / _CELL_M), 0), self._brightness.shape[1] - 1)
        gain = 1.0 + float(self._brightness[row, col]) + self._slow + self._exposure + _FLICKER * flicker
        return gain, float(self._warmth[row, col])


def _wander(value: float, spread: float, frames: float, noise: float) -> float:
    keep = math.exp(-1.0 / frames)
    return keep * value + spread * math.sqrt(1.0 - keep * keep) * noise
