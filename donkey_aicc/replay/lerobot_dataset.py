"""Runs as a LeRobotDataset v3: Parquet, MP4 and what describes them. One run is one episode, with files of its own.

Written without lerobot. Its format wants a row every 1/fps seconds, a picture in each, and the same columns in every episode:
what a drive does not know is NaN.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.replay.lerobot_columns import ACTION, STATE, dataset_columns, picture_statistics, statistics_of
from donkey_aicc.replay.movie import encode
from donkey_aicc.replay.pictures import picture_of
from donkey_aicc.replay.run import Run
from donkey_aicc.resources import install_line

VERSION = "v3.0"
CAMERA = "observation.images.front"
COUNTERS = ("timestamp", "frame_index", "episode_index", "index", "task_index")
FILES_PER_CHUNK = 1000
PLACE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
SAMPLED_PICTURES, SAMPLED_WIDTH_PX = 20, 32  # of an episode, for the statistics


def libraries() -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet, or a message that says how to get what is missing."""
    try:
        import imageio_ffmpeg  # noqa: F401
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise AiccError(f"--lerobot needs libraries for Parquet and video ({error}): {install_line('lerobot')}") from None
    return pyarrow, pyarrow.parquet


class DatasetWriter:
    """`add` each run, then `finish`. All in a new folder, which whoever calls puts in its place when all is done."""

    def __init__(self, folder: Path, task: str) -> None:
        self.folder, self.task = folder, task
        self._pa, self._parquet = libraries()
        self._episodes: list[dict[str, Any]] = []
        self._seen: dict[str, list[np.ndarray]] = {}  # of each feature, for the statistics of all
        self._shape: tuple[int, int] | None = None
        self._fps = 0
        self._horizons: tuple[int, ...] = ()
        self.frames = 0

    def add(self, run: Run) -> str:
        """Write one episode and say what became of it."""
        fps, number = round(run.rate_hz), len(self._episodes)
        if self._episodes and fps != self._fps:
            raise AiccError(f"all drives of a dataset must have the same rate: {run.tub} has {fps} Hz, those before {self._fps}")
        if self._episodes and run.horizons and self._horizons and run.horizons != self._horizons:
            raise AiccError(f"all drives of a dataset must have the same horizons: {run.tub} has others; use --bundle for all")
        self._fps, self._horizons = max(1, fps), self._horizons or run.horizons
        place = {"chunk_index": number // FILES_PER_CHUNK, "file_index": number % FILES_PER_CHUNK}
        rows, sampled = self._write_video(run, self._path(f"videos/{CAMERA}", place, ".mp4"))
        columns = dataset_columns(run.taking(rows), self._horizons)
        columns |= self._counters(len(rows), number)
        statistics = {name: statistics_of(values) for name, values in columns.items()} | {CAMERA: picture_statistics(sampled)}
        for name, values in (*columns.items(), (CAMERA, sampled)):
            self._seen.setdefault(name, []).append(values)
        self._write_rows(columns, self._path("data", place, ".parquet"))
        self._episodes.append(
            {"episode_index": number, "tasks": [self.task], "length": len(rows)}
            | {"dataset_from_index": self.frames, "dataset_to_index": self.frames + len(rows)}
            | {f"data/{key}": value for key, value in place.items()}
            | {f"videos/{CAMERA}/{key}": value for key, value in place.items()}
            | {f"videos/{CAMERA}/from_timestamp": 0.0, f"videos/{CAMERA}/to_timestamp": len(rows) / self._fps}
            | {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
            | {f"stats/{name}/{key}": value for name, each in statistics.items() for key, value in each.items()}
        )
        self.frames += len(rows)
        lost = len(run) - len(rows)
        return f"{run.name}: {len(rows)} frames" + (f", {lost} without a readable picture left out" if lost else "")

    def finish(self) -> None:
        """What describes the episodes."""
        import pandas

        meta = self.folder / "meta"
        meta.mkdir(exist_ok=True)
        pandas.DataFrame({"task_index": [0]}, index=[self.task]).to_parquet(meta / "tasks.parquet")
        episodes = self._path("meta/episodes", {"chunk_index": 0, "file_index": 0}, ".parquet")
        self._parquet.write_table(self._pa.Table.from_pylist(self._episodes), episodes)
        whole = {name: np.concatenate(parts) for name, parts in self._seen.items()}
        pictures = whole.pop(CAMERA)
        statistics = {name: statistics_of(values) for name, values in whole.items()} | {CAMERA: picture_statistics(pictures)}
        (meta / "stats.json").write_text(json.dumps(statistics, indent=1), encoding="utf-8")
        (meta / "info.json").write_text(json.dumps(self._info(whole), indent=1), encoding="utf-8")
        (self.folder / "README.md").write_text(_card(self.task), encoding="utf-8")

    def _path(self, kind: str, place: dict[str, int], suffix: str) -> Path:
        path = self.folder / kind / (PLACE.format(**place) + suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _counters(self, length: int, episode: int) -> dict[str, np.ndarray]:
        frames = np.arange(length, dtype=np.int64)
        values = (
            (frames / self._fps).astype(np.float32),
            frames,
            np.full_like(frames, episode),
            frames + self.frames,
            0 * frames,
        )
        return dict(zip(COUNTERS, values, strict=True))

    def _write_rows(self, columns: dict[str, np.ndarray], path: Path) -> None:
        def column(values: np.ndarray) -> Any:
            if values.ndim == 1 or values.shape[1] == 1:  # readers want a row of one number as the number
                return self._pa.array(values.reshape(-1))
            return self._pa.FixedSizeListArray.from_arrays(self._pa.array(values.reshape(-1)), values.shape[1])

        self._parquet.write_table(self._pa.table({name: column(values) for name, values in columns.items()}), path)

    def _write_video(self, run: Run, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """A key frame every second frame, because readers jump. (rows with a picture, pixels of some for the statistics)"""
        rows: list[int] = []
        sampled: list[np.ndarray] = []
        every = max(1, len(run) // SAMPLED_PICTURES)

        def pictures() -> Iterator[np.ndarray]:
            for row in range(len(run)):
                picture = picture_of(run, row)
                if picture is None:
                    continue
                height, width = picture.shape[:2]
                self._shape = self._shape or (height, width)
                if (height, width) != self._shape:
                    wanted = f"those before {self._shape[1]} x {self._shape[0]}"
                    raise AiccError(f"all pictures of a dataset must have one size: {run.tub} has {width} x {height}, {wanted}")
                if len(rows) % every == 0:
                    step = max(1, picture.shape[1] // SAMPLED_WIDTH_PX)
                    sampled.append(picture[::step, ::step].reshape(-1, 3) / np.float32(255))
                rows.append(row)
                yield picture

        shown = pictures()
        first = next(shown, None)
        if first is None:
            raise AiccError(f"{run.tub} has no readable picture; what was lost and why: donkey-aicc check {run.tub}")
        encode(chain([first], shown), path, self._fps, "-g", "2", "-bf", "0", "-pix_fmt", self._pixels())
        return np.array(rows), np.concatenate(sampled)

    def _pixels(self) -> str:
        """What every player knows needs even sides."""
        assert self._shape is not None
        return "yuv444p" if self._shape[0] % 2 or self._shape[1] % 2 else "yuv420p"

    def _info(self, columns: dict[str, np.ndarray]) -> dict[str, Any]:
        assert self._shape is not None
        ahead = [f"{steps}_frames_ahead" for steps in self._horizons]
        names: dict[str, list[str]] = {ACTION: ["steering", "throttle"], STATE: ["speed"]}
        features: dict[str, Any] = {
            name: {
                "dtype": str(values.dtype),
                "shape": [1] if values.ndim == 1 else [values.shape[1]],
                "names": names.get(name, ahead if values.ndim == 2 else None),
            }
            for name, values in columns.items()
        }
        height, width = self._shape
        features[CAMERA] = {"dtype": "video", "shape": [height, width, 3], "names": ["height", "width", "channels"]}
        features[CAMERA]["info"] = {
            "video.height": height, "video.width": width, "video.channels": 3, "video.fps": self._fps, "video.codec": "h264",
            "video.pix_fmt": self._pixels(), "video.is_depth_map": False, "has_audio": False,
        }  # fmt: skip
        return {
            "codebase_version": VERSION,
            "robot_type": "donkeycar",
            "total_episodes": len(self._episodes),
            "total_frames": self.frames,
            "total_tasks": 1,
            "chunks_size": FILES_PER_CHUNK,
            "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 200,
            "fps": self._fps,
            "splits": {"train": f"0:{len(self._episodes)}"},
            "data_path": f"data/{PLACE}.parquet",
            "video_path": f"videos/{{video_key}}/{PLACE}.mp4",
            "features": features,
        }


def _card(task: str) -> str:
    tags = "tags: [LeRobot, donkeycar]\ntask_categories: [robotics]"
    data = "configs:\n- config_name: default\n  data_files: data/*/*.parquet"
    about = "Columns that begin with `aicc.` are the scores, labels and calibrated confidence of donkey_aicc."
    return f"---\n{tags}\n{data}\n---\n\nDrives of a donkeycar: {task}. {about}\n"


def write_dataset(runs: Iterable[Run], folder: Path, task: str) -> Iterable[str]:
    """All runs into a new folder, one line about each."""
    writer = DatasetWriter(folder, task)
    for run in runs:
        yield writer.add(run)
    writer.finish()
    yield f"{writer.frames} frames"
