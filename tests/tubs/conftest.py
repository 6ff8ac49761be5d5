"""Small synthetic tubs, written by donkeycar itself, with the times and sessions a test asks for; tests then damage them."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

FLOATS = (
    "user/angle",
    "user/throttle",
    "pilot/angle",
    "pilot/throttle",
    "steering",
    "throttle",
    "pos/cte",
    "pos/pos_x",
    "pos/speed",
)
KINDS = {"cam/image_array": "image_array", "user/mode": "str", "aicc/unsafe_mark": "boolean", "aicc/inject_protocol": "str"}
KINDS |= {"aicc/inject_severity": "int", "aicc/inject_episode": "int"} | dict.fromkeys(FLOATS, "float")
START_MS = 1_700_000_000_000


def frame(number: int, height: int = 24, width: int = 32) -> np.ndarray:
    """A frame that differs from that of every other number."""
    return np.random.default_rng(number).integers(0, 256, (height, width, 3), dtype=np.uint8)


class MadeTub:
    """A tub on disk, with the means to spoil it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def catalogs(self) -> list[Path]:
        return sorted(self.path.glob("catalog_*.catalog"), key=lambda path: int(path.stem.split("_")[1]))

    def image(self, index: int) -> Path:
        return self.path / "images" / f"{index}_cam_image_array_.jpg"

    def edit(self, change) -> None:
        """Rewrite every record with change(record), which may return a dict, a raw line or None to drop it."""
        for catalog in self.catalogs:
            lines = []
            for line in catalog.read_text().splitlines():
                changed = change(json.loads(line))
                if changed is not None:
                    lines.append(changed if isinstance(changed, str) else json.dumps(changed))
            catalog.write_text("".join(f"{line}\n" for line in lines))
            manifest = catalog.with_suffix(".catalog_manifest")
            stored = json.loads(manifest.read_text()) | {"line_lengths": [len(line) + 1 for line in lines]}
            manifest.write_text(json.dumps(stored) + "\n")

    def set_value(self, index: int, **values) -> None:
        """Overwrite values of one record; keys with a slash are written with two underscores."""
        named = {key.replace("__", "/"): value for key, value in values.items()}
        self.edit(lambda record: record | named if record["_index"] == index else record)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """A frame cache of the test's own."""
    monkeypatch.setenv("DONKEY_AICC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def make_tub(tmp_path, cache):
    """make_tub(n, name='tub', rate_hz=20, catalog_len=1000, sessions=1, size=(24, 32), **columns of length n)."""
    from donkeycar.parts.tub_v2 import Tub

    def make(n=20, name="tub", rate_hz=20.0, catalog_len=1000, sessions=1, size=(24, 32), **columns) -> MadeTub:
        named = {key.replace("__", "/"): values for key, values in columns.items()}
        defaults = {"user/angle": np.linspace(-0.5, 0.5, n), "user/throttle": np.full(n, 0.3), "user/mode": ["user"] * n}
        named = defaults | named
        keys = ["cam/image_array", *named]
        path = tmp_path / name
        tub = Tub(str(path), inputs=keys, types=[KINDS[key] for key in keys], max_catalog_len=catalog_len)
        for row in range(n):
            values = {key: column[row] for key, column in named.items()}
            tub.write_record({"cam/image_array": frame(row, *size)} | values)
        tub.close()
        made = MadeTub(path)
        per_session = -(-n // sessions)
        made.edit(
            lambda record: (
                record
                | {
                    "_timestamp_ms": START_MS + round(record["_index"] * 1000 / rate_hz),
                    "_session_id": f"24-01-01_{record['_index'] // per_session}",
                }
            )
        )
        return made

    return make


@pytest.fixture
def make_v1_tub(tmp_path, cache):
    """A version 1 tub as donkeycar 3 wrote it."""

    def make(n=10, name="tub_v1", step_ms=100) -> Path:
        path = tmp_path / name
        path.mkdir()
        (path / "meta.json").write_text(
            json.dumps({"inputs": ["cam/image_array", "user/angle"], "types": ["image_array", "float"]})
        )
        for row in range(n):
            image = f"{row}_cam-image_array_.jpg"
            Image.fromarray(frame(row)).save(path / image)
            record = {"cam/image_array": image, "user/angle": 0.1, "user/throttle": 0.2, "user/mode": "user"}
            record |= {"milliseconds": row * step_ms, "pos/cte": 0.1 * row}
            (path / f"record_{row}.json").write_text(json.dumps(record))
        return path

    return make


@pytest.fixture
def frame_of():
    return frame
