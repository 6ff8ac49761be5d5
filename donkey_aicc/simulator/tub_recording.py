"""Writes simulated drives into normal donkeycar tubs, stamped with simulated time."""

import contextlib
import io
import logging
from pathlib import Path

import numpy as np
from PIL import Image

from donkey_aicc import channels
from donkey_aicc.simulator.driving import Tick

# `pilot/*` holds what the driver wanted, `steering`/`throttle` what reached the car: they differ under a fault.
KEYS = {
    channels.IMAGE: "image_array",
    "user/angle": "float",
    "user/throttle": "float",
    channels.MODE: "str",
    channels.STEERING: "float",
    channels.THROTTLE: "float",
    "pilot/angle": "float",
    "pilot/throttle": "float",
    **dict.fromkeys(channels.LOCATION, "float"),
    channels.INJECT_PROTOCOL: "str",
    channels.INJECT_SEVERITY: "int",
    channels.INJECT_EPISODE: "int",
}
LABEL_KEYS = {channels.IMAGE: "image_array", "user/angle": "float", "user/throttle": "float", channels.MODE: "str"}


class TubRecording:
    """`with TubRecording(path) as tub: tub.write(tick)`. A new segment starts a new tub session."""

    def __init__(self, path: str | Path, keys: dict[str, str] | None = None, metadata: dict[str, str] | None = None) -> None:
        self.path = Path(path)
        self._keys = KEYS if keys is None else keys
        self._metadata = [f"{key}:{value}" for key, value in (metadata or {}).items()]
        self._segment = 0
        self._open(0)

    def _open(self, segment: int) -> None:
        with contextlib.redirect_stdout(io.StringIO()):  # importing donkeycar prints its banner, once per worker process
            from donkeycar.parts.tub_v2 import Tub

        logging.getLogger("donkeycar.parts.datastore_v2").setLevel(logging.WARNING)
        logging.getLogger("donkeycar.parts.tub_v2").setLevel(logging.WARNING)
        self._tub = Tub(str(self.path), list(self._keys), list(self._keys.values()), self._metadata)
        # donkeycar puts today's date into session ids; the same seed should give the same tub on any day.
        self._tub.manifest.session_id = (segment, f"sim_{segment}")
        self._segment = segment

    def write(self, tick: Tick) -> None:
        """One record with everything in KEYS."""
        here = tick.observation
        self._new_session(tick)
        self._write(
            tick,
            {
                "user/angle": 0.0,
                "user/throttle": 0.0,
                channels.MODE: tick.mode,
                channels.STEERING: tick.sent[0],
                channels.THROTTLE: tick.sent[1],
                "pilot/angle": tick.intended[0],
                "pilot/throttle": tick.intended[1],
                channels.POS_X: here.x,
                channels.POS_Y: 0.0,
                channels.POS_Z: here.y,
                channels.SPEED: here.speed,
                channels.CTE: here.cte_m,
                channels.INJECT_PROTOCOL: tick.fault.protocol if tick.fault else "",
                channels.INJECT_SEVERITY: tick.fault.severity if tick.fault else 0,
                channels.INJECT_EPISODE: tick.episode,
            },
        )

    def write_label(self, tick: Tick, label: tuple[float, float]) -> None:
        """A record for cloning: the frame and what the teacher would have done, as if it had driven."""
        self._new_session(tick)
        self._write(tick, {"user/angle": label[0], "user/throttle": label[1], channels.MODE: "user"})

    def _new_session(self, tick: Tick) -> None:
        if tick.segment != self._segment:
            self._tub.close()
            self._open(tick.segment)

    def _write(self, tick: Tick, values: dict[str, float | int | str]) -> None:
        manifest = self._tub.manifest
        index = manifest.current_index
        name = f"{index}_cam_image_array_.jpg"
        # With Pillow's own quality (75, half the colour resolution), as donkeycar's tub writes them.
        Image.fromarray(np.ascontiguousarray(tick.image)).save(Path(self._tub.images_base_path) / name)
        record: dict[str, float | int | str] = {key: _plain(value) for key, value in values.items()}
        record[channels.IMAGE] = name
        record["_timestamp_ms"] = int(round(1000 * tick.observation.time_s))
        record["_index"] = index
        record["_session_id"] = manifest.session_id[1]
        manifest.write_record(record)

    def close(self) -> None:
        self._tub.close()

    def __enter__(self) -> "TubRecording":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _plain(value: float | int | str) -> float | int | str:
    """Numbers to the micrometre: further digits differ between processors, and the same seed must give the same tub."""
    return value if isinstance(value, str | int) else round(float(value), 6)
