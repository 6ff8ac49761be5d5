"""A short GIF of a drive: what the car saw on the left, where it was on the right."""

import math
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from donkey_aicc.demo.recorded_drive import RecordedDrive
from donkey_aicc.files import atomic_path
from donkey_aicc.simulator.track import Track
from donkey_aicc.simulator.view_from_above import OverheadCamera

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
