"""Labels from the colour of the floor before the car: colours that a person picked for road and for not-road."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import read_json, write_json
from donkey_aicc.labelling.answers import CLASSES, SAFE, UNSAFE
from donkey_aicc.labelling.footage import Footage
from donkey_aicc.labelling.proposal import FROM_COLOURS, NO_LABEL, NO_SOURCE, Proposal
from donkey_aicc.nets.preprocess import IMAGE_SIZE

ROAD, NOT_ROAD = "road", "not_road"
KINDS = (ROAD, NOT_ROAD)
MOST_PICKS = 40
REACH = 32.0  # in Lab: a pixel further from every picked colour is neither
LIGHT_WEIGHT = 0.5  # shadows change light more than colour
LEAST_SHARE = 0.4  # of the region, for a label
SLOPE = 1.25  # certainty per difference of the two shares: 0.32 apart is 0.9
STEPS = 32  # colours per channel in the table
PICKED = 2  # pixels around a pick whose median is the colour
OTHER, IS_ROAD, IS_NOT_ROAD = 0, 1, 2

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class FloorColours:
    """Picked RGB colours, and the region before the car as shares of the picture: left, top, right, bottom."""

    road: list[Colour] = field(default_factory=list)
    not_road: list[Colour] = field(default_factory=list)
    region: tuple[float, float, float, float] = (0.3, 0.8, 0.7, 1.0)
    used: bool = False  # labels come from these colours, not from the classifier

    def __post_init__(self) -> None:
        left, top, right, bottom = self.region
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1 and min(right - left, bottom - top) >= 2 / IMAGE_SIZE):
            raise AiccError(f"the region must be left < right and top < bottom within 0 and 1, got {list(self.region)}")
        for name in KINDS:
            if len(getattr(self, name)) > MOST_PICKS:
                raise AiccError(f"{name}: at most {MOST_PICKS} colours, got {len(getattr(self, name))}")

    def with_pick(self, kind: str, colour: Colour) -> "FloorColours":
        if kind == ROAD:
            return replace(self, road=[*self.road, colour])
        return replace(self, not_road=[*self.not_road, colour])

    def save(self, path: str | Path) -> None:
        write_json(path, {ROAD: self.road, NOT_ROAD: self.not_road, "region": list(self.region), "used": self.used})

    @classmethod
    def load(cls, path: str | Path) -> "FloorColours":
        stored = read_json(path, "it must hold road and not_road (lists of RGB colours) and region (four shares)")
        if not isinstance(stored, dict):
            raise AiccError(f"{path} must hold an object with road, not_road and region")
        found = {name: [_colour(path, name, each) for each in _listed(path, name, stored.get(name, []))] for name in KINDS}
        region = _listed(path, "region", stored.get("region", list(cls().region)))
        if len(region) != 4 or not all(isinstance(each, int | float) for each in region):
            raise AiccError(f"{path}: region must be four numbers, got {region!r}")
        left, top, right, bottom = (float(each) for each in region)
        return cls(found[ROAD], found[NOT_ROAD], (left, top, right, bottom), stored.get("used") is True)

    @property
    def complete(self) -> bool:
        """Both kinds have a colour."""
        return bool(self.road and self.not_road)

    def table(self) -> np.ndarray:
        """(32, 32, 32) uint8: OTHER, IS_ROAD or IS_NOT_ROAD for every colour, by the nearest picked one."""
        if not self.complete:
            raise AiccError("pick at least one colour of the road and one of what is not road")
        levels = (np.arange(STEPS) * (256 // STEPS) + 128 // STEPS).astype(np.uint8)
        every = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
        picked = np.array([*self.road, *self.not_road], dtype=np.uint8)
        squared = np.square(_lab(every)[:, None] - _lab(picked)).sum(axis=2)
        kinds = np.repeat([IS_ROAD, IS_NOT_ROAD], [len(self.road), len(self.not_road)])[squared.argmin(axis=1)]
        return np.where(squared.min(axis=1) <= REACH**2, kinds, OTHER).astype(np.uint8).reshape(STEPS, STEPS, STEPS)

    def pixels(self, height: int, width: int) -> tuple[slice, slice]:
        """Rows and columns of the region in a picture of that size."""
        left, top, right, bottom = self.region
        rows = slice(int(top * height), max(int(round(bottom * height)), int(top * height) + 1))
        return rows, slice(int(left * width), max(int(round(right * width)), int(left * width) + 1))

    def shares(self, footage: Footage) -> np.ndarray:
        """(N, 2) float32: share of road and of not-road in the region of each frame."""
        table = self.table()
        rows, columns = self.pixels(IMAGE_SIZE, IMAGE_SIZE)
        found = []
        for drive in footage.drives:
            kinds = kinds_of(np.asarray(drive.images[:, rows, columns]), table)
            found.append(np.stack([(kinds == kind).mean(axis=(1, 2)) for kind in (IS_ROAD, IS_NOT_ROAD)], axis=1))
        return np.concatenate(found).astype(np.float32)


def kinds_of(images: np.ndarray, table: np.ndarray) -> np.ndarray:
    """(...,) uint8 for (..., 3) uint8 RGB."""
    coarse = images // (256 // STEPS)
    return np.asarray(table[coarse[..., 0], coarse[..., 1], coarse[..., 2]])


def colour_at(image: np.ndarray, x: float, y: float) -> Colour:
    """Median colour around a point given in shares of the picture."""
    if not (0 <= x <= 1 and 0 <= y <= 1):
        raise AiccError(f"a pick must lie within the picture, got {x:.3g}, {y:.3g}")
    height, width = image.shape[:2]
    row, column = min(int(y * height), height - 1), min(int(x * width), width - 1)
    around = image[max(row - PICKED, 0) : row + PICKED + 1, max(column - PICKED, 0) : column + PICKED + 1]
    red, green, blue = np.median(around.reshape(-1, 3), axis=0).astype(int).tolist()
    return red, green, blue


def propose_by_colours(shares: np.ndarray, certainty: float) -> Proposal:
    """Safe where road fills enough of the region and clearly more than not-road, unsafe the other way round."""
    larger = shares.max(axis=1)
    sure = np.minimum(0.5 + SLOPE * np.abs(shares[:, 0] - shares[:, 1]), 1.0).astype(np.float32)
    kinds = np.array([CLASSES.index(SAFE), CLASSES.index(UNSAFE)])[shares.argmax(axis=1)]
    label = np.where((larger >= LEAST_SHARE) & (sure >= certainty), kinds, NO_LABEL).astype(np.int8)
    return Proposal(label, sure, np.where(label == NO_LABEL, NO_SOURCE, FROM_COLOURS), limit=certainty)


def _lab(colours: np.ndarray) -> np.ndarray:
    lab = cv2.cvtColor(colours[None], cv2.COLOR_RGB2LAB)[0].astype(np.float32)
    return lab * np.array([LIGHT_WEIGHT, 1.0, 1.0], dtype=np.float32)


def _listed(path: str | Path, name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise AiccError(f"{path}: {name} must be a list, got {value!r}")
    return value


def _colour(path: str | Path, name: str, value: Any) -> Colour:
    if isinstance(value, list) and len(value) == 3 and all(isinstance(each, int) and 0 <= each <= 255 for each in value):
        return value[0], value[1], value[2]
    raise AiccError(f"{path}: a colour of {name} must be three whole numbers from 0 to 255, got {value!r}")
