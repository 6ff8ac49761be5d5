"""A run for viewers that others made, each written with its own library.

.mcap for Foxglove: JSON messages with Foxglove's schemas. .rrd for Rerun.
"""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path
from donkey_aicc.replay.pictures import jpeg_of_row
from donkey_aicc.replay.replay_page import HIDDEN
from donkey_aicc.replay.run import VECTORS, Run, find_events

_STAMP = {"type": "object", "title": "time", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}
# name -> properties; the names are Foxglove's where it knows the kind, so that its panels do.
SCHEMAS: dict[str, dict[str, Any]] = {
    "foxglove.CompressedImage": {
        "timestamp": _STAMP,
        "frame_id": _TEXT,
        "format": _TEXT,
        "data": {"type": "string", "contentEncoding": "base64"},
    },
    "foxglove.PoseInFrame": {"timestamp": _STAMP, "frame_id": _TEXT, "pose": {"type": "object"}},
    "foxglove.Log": {"timestamp": _STAMP, "level": {"type": "integer"}, "message": _TEXT, "name": _TEXT},
    "donkey_aicc.Moment": {"record": {"type": "integer"}},
}
WARNING, ERROR = 3, 4  # levels of foxglove.Log


def mcap_writer() -> Any:
    """The library's Writer, or a message that says how to get it."""
    try:
        from mcap.writer import Writer
    except ImportError as error:
        raise AiccError(f"--mcap needs MCAP's library ({error}): pip install 'donkey_aicc[mcap]'") from None
    return Writer


def write_mcap(runs: Sequence[Run], path: str | Path) -> str:
    """Write it and say what is in it; times are seconds since the start of the drive."""
    writer_class = mcap_writer()
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        writer = writer_class(file)
        writer.start(profile="", library="donkey_aicc")
        schemas = {name: writer.register_schema(name, "jsonschema", _schema(name)) for name in SCHEMAS}
        for number, run in enumerate(runs):
            _write(writer, schemas, run, f"/{number + 1}_{run.name}" if len(runs) > 1 else "")
        writer.finish()
    return f"{path}: {sum(len(run) for run in runs)} records; open it with Foxglove"


def _schema(name: str) -> bytes:
    return json.dumps({"title": name, "type": "object", "properties": SCHEMAS[name]}).encode()


def _write(writer: Any, schemas: dict[str, int], run: Run, prefix: str) -> None:
    topics = {
        f"{prefix}/camera": "foxglove.CompressedImage",
        f"{prefix}/car": "foxglove.PoseInFrame",
        f"{prefix}/events": "foxglove.Log",
        f"{prefix}/aicc": "donkey_aicc.Moment",
    }
    channels = {topic.rsplit("/", 1)[-1]: writer.register_channel(topic, "json", schemas[name]) for topic, name in topics.items()}
    events: dict[int, list[Any]] = {}
    for event in find_events(run):
        events.setdefault(event.row, []).append(event)
    for row in range(len(run)):
        nanoseconds = round(float(run.t[row]) * 1e9)
        stamp = {"sec": nanoseconds // 1_000_000_000, "nsec": nanoseconds % 1_000_000_000}

        def add(channel: str, said: dict[str, Any], at: int = nanoseconds, sequence: int = row) -> None:
            writer.add_message(channels[channel], at, json.dumps(said).encode(), at, sequence)

        jpeg = jpeg_of_row(run, row)
        if jpeg is not None:
            picture = base64.b64encode(jpeg).decode()
            add("camera", {"timestamp": stamp, "frame_id": "camera", "format": "jpeg", "data": picture})
        add("aicc", moment_of(run, row))
        if run.has_position and np.isfinite(run.numbers["x"][row] + run.numbers["y"][row]):
            place = {"x": float(run.numbers["x"][row]), "y": float(run.numbers["y"][row]), "z": 0.0}
            pose = {"position": place, "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}}
            add("car", {"timestamp": stamp, "frame_id": "track", "pose": pose})
        for event in events.get(row, []):
            level = ERROR if event.kind in ("departure", "alarm") else WARNING
            add("events", {"timestamp": stamp, "level": level, "message": event.text, "name": event.kind})


def moment_of(run: Run, row: int) -> dict[str, Any]:
    """One record by the cockpit's names; what is not known is left out."""
    said: dict[str, Any] = {"record": int(run.index[row])}
    for name, values in run.numbers.items():
        if name in HIDDEN or not np.isfinite(values[row]).any():
            continue
        if values.ndim == 1:
            said[name] = float(values[row])
        else:
            said[name] = [float(value) if np.isfinite(value) else None for value in values[row]]
    return said | {name: str(values[row]) for name, values in run.words.items() if values[row]}


CHUNK = 200  # pictures that are sent together
NUMBERS = ("rho", "delta", "steering", "throttle", "cte", "speed", "inject_severity", "scores_age_s")


def rerun_library() -> Any:
    """The library, or a message that says how to get it."""
    try:
        import rerun
    except ImportError as error:
        raise AiccError(f"--rerun needs Rerun's library ({error}): pip install 'donkey_aicc[rerun]'") from None
    return rerun


def write_rerun(runs: Sequence[Run], path: str | Path) -> str:
    """Write it and say what is in it. Rerun numbers its rows by the clock: two files differ in bytes, not in content."""
    rr = rerun_library()
    with atomic_path(path) as temporary:
        recording = rr.new_recording("donkey_aicc_replay", recording_id=" and ".join(run.name for run in runs))
        rr.save(temporary, recording=recording)
        for number, run in enumerate(runs):
            _send(rr, recording, run, f"{number + 1}_{run.name}/" if len(runs) > 1 else "")
        recording.flush(blocking=True)
        rr.disconnect(recording=recording)
    return f"{path}: {sum(len(run) for run in runs)} records; open it with: rerun {path}"


def _send(rr: Any, recording: Any, run: Run, prefix: str) -> None:
    def columns(name: str, t: np.ndarray, content: Any) -> None:
        rr.send_columns(prefix + name, indexes=[rr.TimeSecondsColumn("drive", t)], columns=content, recording=recording)

    for name in NUMBERS:
        if run.has(name):
            known = np.isfinite(run.numbers[name])
            columns(name, run.t[known], rr.Scalar.columns(scalar=run.numbers[name][known].astype(np.float64)))
    for name in VECTORS:
        if run.has(name) and run.numbers[name].ndim == 2:
            for place, frames in enumerate(run.horizons):
                values = run.numbers[name][:, place]
                known = np.isfinite(values)
                columns(f"{name}/{frames:02d}_frames", run.t[known], rr.Scalar.columns(scalar=values[known].astype(np.float64)))
    if run.has_position:
        xy = np.stack([run.numbers["x"], run.numbers["y"]], axis=1)
        known = np.isfinite(xy).all(axis=1)
        columns("car", run.t[known], rr.Points2D.columns(positions=xy[known] * (1.0, -1.0)))
    if run.track:
        outline = np.array([*run.track["points"], run.track["points"][0]]) * (1.0, -1.0)
        rr.log(f"{prefix}track", rr.LineStrips2D([outline]), static=True, recording=recording)
    said = [(event.t, f"{event.kind}: {event.text}") for event in sorted(find_events(run), key=lambda event: event.row)]
    if said:
        columns("events", np.array([t for t, _ in said]), rr.TextLog.columns(text=[text for _, text in said]))
    for start in range(0, len(run), CHUNK):
        found = [(row, jpeg) for row in range(start, min(start + CHUNK, len(run))) if (jpeg := jpeg_of_row(run, row)) is not None]
        if found:
            rows = [row for row, _ in found]
            pictures = rr.EncodedImage.columns(blob=[jpeg for _, jpeg in found], media_type=["image/jpeg"] * len(found))
            columns("camera", run.t[rows], pictures)
