"""Pictures of the simulator for the documentation: what the camera sees around each track, and the tracks from above.

`python -m donkey_aicc.sim.contact_sheet docs/images` writes both.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from donkey_aicc.files import atomic_path
from donkey_aicc.sim.overhead import OverheadCamera
from donkey_aicc.sim.tracks import TRACK_NAMES
from donkey_aicc.sim.world import World

PLACES = 12
_TITLE_PX = 16


def camera_contact_sheet(names: Sequence[str] = TRACK_NAMES, frame_px: tuple[int, int] = (112, 84)) -> np.ndarray:
    """(rows, columns, 3) uint8 RGB: two lines of frames per track, at evenly spaced places in driving order."""
    lines = []
    for name in names:
        world = World(name, seed=0)
        frames = []
        for s_m in np.linspace(0.0, world.track.length_m, PLACES, endpoint=False):
            frame = world.reset(world.track.pose_at(float(s_m))).image
            frames.append(cv2.resize(frame, frame_px, interpolation=cv2.INTER_AREA))
        half = PLACES // 2
        block = np.vstack([np.hstack(frames[:half]), np.hstack(frames[half:])])
        lines += [_title(f"{name}: {world.track.length_m:.1f} m", block.shape[1]), block]
    return np.vstack(lines)


def tracks_from_above(names: Sequence[str] = TRACK_NAMES, size_px: tuple[int, int] = (400, 300)) -> np.ndarray:
    """(rows, columns, 3) uint8 RGB: the tracks side by side, two per line, with the car on each start line."""
    views = []
    for name in names:
        track = World(name).track
        view = OverheadCamera(track, *size_px).render(*track.pose_at(0.0))
        text = f"{name}: {track.length_m:.1f} m, smallest radius {track.min_radius_m:.2f} m"
        views.append(np.vstack([_title(text, size_px[0]), view]))
    return np.vstack([np.hstack(views[i : i + 2]) for i in range(0, len(views) - 1, 2)])


def _title(text: str, width_px: int) -> np.ndarray:
    strip = np.full((_TITLE_PX, width_px, 3), 255, np.uint8)
    cv2.putText(strip, text, (4, 12), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (20.0, 20.0, 20.0), 1, cv2.LINE_AA)
    return strip


def save_small_png(image: np.ndarray, path: Path) -> None:
    """Write with a palette: a third of the size of full colour."""
    with atomic_path(path) as temporary:
        Image.fromarray(image).quantize(256, dither=Image.Dither.FLOYDSTEINBERG).save(temporary, optimize=True)


def main(folder: str) -> None:
    """Write both pictures into folder."""
    save_small_png(camera_contact_sheet(), Path(folder) / "camera_contact_sheet.png")
    save_small_png(tracks_from_above(), Path(folder) / "tracks.png")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
