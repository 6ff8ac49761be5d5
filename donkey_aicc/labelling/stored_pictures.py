"""Frames as the camera stored them, side by side in one JPEG, so that a clip of the page is one request."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from donkey_aicc.labelling.floor_colours import IS_NOT_ROAD, IS_ROAD, FloorColours, kinds_of
from donkey_aicc.labelling.footage import Footage
from donkey_aicc.tubs.find_tubs import read_tub
from donkey_aicc.tubs.image_file import decode_whole

CLIP, CLIP_COLUMNS = 32, 8  # frames of one clip picture, and per row of it
CELL_WIDTH = 160  # of a frame in it
QUALITY = 80
TINTS = {IS_ROAD: (0, 105, 76), IS_NOT_ROAD: (176, 42, 0)}


class Pictures:
    """Reads the stored images; where one has gone since, the small decoded frame stands in."""

    def __init__(self, footage: Footage) -> None:
        self._footage = footage
        self._paths: dict[tuple[str, int], str | None] = {}
        for name, folder in footage.folders.items():
            contents = read_tub(folder)
            for record, path in zip(contents.records, contents.image_paths(), strict=True):
                self._paths[name, record.index] = path
        self._stored = lru_cache(maxsize=256)(self._read)
        height, width = self.frame(0).shape[:2]
        self.cell = CELL_WIDTH, max(round(CELL_WIDTH * height / width), 1)  # frames of another shape are fitted into it

    def frame(self, position: int) -> np.ndarray:
        """(height, width, 3) uint8 RGB as stored."""
        return self._stored(position)

    def clip(self, number: int) -> bytes:
        """Frames number * CLIP and on as one JPEG, CLIP_COLUMNS to a row."""
        start = number * CLIP
        return self.mosaic(range(start, min(start + CLIP, len(self._footage))))

    def mosaic(self, positions: Sequence[int], drawn: Callable[[int], np.ndarray] | None = None) -> bytes:
        """JPEG with CLIP_COLUMNS frames to a row; drawn: what stands for the frame at a position."""
        width, height = self.cell
        sheet = np.zeros((max(-(-len(positions) // CLIP_COLUMNS), 1) * height, CLIP_COLUMNS * width, 3), dtype=np.uint8)
        for place, position in enumerate(positions):
            row, column = divmod(place, CLIP_COLUMNS)
            small = cv2.resize((drawn or self.frame)(position), self.cell, interpolation=cv2.INTER_AREA)
            sheet[row * height : (row + 1) * height, column * width : (column + 1) * width] = small
        return jpeg(sheet)

    def floor(self, position: int, floor: FloorColours) -> bytes:
        """The frame with its region's pixels tinted by what they count as."""
        picture = self.frame(position).copy()
        rows, columns = floor.pixels(*picture.shape[:2])
        if floor.complete:
            region = picture[rows, columns]
            kinds = kinds_of(region, floor.table())
            for kind, tint in TINTS.items():
                inside = kinds == kind
                region[inside] = (0.4 * region[inside] + 0.6 * np.array(tint)).astype(np.uint8)
        return jpeg(picture)

    def _read(self, position: int) -> np.ndarray:
        path = self._paths.get(self._footage.key(position))
        stored = decode_whole(Path(path)) if path else None
        return self._footage.image(position) if stored is None else stored


def jpeg(picture: np.ndarray) -> bytes:
    """picture: (height, width, 3) uint8 RGB."""
    return cv2.imencode(".jpg", picture[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()
