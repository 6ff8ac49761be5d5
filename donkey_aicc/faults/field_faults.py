"""What cameras of real cars suffer from: lost pictures, a feed that stands still, dirt on the lens, too much light.

Each shares a family with a test protocol (Latency loses the newest pictures, Dark changes the exposure, dirt is out of focus like
Blur), so all of them are for tests: nothing may be fitted on them.
"""

from dataclasses import dataclass

import numpy as np

from donkey_aicc.faults.corruptions import clouds

DIRT_GREY, DIRT_OPACITY = 70.0, 0.92  # light from everywhere passes a smudge, so it is no black spot
_EDGE = 0.12  # of the range of the clouds: how soft a smudge ends


@dataclass(frozen=True)
class LostFramesParameters:
    """`drop_share` of the pictures get lost, one by one; about every `freeze_every_s` the feed stands still for `freeze_s`."""

    drop_share: float
    freeze_s: float
    freeze_every_s: float


@dataclass(frozen=True)
class OcclusionParameters:
    """Smudges hide `cover` of the picture, at the same places during an episode."""

    cover: float


@dataclass(frozen=True)
class OverExposureParameters:
    """The exposure is stuck `stops` too high: what is bright turns white."""

    stops: float


class LostFrames:
    """In place of a lost picture comes the last one, as donkeycar does it."""

    def __init__(self, parameters: LostFramesParameters, rate_hz: float, seed: tuple[int, ...]) -> None:
        self.parameters, self.rate_hz, self.seed = parameters, rate_hz, seed
        self.reset()

    def reset(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._shown: np.ndarray | None = None
        self._still_ticks, self._until_still = 0, self._pause()

    def _pause(self) -> int:
        """Ticks until the feed next stands still; within half of the stated pause, so that it cannot be foreseen."""
        return max(1, round(self._rng.uniform(0.5, 1.5) * self.parameters.freeze_every_s * self.rate_hz))

    def run(self, image: np.ndarray) -> np.ndarray:
        lost = self._rng.random() < self.parameters.drop_share or self._stands_still()
        if self._shown is None or not lost or self._shown.shape != image.shape:
            self._shown = image.copy()
        return self._shown.copy()

    def _stands_still(self) -> bool:
        if not self._still_ticks:
            self._until_still -= 1
            if self._until_still:
                return False
            self._still_ticks, self._until_still = round(self.parameters.freeze_s * self.rate_hz), self._pause()
        self._still_ticks = max(self._still_ticks - 1, 0)
        return self.parameters.freeze_s > 0.0


class Occlusion:
    """A dirty lens."""

    def __init__(self, parameters: OcclusionParameters, seed: tuple[int, ...]) -> None:
        self.parameters, self.seed = parameters, seed
        self._hides = np.zeros((0, 0), np.float32)

    def reset(self) -> None:
        """The dirt stays where it is."""

    def run(self, image: np.ndarray) -> np.ndarray:
        if self._hides.shape != image.shape[:2]:
            self._hides = self._smudges(image.shape[:2])
        hides = self._hides.reshape(image.shape[:2] + (1,) * (image.ndim - 2))
        return (image + hides * (DIRT_GREY - image) + np.float32(0.5)).astype(image.dtype)

    def _smudges(self, shape: tuple[int, ...]) -> np.ndarray:
        """(H, W) float32: how much of each pixel is dirt."""
        field = clouds(shape, np.random.default_rng(self.seed), roughness=0.4)
        least = np.quantile(field, 1.0 - self.parameters.cover)
        return np.float32(DIRT_OPACITY) * np.clip((field - least) / _EDGE + 0.5, 0.0, 1.0).astype(np.float32)


class OverExposure:
    """Too much light for as long as the episode lasts."""

    def __init__(self, parameters: OverExposureParameters) -> None:
        self.factor = 2.0**parameters.stops

    def run(self, image: np.ndarray) -> np.ndarray:
        return np.minimum(np.rint(image * np.float32(self.factor)), 255.0).astype(image.dtype)

    def reset(self) -> None:
        """Nothing is remembered between frames."""
