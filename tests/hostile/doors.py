"""Every file and string that a stranger can hand us: a good example, how it may be damaged, and what reads it."""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from PIL import Image

from donkey_aicc.alarm.can_speak import check_can_speak
from donkey_aicc.calibration.calibrator_file import load_calibrator, meaning_of
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.commands.info import describe
from donkey_aicc.faults.fault import parse_schedule
from donkey_aicc.files import sha256_of
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import PilotNet
from donkey_aicc.nets.manifest import MANIFEST, read_manifest
from donkey_aicc.nets.signature import check_signature, new_key, sign
from donkey_aicc.nets.vision_pilot import pilot_weights, save_pilot
from donkey_aicc.overhead.setup_file import load_setup
from donkey_aicc.replay.lerobot_columns import dataset_columns
from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.replay_page import packed_run
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.tubs.labels import read_label_csv
from donkey_aicc.tubs.load import load_drives
from tests.hostile.mutations import HOSTILE_VALUES, byte_mutations, json_mutations, table_mutations
from tests.monitor_under_test import add_calibrator, make_bundle
from tests.replay.recorded_tub import write_tub
from tests.synthetic_scores import synthetic_table


@dataclass(frozen=True)
class Door:
    """What comes in, and the reader that must give a right result or one message of ours."""

    name: str
    cases: st.SearchStrategy
    load: Callable[[Any], Any]


def all_doors(folder: Path) -> dict[str, Door]:
    """The doors with their good files below the folder."""
    makers = (_calibrator, _manifest, _weights, _pilot_manifest, _pilot_weights, _labels, _scores)
    makers += (_catalog, _tub_manifest, _line_lengths, _v1_record, _setup, _schedule, _settings, _replay, _signature)
    doors = []
    for maker in makers:
        place = folder / maker.__name__.strip("_")
        place.mkdir(parents=True)
        doors.append(maker(place))
    return {door.name: door for door in doors}


DOORS = (
    "calibrator.json",
    "manifest.json",
    "weights with a fitting hash",
    "pilot manifest",
    "pilot weights",
    "label table",
    "score table",
    "tub catalog",
    "tub manifest",
    "catalog manifest",
    "v1 record",
    "overhead setup",
    "injection schedule",
    "settings",
    "replayed catalog",
    "signature",
)


def _file_door(name: str, path: Path, load: Callable[[], Any], as_json: bool = True) -> Door:
    good = path.read_bytes()
    cases = st.one_of(json_mutations(json.loads(good)), byte_mutations(good)) if as_json else byte_mutations(good)

    def read(data: bytes) -> Any:
        path.write_bytes(data)
        return load()

    return Door(name, cases, read)


def _calibrator(folder: Path) -> Door:
    bundle_path = make_bundle(folder / "bundle")
    add_calibrator(bundle_path, alarm=True)
    bundle = Bundle.load(bundle_path)
    good = json.loads(bundle.calibrator_path.read_bytes())

    def load(data: bytes) -> Any:
        """With the hash that fits, where it is a table: a stranger knows how it is made."""
        bundle.calibrator_path.write_bytes(_hashed(data))
        calibrator = load_calibrator(bundle)
        if calibrator.alarm is not None:
            check_can_speak(calibrator.alarm, bundle)
        return calibrator

    return Door("calibrator.json", st.one_of(json_mutations(good), byte_mutations(json.dumps(good).encode())), load)


def _hashed(data: bytes) -> bytes:
    try:
        stored = json.loads(data)
        return json.dumps(stored | {"meaning": meaning_of(stored)}).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return data


def _manifest(folder: Path) -> Door:
    bundle = make_bundle(folder / "bundle")

    def load() -> Any:
        return Bundle.load(bundle), describe(bundle, read_manifest(bundle))

    return _file_door("manifest.json", bundle / MANIFEST, load)


def _header_mutations(good: bytes) -> st.SearchStrategy[bytes]:
    """Safetensors begin with the length of a JSON header: the header changed, the rest as it was."""
    length = struct.unpack("<Q", good[:8])[0]
    header, rest = json.loads(good[8 : 8 + length]), good[8 + length :]
    changed = json_mutations(header).map(lambda text: struct.pack("<Q", len(text)) + text + rest)
    return st.one_of(changed, byte_mutations(good))


def _weights(folder: Path) -> Door:
    bundle = make_bundle(folder / "bundle")
    path, manifest = bundle / "safety.safetensors", bundle / MANIFEST
    good, stored = path.read_bytes(), json.loads(manifest.read_text())

    def load(data: bytes) -> Any:
        path.write_bytes(data)
        entry = stored["files"]["safety.safetensors"] | {"sha256": sha256_of(path), "bytes": len(data)}
        manifest.write_text(json.dumps(stored | {"files": stored["files"] | {"safety.safetensors": entry}}))
        return Bundle.load(bundle)

    return Door("weights with a fitting hash", _header_mutations(good), load)


def _pilot_manifest(folder: Path) -> Door:
    save_pilot(folder / "pilot", PilotNet(), {})
    return _file_door("pilot manifest", folder / "pilot" / "manifest.json", lambda: pilot_weights(folder / "pilot"))


def _pilot_weights(folder: Path) -> Door:
    save_pilot(folder / "pilot", PilotNet(), {})
    path = folder / "pilot" / "pilot.safetensors"

    def load(data: bytes) -> Any:
        path.write_bytes(data)
        return pilot_weights(path)

    return Door("pilot weights", _header_mutations(path.read_bytes()), load)


def _labels(folder: Path) -> Door:
    good = b"index,safe\n" + b"\n".join(b"%d,%d" % (row, row % 2) for row in range(8)) + b"\n"
    path = folder / "labels.csv"

    def load(data: bytes) -> Any:
        path.write_bytes(data)
        return read_label_csv(path, "tub", one_tub=True).lookup(np.arange(8))

    return Door("label table", st.one_of(table_mutations(good), byte_mutations(good)), load)


def _scores(folder: Path) -> Door:
    path = folder / "scores.npz"
    synthetic_table(np.random.default_rng(0), sequences=1, length=6).save(path)
    return _file_door("score table", path, lambda: ScoreTable.load(path), as_json=False)


def good_tub(folder: Path) -> Path:
    """Version 2, written by hand, small."""
    tub = folder / "tub"
    (tub / "images").mkdir(parents=True)
    lines = []
    for row in range(4):
        name = f"{row}_cam_image_array_.jpg"
        Image.fromarray(np.full((12, 16, 3), 40 * row, dtype=np.uint8)).save(tub / "images" / name)
        record = {"_index": row, "_session_id": "s", "_timestamp_ms": 1_700_000_000_000 + 50 * row, "cam/image_array": name}
        lines.append(json.dumps(record | {"user/angle": 0.1, "user/throttle": 0.2, "user/mode": "user", "pos/cte": 0.1}))
    (tub / "catalog_0.catalog").write_text("\n".join(lines) + "\n")
    lengths = {
        "created_at": 1.0,
        "line_lengths": [len(line) + 1 for line in lines],
        "path": "catalog_0.catalog",
        "start_index": 0,
    }
    (tub / "catalog_0.catalog_manifest").write_text(json.dumps(lengths))
    keys = ["cam/image_array", "user/angle", "user/throttle", "user/mode", "pos/cte"]
    types = ["image_array", "float", "float", "str", "float"]
    last = {"paths": ["catalog_0.catalog"], "current_index": 4, "max_len": 1000, "deleted_indexes": []}
    (tub / "manifest.json").write_text("\n".join(json.dumps(line) for line in (keys, types, {}, {}, last)) + "\n")
    return tub


def _load(tub: Path) -> Any:
    return load_drives([tub], cache_dir=tub.parent / "cache")


def _line_mutations(good: bytes) -> st.SearchStrategy[bytes]:
    """One line of a file of JSON lines changed."""
    lines = good.strip().splitlines()

    def changed(row: int) -> st.SearchStrategy[bytes]:
        return json_mutations(json.loads(lines[row])).map(
            lambda text: b"\n".join([*lines[:row], text, *lines[row + 1 :]]) + b"\n"
        )

    return st.one_of(st.integers(0, len(lines) - 1).flatmap(changed), byte_mutations(good))


def _tub_door(name: str, folder: Path, file: str) -> Door:
    tub = good_tub(folder)
    path = tub / file

    def load(data: bytes) -> Any:
        path.write_bytes(data)
        return _load(tub)

    return Door(name, _line_mutations(path.read_bytes()), load)


def _catalog(folder: Path) -> Door:
    return _tub_door("tub catalog", folder, "catalog_0.catalog")


def _tub_manifest(folder: Path) -> Door:
    return _tub_door("tub manifest", folder, "manifest.json")


def _line_lengths(folder: Path) -> Door:
    return _tub_door("catalog manifest", folder, "catalog_0.catalog_manifest")


def _v1_record(folder: Path) -> Door:
    tub = folder / "tub"
    tub.mkdir()
    for row in range(4):
        Image.fromarray(np.full((12, 16, 3), 40 * row, dtype=np.uint8)).save(tub / f"{row}.jpg")
        record = {
            "cam/image_array": f"{row}.jpg",
            "user/angle": 0.1,
            "user/throttle": 0.2,
            "milliseconds": 50 * row,
            "pos/cte": 0.1,
        }
        (tub / f"record_{row}.json").write_text(json.dumps(record))
    return _file_door("v1 record", tub / "record_2.json", lambda: _load(tub))


def _setup(folder: Path) -> Door:
    angles = np.linspace(0.0, 2 * np.pi, 8, endpoint=False)
    square = [(100, 380, 0, 0), (540, 380, 4, 0), (540, 60, 4, 3), (100, 60, 0, 3)]
    inputs = {
        "image_size_px": [640, 480],
        "floor_points": [{"px": [u, v], "m": [x, y]} for u, v, x, y in square],
        "marker": {"hsv_low": [145, 100, 60], "hsv_high": [175, 255, 255]},
        "centreline_m": [[2 + float(np.cos(a)), 1.5 + float(np.sin(a))] for a in angles],
    }
    path = folder / "setup.json"
    path.write_text(json.dumps(inputs))
    load_setup(path)  # the good one is good
    return _file_door("overhead setup", path, lambda: load_setup(path))


def _schedule(folder: Path) -> Door:
    pieces = st.sampled_from(
        ["dark", "bias", ":", "3", "@", "10s", "-", "25s", "lap2", ",", "0", "9" * 400, "-1", "nan", "²", " ", "inf"]
    )
    text = st.one_of(st.lists(pieces, max_size=10).map("".join), st.text(max_size=20), st.just("dark:3," * 5000))
    return Door("injection schedule", text, parse_schedule)


def _settings(folder: Path) -> Door:
    names = [name.upper() for name in AiccConfig.__dataclass_fields__]
    values = HOSTILE_VALUES.filter(lambda value: type(value) is not object)
    given = st.dictionaries(st.one_of(st.sampled_from(names), st.text(max_size=5)), values, max_size=3)

    def load(keys: dict[str, Any]) -> Any:
        cfg = type("Cfg", (), {f"AICC_{name}": value for name, value in keys.items()})()
        return AiccConfig.from_donkey(cfg)

    return Door("settings", given, load)


def _replay(folder: Path) -> Door:
    tub = write_tub(folder / "tub", 4)
    path = tub / "catalog_0.catalog"

    def load(data: bytes) -> Any:
        path.write_bytes(data)
        run = read_run(tub)
        return json.dumps(packed_run(run), allow_nan=False), dataset_columns(run, run.horizons)

    return Door("replayed catalog", _line_mutations(path.read_bytes()), load)


def _signature(folder: Path) -> Door:
    bundle = make_bundle(folder / "bundle")
    new_key(folder / "owner.key")
    public = sign(bundle, folder / "owner.key")
    return _file_door("signature", bundle / "signature.json", lambda: check_signature(bundle, public))
