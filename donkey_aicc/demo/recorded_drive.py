"""What a tub says about one drive, in arrays; and as a short GIF: what the car saw on the left, where it was on the right."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

from donkey_aicc import channels
from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path
from donkey_aicc.simulator.track import Track
from donkey_aicc.simulator.view_from_above import OverheadCamera
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


HEIGHT_PX = 240
TRAIL_FRAMES = 60


def make_movie(
    drive: RecordedDrive, track: Track, path: str | Path, *, most_frames: int = 150, every: int = 4, rate_hz: float = 20.0
) -> int:
    """Write an animated GIF of every n-th record; returns the number of pictures in it."""
    rows = range(0, len(drive), every)[:most_frames]
    overhead = OverheadCamera(track, *_overhead_size(track))
    pictures = [_picture(drive, row, overhead) for row in rows]
    palette = pictures[len(pictures) // 2].quantize(colors=128)
    frames = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    with atomic_path(path) as temporary:
        duration_ms = round(1000 * every / rate_hz)
        frames[0].save(temporary, save_all=True, append_images=frames[1:], duration=duration_ms, loop=0, optimize=True)
    return len(frames)


def _overhead_size(track: Track) -> tuple[int, int]:
    xmin, ymin, xmax, ymax = track.arena
    return round(HEIGHT_PX * (xmax - xmin) / (ymax - ymin)), HEIGHT_PX


def _picture(drive: RecordedDrive, row: int, overhead: OverheadCamera) -> Image.Image:
    seen = cv2.resize(drive.image(row), (HEIGHT_PX * 4 // 3, HEIGHT_PX), interpolation=cv2.INTER_LINEAR)
    x, y = drive.xy[row].tolist()
    above = overhead.render(x, y, _heading(drive.xy, row))
    trail = drive.xy[max(0, row - TRAIL_FRAMES) : row + 1]
    points = np.rint(overhead.world_to_pixel(trail)).astype(np.int32)
    cv2.polylines(above, [points.reshape(-1, 1, 2)], False, (230, 60, 30), 2, cv2.LINE_AA)
    text = f"cte {100 * drive.cte_m[row]:+.0f} cm"
    cv2.putText(seen, text, (8, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.55, (255, 255, 255), 2, cv2.LINE_AA)
    return Image.fromarray(np.hstack([seen, above]))


def _heading(xy: np.ndarray, row: int) -> float:
    before, after = xy[max(0, row - 1)], xy[min(len(xy) - 1, row + 1)]
    return math.atan2(after[1] - before[1], after[0] - before[0])
