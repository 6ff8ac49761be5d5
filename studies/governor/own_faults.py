"""Faults that nothing was fitted on, in five classes: what goes wrong on a car outside of the four test protocols.

Each begins as suddenly as those do. A fault of the picture or of its timing changes what the camera gives, another driver what is
meant; a fault of the actuators stands behind the governor, where nobody sees the command that it makes of ours.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from donkey_aicc.faults.fault import Fault, make_fault

See = Callable[[np.ndarray, int], np.ndarray]  # (H, W, 3) uint8 and the number of the tick -> the same
Send = Callable[[float, float, int], tuple[float, float]]
PICTURE, TIMING, GEOMETRY, ACTUATOR, DRIVER = CLASSES = ("picture", "timing", "camera geometry", "actuator", "another driver")
SEVERITY = 3  # of the package's own faults among them


@dataclass(frozen=True)
class OwnFault:
    """make(seed) -> what it does; where it does it follows from its class."""

    kind: str
    make: Callable[..., Any] | None = None  # a See or a Send; None: the package's


class Played:
    """One side of a fault, tick by tick."""

    def __init__(self, do: Callable[..., tuple[float, float] | np.ndarray]) -> None:
        self._do, self._tick = do, -1

    def run(self, *given):
        self._tick += 1
        return self._do(*given, self._tick)

    def reset(self) -> None:
        self._tick = -1


def played(name: str, seed: int, rate_hz: float) -> tuple[Fault, Played | None]:
    """The fault of one drive, and what it does behind the governor."""
    own = OWN_FAULTS[name]
    if own.make is None:
        return make_fault(name, SEVERITY, rate_hz=rate_hz, seed=seed), None
    side = Played(own.make(np.random.default_rng([seed, list(OWN_FAULTS).index(name), 18])))
    camera, driver = own.kind in (PICTURE, TIMING, GEOMETRY), own.kind == DRIVER
    fault = Fault(name, SEVERITY, side if camera else None, side if driver else None)
    return fault, None if camera or driver else side


def _bounded(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def flicker(rng: np.random.Generator) -> See:
    """A lamp on a bad mains: every other picture darker."""
    return lambda image, tick: _bounded(image * (0.7 if tick % 2 else 1.0))


def gamma(rng: np.random.Generator) -> See:
    table = _bounded(255.0 * (np.arange(256) / 255.0) ** 1.6)
    return lambda image, tick: table[image]


def dirty_lens(rng: np.random.Generator) -> See:
    """Soft grey spots on a tenth of the picture."""
    spots = rng.uniform(size=(12, 2))

    def see(image: np.ndarray, tick: int) -> np.ndarray:
        height, width = image.shape[:2]
        dirt = np.zeros((height, width), np.float32)
        for x, y in spots:
            cv2.circle(dirt, (int(x * width), int(y * height)), max(2, width // 20), 1.0, -1)
        dirt = cv2.GaussianBlur(dirt, (0, 0), width / 60)[..., None]
        return _bounded(image * (1.0 - 0.8 * dirt) + 90.0 * 0.8 * dirt)

    return see


def half_missing(rng: np.random.Generator) -> See:
    """The lower half of every picture is lost on its way."""
    return lambda image, tick: np.concatenate([image[: image.shape[0] // 2], np.zeros_like(image[image.shape[0] // 2 :])])


def glare(rng: np.random.Generator) -> See:
    """The sun in one place of the lens."""
    x, y = rng.uniform(0.2, 0.8), rng.uniform(0.1, 0.6)

    def see(image: np.ndarray, tick: int) -> np.ndarray:
        height, width = image.shape[:2]
        rows, columns = np.mgrid[:height, :width]
        far = ((rows / height - y) ** 2 + (columns / width - x) ** 2)[..., None]
        return _bounded(image + 320.0 * np.exp(-far / 0.03))

    return see


def colour_cast(rng: np.random.Generator) -> See:
    gains = rng.permutation([0.6, 1.0, 1.35])
    return lambda image, tick: _bounded(image * gains)


def stripes(rng: np.random.Generator) -> See:
    """A disturbed cable: rows that wander through the picture."""

    def see(image: np.ndarray, tick: int) -> np.ndarray:
        spoilt = image.copy()
        spoilt[(np.arange(image.shape[0]) + 3 * tick) % 16 < 3] = 200
        return spoilt

    return see


def five_hz(rng: np.random.Generator) -> See:
    return _shown_again(lambda tick: tick % 4 == 0)


def every_picture_twice(rng: np.random.Generator) -> See:
    return _shown_again(lambda tick: tick % 2 == 0)


def short_freezes(rng: np.random.Generator) -> See:
    """Half a second of every three the picture stands still."""
    return _shown_again(lambda tick: tick % 60 >= 10)


def _shown_again(is_new: Callable[[int], bool]) -> See:
    last: list[np.ndarray] = []

    def see(image: np.ndarray, tick: int) -> np.ndarray:
        if not last or is_new(tick):
            last[:] = [image.copy()]
        return last[0].copy()

    return see


def out_of_order(rng: np.random.Generator) -> See:
    """A network: any of the last four pictures."""
    seen: deque[np.ndarray] = deque(maxlen=4)

    def see(image: np.ndarray, tick: int) -> np.ndarray:
        seen.append(image.copy())
        return seen[int(rng.integers(len(seen)))].copy()

    return see


def late_pictures(rng: np.random.Generator) -> See:
    """Three ticks late, without any freeze."""
    seen: deque[np.ndarray] = deque(maxlen=4)

    def see(image: np.ndarray, tick: int) -> np.ndarray:
        seen.append(image.copy())
        return seen[0].copy()

    return see


def _warped(matrix_of: Callable[[int, int], np.ndarray]) -> See:
    def see(image: np.ndarray, tick: int) -> np.ndarray:
        height, width = image.shape[:2]
        matrix = np.asarray(matrix_of(width, height), dtype=np.float64)
        return cv2.warpAffine(image, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)

    return see


def rolled(rng: np.random.Generator) -> See:
    angle = float(rng.choice([-14.0, 14.0]))
    return _warped(lambda width, height: cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0))


def turned(rng: np.random.Generator) -> See:
    side = float(rng.choice([-0.12, 0.12]))
    return _warped(lambda width, height: np.array([[1.0, 0.0, side * width], [0.0, 1.0, 0.0]]))


def lifted(rng: np.random.Generator) -> See:
    return _warped(lambda width, height: np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.12 * height]]))


def zoomed(rng: np.random.Generator) -> See:
    return _warped(lambda width, height: cv2.getRotationMatrix2D((width / 2, height / 2), 0.0, 1.35))


def mirrored(rng: np.random.Generator) -> See:
    return lambda image, tick: np.ascontiguousarray(image[:, ::-1])


def servo_stuck(rng: np.random.Generator) -> Send:
    held: list[float] = []

    def send(steering: float, throttle: float, tick: int) -> tuple[float, float]:
        held[:] = held or [steering]
        return held[0], throttle

    return send


def servo_dead(rng: np.random.Generator) -> Send:
    return lambda steering, throttle, tick: (0.0, throttle)


def reversed_steering(rng: np.random.Generator) -> Send:
    return lambda steering, throttle, tick: (-steering, throttle)


def weak_steering(rng: np.random.Generator) -> Send:
    return lambda steering, throttle, tick: (0.45 * steering, throttle)


def offset_steering(rng: np.random.Generator) -> Send:
    side = float(rng.choice([-0.3, 0.3]))
    return lambda steering, throttle, tick: (float(np.clip(steering + side, -1.0, 1.0)), throttle)


def slow_servo(rng: np.random.Generator) -> Send:
    at: list[float] = []

    def send(steering: float, throttle: float, tick: int) -> tuple[float, float]:
        last = at[0] if at else steering
        at[:] = [last + float(np.clip(steering - last, -0.06, 0.06))]
        return at[0], throttle

    return send


def loose_link(rng: np.random.Generator) -> Send:
    """The wheels follow only what is more than the play."""
    at: list[float] = []

    def send(steering: float, throttle: float, tick: int) -> tuple[float, float]:
        last = at[0] if at else steering
        at[:] = [float(np.clip(last, steering - 0.25, steering + 0.25))]
        return at[0], throttle

    return send


def cutting_out(rng: np.random.Generator) -> Send:
    """A bad contact: straight ahead for half of every second."""
    return lambda steering, throttle, tick: (0.0 if tick % 20 < 10 else steering, throttle)


def jerky(rng: np.random.Generator) -> Send:
    return lambda steering, throttle, tick: (float(np.clip(steering + rng.normal(0.0, 0.2), -1.0, 1.0)), throttle)


def weaving(rng: np.random.Generator) -> Send:
    return lambda steering, throttle, tick: (float(np.clip(steering + 0.3 * np.sin(tick / 6.0), -1.0, 1.0)), throttle)


def hurried(rng: np.random.Generator) -> Send:
    return lambda steering, throttle, tick: (steering, min(1.35 * throttle, 1.0))


def stop_and_go(rng: np.random.Generator) -> Send:
    return lambda steering, throttle, tick: (steering, throttle if tick % 40 < 25 else 0.0)


def firm_hand(rng: np.random.Generator) -> Send:
    return lambda steering, throttle, tick: (float(np.clip(1.8 * steering, -1.0, 1.0)), throttle)


_MADE: dict[str, tuple[Callable[..., Any], ...]] = {
    PICTURE: (flicker, gamma, dirty_lens, half_missing, glare, colour_cast, stripes),
    TIMING: (five_hz, every_picture_twice, short_freezes, out_of_order, late_pictures),
    GEOMETRY: (rolled, turned, lifted, zoomed, mirrored),
    ACTUATOR: (servo_stuck, servo_dead, reversed_steering, weak_steering, offset_steering, slow_servo, loose_link, cutting_out),
    DRIVER: (jerky, weaving, hurried, stop_and_go, firm_hand),
}
_OF_THE_PACKAGE = {PICTURE: ("occlusion", "over_exposure"), TIMING: ("frame_drop",)}
OWN_FAULTS = {make.__name__: OwnFault(kind, make) for kind in CLASSES for make in _MADE[kind]}
OWN_FAULTS |= {name: OwnFault(kind) for kind, names in _OF_THE_PACKAGE.items() for name in names}
