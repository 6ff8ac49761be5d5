"""A track's painted floor and walls, made once and shared by every camera that looks at it."""

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from donkey_aicc.simulator.ground import make_ground
from donkey_aicc.simulator.track import Track
from donkey_aicc.simulator.walls import make_walls

MIP_LEVELS = 5


@dataclass(frozen=True, eq=False)
class Scenery:
    """floor_mips: the floor texture and its halvings, uint8 RGB. walls: see walls.py. to_pixel: world -> finest floor."""

    floor_mips: list[np.ndarray]
    walls: np.ndarray
    to_pixel: np.ndarray


@lru_cache(maxsize=8)
def scenery_of(track: Track) -> Scenery:
    """The scenery of a track; tracks are compared by identity, and `make_track` hands out the same one again."""
    ground = make_ground(track)
    mips = [ground.texture]
    for _ in range(MIP_LEVELS - 1):
        mips.append(cv2.pyrDown(mips[-1]))
    return Scenery(mips, make_walls(track), ground.to_pixel)
