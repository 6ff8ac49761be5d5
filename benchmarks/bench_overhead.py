"""How much faster than real time the overhead tracker is on one core, decoding included."""

import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

from donkey_aicc.overhead.setup_file import OverheadSetup, parse_setup
from donkey_aicc.overhead.tracking import track_marker
from donkey_aicc.overhead.video import Video
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.view_from_above import OverheadCamera

SIZE = (1280, 720)
SECONDS = 10.0
SPEED_MPS = 1.2


def make_video(path: Path, codec: str, rate_hz: float) -> OverheadSetup:
    """Film a marker that follows the centreline of a noisy floor, with another thing of its colour beside the track."""
    track = make_track("loop")
    camera = OverheadCamera(track, *SIZE)
    noise = np.random.default_rng(0).integers(0, 14, (4, SIZE[1], SIZE[0], 3), dtype=np.uint8)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*codec), rate_hz, SIZE)
    cup = tuple(np.round(camera.world_to_pixel(track.pose_at(5.0, 0.35)[:2])).astype(int).tolist())
    for number in range(round(SECONDS * rate_hz)):
        frame = cv2.cvtColor(camera.render(*track.pose_at(SPEED_MPS * number / rate_hz, 0.05)), cv2.COLOR_RGB2BGR)
        cv2.circle(frame, cup, 7, (200, 0, 255), -1, cv2.LINE_AA)
        writer.write(cv2.add(frame, noise[number % len(noise)]))
    writer.release()
    xmin, ymin, xmax, ymax = track.arena
    corners = np.array([(xmin, ymin), (xmax, ymin), (xmax, ymax), (xmin, ymax)])
    return parse_setup(
        {
            "image_size_px": list(SIZE),
            "floor_points": [{"px": camera.world_to_pixel(m).tolist(), "m": m.tolist()} for m in corners],
            "marker": {"hsv_low": [145, 100, 60], "hsv_high": [170, 255, 255], "size_m": 0.11},
            "centreline_m": track.centreline[::12].tolist(),
        }
    )


def main() -> None:
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as folder:
        for codec, suffix, rate_hz in (("mp4v", "mp4", 30.0), ("mp4v", "mp4", 20.0), ("MJPG", "avi", 30.0)):
            path = Path(folder) / f"video_{codec}_{rate_hz:.0f}.{suffix}"
            setup = make_video(path, codec, rate_hz)
            video = Video(path)
            wall, cpu = time.perf_counter(), time.process_time()
            tracked = track_marker(video, setup)
            wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
            print(
                f"overhead tracking, 1280x720 {codec} {rate_hz:.0f} Hz: {SECONDS / wall_s:.1f}x real time "
                f"({SECONDS / cpu_s:.1f}x by CPU time), wanted 3x; marker seen in {100 * tracked.seen.mean():.0f} %"
            )


if __name__ == "__main__":
    main()
