"""A run for the Rerun viewer (.rrd), written with its own library."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path
from donkey_aicc.replay.pictures import jpeg_of_row
from donkey_aicc.replay.run import VECTORS, Run, find_events

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
