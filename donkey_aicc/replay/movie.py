"""A run, or two beside each other, as mp4 or GIF."""

import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path
from donkey_aicc.progress import progress
from donkey_aicc.replay.overlay import Overlay
from donkey_aicc.replay.run import Run

GIF_PICTURES, GIF_WIDTH_PX, GIF_RATE_HZ = 300, 480, 10.0
FASTEST_HZ = 60.0
OPENCV_CODECS = ("avc1", "mp4v")  # H.264 plays everywhere, but OpenCV's own build lacks it; MPEG-4 plays in most players
NO_CODEC = (
    "no codec for mp4 was found; install ffmpeg (Debian, Ubuntu: sudo apt install ffmpeg), or write a GIF: --movie NAME.gif"
)


def check_movie_path(path: str | Path) -> None:
    """To be asked before minutes of scoring, not after."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".mp4", ".gif"):
        raise AiccError(f"--movie must end in .mp4 or .gif, got {path}")
    if suffix == ".mp4" and not _has_h264() and not any(_opens(codec) for codec in OPENCV_CODECS):
        raise AiccError(NO_CODEC)


def write_movie(runs: Sequence[Run], path: str | Path) -> str:
    """Write it and say what is in it."""
    return _write_gif(runs, Path(path)) if Path(path).suffix.lower() == ".gif" else _write_mp4(runs, Path(path))


def _pictures(runs: Sequence[Run], times_s: np.ndarray, title: str) -> Iterator[np.ndarray]:
    """(540, 960 per run, 3) uint8 RGB at those times."""
    overlays = [Overlay(run) for run in runs]
    for t in progress(times_s.tolist(), title, unit="pictures"):
        yield np.hstack([overlay.picture(run.row_at(t)) for overlay, run in zip(overlays, runs, strict=True)])


def _times(runs: Sequence[Run], rate_hz: float) -> np.ndarray:
    end = max(float(run.t[-1]) for run in runs)
    return np.arange(int(end * rate_hz) + 1) / rate_hz


def _write_mp4(runs: Sequence[Run], path: Path) -> str:
    rate_hz = float(np.clip(round(runs[0].rate_hz), 1.0, FASTEST_HZ))
    times = _times(runs, rate_hz)
    pictures = _pictures(runs, times, f"writing {path.name}")
    with atomic_path(path) as temporary:
        if _has_h264():
            _through_ffmpeg(pictures, temporary, rate_hz)
            note = ""
        else:
            codec = _through_opencv(pictures, temporary, rate_hz)
            note = "" if codec == "avc1" else "; MPEG-4, which browsers do not play: for H.264 install ffmpeg and write it again"
    return f"{path}: {len(times)} pictures at {rate_hz:g} a second{note}"


def _has_h264() -> bool:
    program = shutil.which("ffmpeg")
    if program is None:
        return False
    listed = subprocess.run([program, "-hide_banner", "-encoders"], capture_output=True, text=True, check=False, timeout=60)
    return " libx264 " in listed.stdout


def _through_ffmpeg(pictures: Iterator[np.ndarray], path: Path, rate_hz: float) -> None:
    first = next(pictures)
    size = f"{first.shape[1]}x{first.shape[0]}"
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", f"{rate_hz:g}", "-i", "-"]
    # A fixed number of threads and no version strings: the same drive gives the same file.
    made = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", "-threads", "2"]
    made += ["-movflags", "+faststart", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-f", "mp4", str(path)]
    command = ["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", *given, *made]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        try:
            process.stdin.write(first.tobytes())
            for picture in pictures:
                process.stdin.write(picture.tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # it ended early: what it said is below
        except BaseException:
            process.kill()
            raise
        said = process.stderr.read().decode("utf-8", "replace").strip()
    if process.returncode:
        raise AiccError(f"ffmpeg could not write the movie: {said}")


def _through_opencv(pictures: Iterator[np.ndarray], path: Path, rate_hz: float) -> str:
    first = next(pictures)
    for codec in OPENCV_CODECS:
        writer = _writer(str(path), codec, rate_hz, (first.shape[1], first.shape[0]))
        if writer is None:
            continue
        written = 0
        for picture in itertools.chain([first], pictures):
            writer.write(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))
            written += 1
        writer.release()
        if int(cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FRAME_COUNT)) < written:  # OpenCV does not say so itself
            raise OSError(f"the movie {path.name} could not be written: is the disk full?")
        return codec
    raise AiccError(NO_CODEC)


def _opens(codec: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        writer = _writer(f"{folder}/try.mp4", codec, 20.0, (64, 64))
        if writer is not None:
            writer.release()
        return writer is not None


def _writer(path: str, codec: str, rate_hz: float, size: tuple[int, int]) -> cv2.VideoWriter | None:
    log = getattr(cv2.utils, "logging", cv2)  # OpenCV 5 has it there, OpenCV 4 at the top
    level = log.getLogLevel()
    log.setLogLevel(0)  # a codec that is missing is no error here
    try:
        writer = cv2.VideoWriter(path, cv2.VideoWriter.fourcc(*codec), rate_hz, size)
        return writer if writer.isOpened() else None
    finally:
        log.setLogLevel(level)


def _write_gif(runs: Sequence[Run], path: Path) -> str:
    end = max(float(run.t[-1]) for run in runs)
    faster = max(1.0, end * GIF_RATE_HZ / GIF_PICTURES)
    times = _times(runs, GIF_RATE_HZ / faster)
    width = GIF_WIDTH_PX * len(runs)
    frames: list[Image.Image] = []
    palette: Image.Image | None = None
    for picture in _pictures(runs, times, f"writing {path.name}"):
        small = Image.fromarray(picture).resize((width, round(width * picture.shape[0] / picture.shape[1])), Image.Resampling.BOX)
        palette = palette or small.quantize(colors=128)
        frames.append(small.quantize(palette=palette, dither=Image.Dither.NONE))
    with atomic_path(path) as temporary:
        frames[0].save(temporary, save_all=True, append_images=frames[1:], duration=round(1000 / GIF_RATE_HZ), loop=0)
    speed = "" if faster == 1.0 else f", {faster:.1f} times as fast as the drive (--part FROM-TO cuts a piece out)"
    return f"{path}: {len(frames)} pictures{speed}"
