"""What differs between the generations of donkeycar, 5.3 (Python 3.11) and 5.4 (3.12 and 3.13): no other file asks for it.

The rest needs no question: both give the same parts and channels, `.keras` files load by the same call, and its simulator part
answers to gym or gymnasium by itself.
"""

import importlib.metadata
from importlib.util import find_spec
from pathlib import Path

IMU_SINGLE = dict.fromkeys((f"imu/{kind}_{axis}" for kind in ("acl", "gyr") for axis in "xyz"), "float")
IMU_VECTORS = {"imu/accel": "vector", "imu/gyro": "vector"}
STATIC = Path("parts", "web_controller", "templates", "static")


def release() -> tuple[int, ...]:
    """(5, 4) for donkeycar 5.4.0."""
    return tuple(int(part) for part in importlib.metadata.version("donkeycar").split(".")[:2])


def imu_channels() -> dict[str, str]:
    """What its add_imu writes -> type in the tub."""
    return IMU_SINGLE if release() < (5, 4) else IMU_VECTORS


def dead_drive_page() -> str | None:
    """What to do when its own page cannot work, or None: the packages of 5.4.0 lack the page's scripts and styles."""
    spec = find_spec("donkeycar")  # finds it without importing it
    if spec is None or spec.origin is None:
        return None
    static = Path(spec.origin).parent / STATIC
    if static.is_dir():
        return None
    return (
        f"donkeycar {importlib.metadata.version('donkeycar')} was packed without the files of its drive page, so /drive is dead: "
        f"drive from our cockpit, /aicc, or copy donkeycar/{STATIC.as_posix()} of github.com/autorope/donkeycar to {static}"
    )
