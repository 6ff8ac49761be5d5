"""A small tub as a monitored car records it, written by hand: sixty frames, a fault, an alarm, a departure."""

import json
from pathlib import Path

import cv2
import numpy as np

FRAMES = 60
RATE_HZ = 20.0
HORIZONS = 11
FAULT = slice(20, 40)
DANGER = slice(30, 36)
OUT = slice(33, 38)
START_MS = 1_700_000_000_000


def scores(row: int) -> dict:
    """Made up, but as the channels have them: confident on nominal frames, careful under the fault."""
    inside = FAULT.start <= row < FAULT.stop
    raw = 0.95 - 0.002 * row
    return {
        "aicc/p_safe": [raw] * HORIZONS,
        "aicc/p_tta": [raw - 0.01] * HORIZONS,
        "aicc/confidence": [0.5 if inside else raw - 0.05] * HORIZONS,
        "aicc/rho": 1.0 if inside else 0.1,
        "aicc/delta": 0.3 + 0.01 * (row % 7),
        "aicc/status": "ok",
        "aicc/alarm": "danger" if DANGER.start <= row < DANGER.stop else "watch" if inside else "none",
        "aicc/reason": "the picture is unlike any seen in training" if inside else "",
        "aicc/grade": "full",
    }


def record(row: int) -> dict:
    turn = 2 * np.pi * row / FRAMES
    inside = FAULT.start <= row < FAULT.stop
    return {
        "cam/image_array": f"{row}_cam_image_array_.jpg",
        "user/angle": 0.0,
        "user/throttle": 0.0,
        "user/mode": "local",
        "steering": round(0.5 * np.sin(turn), 4),
        "throttle": 0.4,
        "pos/pos_x": round(2 * np.cos(turn), 4),
        "pos/pos_z": round(np.sin(turn), 4),
        "pos/cte": 0.5 if OUT.start <= row < OUT.stop else 0.02,
        "aicc/inject_protocol": "dark" if inside else "",
        "aicc/inject_severity": 3 if inside else 0,
    }


def picture(row: int) -> np.ndarray:
    """A road that moves, so that frames differ."""
    image = np.full((48, 64, 3), 90, np.uint8)
    cv2.line(image, (10 + row % 20, 47), (32, 10), (255, 255, 255), 2)
    cv2.rectangle(image, (row, 2), (row + 4, 8), (200, 60, 20), -1)
    return image


def write_tub(
    path: Path, frames: int = FRAMES, *, scored: bool = True, without: tuple[str, ...] = (), pictures: bool = True
) -> Path:
    """Version 2; `without` drops keys from every record."""
    (path / "images").mkdir(parents=True)
    lines = []
    for row in range(frames):
        values = record(row) | (scores(row) if scored else {})
        values |= {"_index": row, "_session_id": "s_0", "_timestamp_ms": int(START_MS + 1000 * row / RATE_HZ)}
        lines.append(json.dumps({key: value for key, value in values.items() if key not in without}))
        if pictures:
            cv2.imwrite(str(path / "images" / f"{row}_cam_image_array_.jpg"), picture(row))
    (path / "catalog_0.catalog").write_text("".join(f"{line}\n" for line in lines))
    manifest = [["cam/image_array"], ["image_array"], {"lane_half_width": "0.35"}, {"created_at": 0.0, "sessions": {}}]
    manifest.append({"paths": ["catalog_0.catalog"], "current_index": frames, "max_len": 1000, "deleted_indexes": []})
    (path / "manifest.json").write_text("".join(f"{json.dumps(line)}\n" for line in manifest))
    return path


def write_v1_tub(path: Path, frames: int = 10) -> Path:
    """Version 1: an image and a record_N.json per frame, no cte, no times."""
    path.mkdir(parents=True)
    for row in range(frames):
        name = f"{row}_cam-image_array_.jpg"
        cv2.imwrite(str(path / name), picture(row))
        (path / f"record_{row}.json").write_text(
            json.dumps({"cam/image_array": name, "user/angle": 0.1, "user/throttle": 0.3, "user/mode": "user"})
        )
    (path / "meta.json").write_text(json.dumps({"inputs": ["cam/image_array"], "types": ["image_array"]}))
    return path
