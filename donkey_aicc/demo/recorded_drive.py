"""What a tub says about one drive, in arrays, for pictures and movies."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from donkey_aicc import channels
from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.tub_contents import Record, numbers
from donkey_aicc.tubs.tub_reader import read_v2_tub


@dataclass(frozen=True, eq=False)
class RecordedDrive:
    """N records in driving order."""

    records: Sequence[Record]
    image_paths: Sequence[str | None]
    xy: np.ndarray  # (N, 2) metres
    cte_m: np.ndarray  # (N,)

    def __len__(self) -> int:
        return len(self.records)

    def image(self, row: int) -> np.ndarray:
        """(H, W, 3) uint8 RGB of one record."""
        path = self.image_paths[row]
        pixels = None if path is None else cv2.imread(path, cv2.IMREAD_COLOR)
        if pixels is None:
            raise AiccError(f"record {row}: its image {path} cannot be read")
        return cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)

    def number(self, key: str) -> np.ndarray:
        """(N,) values of a key, NaN where a record lacks it."""
        return numbers(list(self.records), key)

    def values(self, key: str) -> list[Any]:
        """Raw values of a key, None where a record lacks it."""
        return [record.values.get(key) for record in self.records]


def read_drive(tub: str | Path) -> RecordedDrive:
    """Read a tub of a simulated drive."""
    contents = read_v2_tub(Path(tub))
    if not contents.records:
        raise AiccError(f"{tub} has no records")
    records = contents.records
    # The channels keep the Unity axes: the ground plane is x and z.
    xy = np.stack([numbers(records, channels.POS_X), numbers(records, channels.POS_Z)], axis=1)
    return RecordedDrive(records, contents.image_paths(), xy, numbers(records, channels.CTE))
