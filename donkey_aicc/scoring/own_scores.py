"""Anomaly scores of users and of other packages, beside ours: a further channel of the calibrator and of the alarm."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError

Score = Callable[[np.ndarray, float, float], float]
OWN_SCORES: dict[str, Callable[[], Score]] = {}


def register_score(name: str, make: Callable[[], Score]) -> None:
    """Add an anomaly score of your own: `calibrate --scores NAME` makes it a channel of that bundle's calibrator and alarm.

    It is computed where ours are: on the car in the scorer's thread, offline for every frame of a tub, by the same code. The
    calibrator stores its name, and a car that does not know the name refuses the bundle.

    Args:
        name: small letters, digits and underscores, such as `blur_meter`; the name of its score everywhere.
        make: called as make() at the start of every sequence. It returns a function that is called once per frame, in order, as
            score(image, steering, throttle): image (64, 64, 3) uint8 RGB, the commands as sent, each -1 to 1. It returns a
            finite number, larger where the frame is stranger, in any unit: nominal drives set its scale.

    Example:
        >>> from donkey_aicc import register_score
        >>> def glare():
        ...     def score(image, steering, throttle):
        ...         return float((image > 250).mean())
        ...     return score
        >>> register_score("glare", glare)
    """
    from donkey_aicc.scoring.statistics import SCORE_NAMES

    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) or name.endswith("_z"):
        raise ConfigError(
            f"a score's name must be small letters, digits and underscores, 40 at most, not ending in _z, got {name!r}"
        )
    if name in SCORE_NAMES:
        raise ConfigError(f"a score's name must be new, got {name!r}, which is one of ours")
    if not callable(make):
        raise ConfigError(f"make of the score {name} must be callable, got {make!r}")
    OWN_SCORES[name] = make


class OwnScores:
    """The named scores of L lanes that start together."""

    def __init__(self, names: Sequence[str], lanes: int) -> None:
        unknown = [name for name in names if name not in OWN_SCORES]
        if unknown:
            raise AiccError(
                f"the score {unknown[0]} is not registered here; it was added by its owner: name the file or module that calls "
                "register_score in AICC_PLUGINS, or install its package"
            )
        self._names = tuple(names)
        self._lanes = [[OWN_SCORES[name]() for name in names] for _ in range(lanes)]

    def update(self, images: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """images (L, 3, 64, 64) in [0, 1] and commands (L, 2) of the next frame -> (L, O)."""
        found = np.zeros((len(self._lanes), len(self._names)))
        if not self._names:
            return found
        pixels = np.rint(images.transpose(0, 2, 3, 1) * np.float32(255.0)).astype(np.uint8)
        for lane, scores in enumerate(self._lanes):
            for place, score in enumerate(scores):
                try:
                    found[lane, place] = score(pixels[lane].copy(), *commands[lane].tolist())
                except Exception as error:
                    raise AiccError(f"the score {self._names[place]} failed: {error!r}") from error
        return found

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._lanes = [self._lanes[lane] for lane in lanes]
