"""Second pass over a tub: the frame cache against opening every JPEG again through donkeycar's TubRecord.

    python benchmarks/bench_tub_cache.py [TUB]

Without a tub a synthetic one of 2000 records (160x120) is written to a temporary folder.
"""

import contextlib
import io
import logging
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

from donkey_aicc.tubs.load import load_drives

RECORDS = 2000
TARGET = 10.0


def main() -> None:
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        tub = Path(sys.argv[1]) if len(sys.argv) > 1 else write_tub(Path(folder, "tub"))
        cache = Path(folder, "cache")
        first_s, frames = timed(lambda: read_with_cache(tub, cache))
        second_s = min(timed(lambda: read_with_cache(tub, cache))[0] for _ in range(5))
        donkeycar_s, opened = min(timed(lambda: read_with_tub_record(tub)) for _ in range(2))
    print(f"tub of {frames} frames, once through every pixel at 64x64")
    print(f"  donkeycar TubRecord, JPEGs opened:   {opened / donkeycar_s:9.0f} frames/s")
    print(f"  first pass (decodes, fills cache):   {frames / first_s:9.0f} frames/s")
    print(f"  second pass (records, labels, cache): {frames / second_s:8.0f} frames/s")
    ratio = (donkeycar_s / opened) / (second_s / frames)
    print(f"  second pass against TubRecord: {ratio:.1f}x (target {TARGET:.0f}x)")


def timed(work):
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def read_with_cache(tub: Path, cache: Path) -> int:
    """Everything a training does: read catalogs, cut, label, and touch every pixel."""
    data = load_drives([tub], cache_dir=cache)
    for sequence in data.drives:
        sequence.images.max()
    return sum(len(sequence) for sequence in data.drives)


def read_with_tub_record(tub: Path) -> int:
    """The same frames as donkeycar's own pipeline gets them, resized by the same rule."""
    with contextlib.redirect_stdout(io.StringIO()):  # donkeycar prints a banner when imported
        from donkeycar.config import Config
        from donkeycar.pipeline.types import TubDataset
    config = Config()
    config.IMAGE_H, config.IMAGE_W, config.IMAGE_DEPTH, config.CACHE_POLICY = 120, 160, 3, "NOCACHE"
    dataset = TubDataset(config, [str(tub)])
    records = dataset.get_records()
    for record in records:
        cv2.resize(record.image(), (64, 64), interpolation=cv2.INTER_AREA).max()
    dataset.close()
    return len(records)


def write_tub(path: Path) -> Path:
    """A drive-like tub: smooth textures that shift from frame to frame, so that JPEGs have a usual size."""
    with contextlib.redirect_stdout(io.StringIO()):
        from donkeycar.parts.tub_v2 import Tub
    rng = np.random.default_rng(0)
    floor = cv2.GaussianBlur(rng.integers(0, 256, (400, 1200, 3), dtype=np.uint8), (0, 0), 2.0)
    floor = cv2.normalize(floor, None, 0, 255, cv2.NORM_MINMAX)
    keys = ["cam/image_array", "user/angle", "user/throttle", "user/mode", "pos/cte"]
    tub = Tub(str(path), inputs=keys, types=["image_array", "float", "float", "str", "float"])
    for row in range(RECORDS):
        left, top = (row * 7) % 1040, (row * 3) % 280
        values = (floor[top : top + 120, left : left + 160], np.sin(row / 30), 0.3, "user", np.sin(row / 50))
        tub.write_record(dict(zip(keys, values, strict=True)))
    tub.close()
    return path


if __name__ == "__main__":
    main()
