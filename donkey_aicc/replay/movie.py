"""A run, or two beside each other, as mp4 or GIF."""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path
from donkey_aicc.progress import progress
from donkey_aicc.replay.overlay import Overlay
from donkey_aicc.replay.run import Run

GIF_PICTURES, GIF_WIDTH_PX, GIF_RATE_HZ = 300, 480, 10.0
FASTEST_HZ = 60.0
OR_GIF = "or write a GIF: --movie NAME.gif"


def check_movie_path(path: str | Path) -> None:
    """To be asked before minutes of scoring, not after."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".mp4", ".gif"):
        raise AiccError(f"--movie must end in .mp4 or .gif, got {path}")
    if suffix == ".mp4":
        with tempfile.TemporaryDirectory() as folder:
            encode(iter([np.zeros((16, 16, 3), np.uint8)]), Path(folder) / "try.mp4", 1.0)


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
        encode(pictures, temporary, rate_hz)
    return f"{path}: {len(times)} pictures at {rate_hz:g} a second"


def encode(pictures: Iterator[np.ndarray], path: Path, rate_hz: float, *more: str) -> None:
    """H.264 in yuv420p, which browsers and phones play, by the ffmpeg that imageio-ffmpeg brings along for every computer.

    more: options of ffmpeg that come after ours.
    """
    first = next(pictures)
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{first.shape[1]}x{first.shape[0]}", "-r", f"{rate_hz:g}", "-i", "-"]
    # A fixed number of threads and no version strings: the same drive gives the same file.
    made = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", "-threads", "2"]
    made += ["-movflags", "+faststart", "-fflags", "+bitexact", "-flags:v", "+bitexact", *more, "-f", "mp4", str(path)]
    command = [_ffmpeg(), "-hide_banner", "-loglevel", "error", "-y", *given, *made]
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
        raise AiccError(f"ffmpeg could not write the movie: {said[-300:]}; {OR_GIF}")


def _ffmpeg() -> str:
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return get_ffmpeg_exe()
    except (ImportError, RuntimeError) as error:  # not installed; no program for this kind of computer
        raise AiccError(f"an mp4 needs ffmpeg ({error}): pip install imageio-ffmpeg; {OR_GIF}") from None


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
