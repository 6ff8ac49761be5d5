"""How much a simulated camera looks like a real one: noise, sharpness, exposure and change, from the frames of tubs alone."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import cv2
import numpy as np

from donkey_aicc import channels
from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.find_tubs import find_tubs, read_tub

# Its response to any smooth picture is 0, to independent noise of standard deviation 1 it is 6 (Immerkaer 1996).
_NOISE_MASK = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], dtype=np.float64)
_FLAT_SHARE = 0.3  # noise is measured where the picture has least structure
_CLIPPED = 250


@dataclass(frozen=True)
class CameraFigures:
    """Grey levels of 255 unless said otherwise."""

    noise: float  # standard deviation in the flat parts of a picture
    sharpness: float  # mean |Laplacian| relative to the mean |gradient|
    detail: float  # mean |gradient|
    mean_grey: float
    exposure_spread: float  # standard deviation of a frame's mean grey over all frames
    contrast: float  # standard deviation inside a frame
    clipped_share: float
    warmth_spread: float  # standard deviation of log(mean red / mean blue) over all frames
    change: float  # mean |difference| of a pixel to the frame before
    flicker: float  # mean |difference| of a frame's mean grey to the frame before
    motion_blur: (
        float  # how much less detail the third of the frames with most change has than the third with least: 0 none, 1 all
    )


NAMES = tuple(field.name for field in fields(CameraFigures))


def figures_of(frames: np.ndarray, follows: np.ndarray) -> CameraFigures:
    """frames: (N, H, W, 3) uint8 RGB; follows: (N,) whether a frame comes right after the one before it in the array."""
    if len(frames) < 2 or not follows[1:].any():
        raise AiccError(f"a camera check needs frames that follow each other, got {len(frames)} frames")
    grey = frames.mean(axis=3)
    means, colours = grey.mean(axis=(1, 2)), frames.mean(axis=(1, 2))
    structure = np.array([_structure(picture) for picture in grey])
    noise, sharpness, detail = structure.mean(axis=0)
    pairs = np.flatnonzero(follows[1:])
    change = np.array([np.abs(grey[i + 1] - grey[i]).mean() for i in pairs])
    least, most = (structure[pairs[rows] + 1, 2].mean() for rows in _ends(change))
    return CameraFigures(
        noise=float(noise),
        sharpness=float(sharpness),
        detail=float(detail),
        mean_grey=float(means.mean()),
        exposure_spread=float(means.std()),
        contrast=float(grey.std(axis=(1, 2)).mean()),
        clipped_share=float((frames >= _CLIPPED).all(axis=3).mean()),
        warmth_spread=float(np.log((colours[:, 0] + 1.0) / (colours[:, 2] + 1.0)).std()),
        change=float(change.mean()),
        flicker=float(np.abs(np.diff(means))[pairs].mean()),
        motion_blur=float(1.0 - most / max(least, 1e-9)),
    )


def _ends(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of the smallest and of the largest third."""
    order, third = np.argsort(values, kind="stable"), max(1, len(values) // 3)
    return order[:third], order[-third:]


def _structure(grey: np.ndarray) -> tuple[float, float, float]:
    """(noise, sharpness, detail) of one (H, W) picture."""
    across, down = cv2.Sobel(grey, cv2.CV_64F, 1, 0) / 8.0, cv2.Sobel(grey, cv2.CV_64F, 0, 1) / 8.0
    slope = np.hypot(across, down)
    smooth = cv2.GaussianBlur(slope, (0, 0), 2.0)
    flat = (smooth <= np.quantile(smooth, _FLAT_SHARE)) & (grey > 4) & (grey < _CLIPPED)
    response = np.abs(cv2.filter2D(grey, cv2.CV_64F, _NOISE_MASK))[flat]
    noise = np.sqrt(np.pi / 2.0) / 6.0 * float(response.mean()) if response.size else float("nan")
    detail = float(slope.mean())
    return noise, float(np.abs(cv2.Laplacian(grey, cv2.CV_64F)).mean()) / max(detail, 1e-9), detail


def read_frames(paths: Sequence[Path], most: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of neighbouring frames spread evenly over all tubs: (N, H, W, 3) uint8 and the `follows` of `figures_of`."""
    pairs: list[tuple[Path, Path]] = []
    for tub in find_tubs(list(paths)):
        contents = read_tub(tub)
        kept = [record for record in contents.records if record.index not in contents.deleted]
        files = [(record.index, contents.image_dir / str(record.values.get(channels.IMAGE))) for record in kept]
        pairs += [(a, b) for (i, a), (j, b) in zip(files, files[1:], strict=False) if j == i + 1]
    chosen = [pairs[i] for i in np.unique(np.linspace(0, len(pairs) - 1, max(1, most // 2)).astype(int))] if pairs else []
    images = [(cv2.imread(str(a)), cv2.imread(str(b))) for a, b in chosen]
    read = [image for pair in images if pair[0] is not None and pair[1] is not None for image in pair]
    if not read:
        raise AiccError(f"no two readable frames follow each other in {', '.join(map(str, paths))}")
    return np.stack(read)[..., ::-1], np.arange(len(read)) % 2 == 1


def print_figures(named: dict[str, CameraFigures]) -> None:
    """One column per set of tubs."""
    print(f"{'':<18}" + "".join(f"{name:>14}" for name in named))
    for number, name in enumerate(NAMES):
        print(f"{name:<18}" + "".join(f"{astuple(figures)[number]:>14.4g}" for figures in named.values()))
