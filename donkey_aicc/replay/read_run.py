"""A tub of either version and of any car -> Run. The tub is only read."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc import channels
from donkey_aicc.alarm.outlook import state_of
from donkey_aicc.errors import AiccError
from donkey_aicc.replay.run import SCORE_COLUMNS, VECTORS, Run
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.tubs.assemble import noted_half_width
from donkey_aicc.tubs.find_tubs import find_tubs, read_tub
from donkey_aicc.tubs.home import home_of_tub
from donkey_aicc.tubs.labels import departed_frames
from donkey_aicc.tubs.telemetry import Telemetry, read_commands, read_telemetry
from donkey_aicc.tubs.timeline import ASSUMED_RATE_HZ, read_times
from donkey_aicc.tubs.tub_contents import Record, TubContents, number, numbers, text, texts
from donkey_aicc.web.cockpit_exchange import SHOWN

TEXTS = ("mode", "status", "grade", "health", "alarm", "reason", "state", "action", "advice")
ELSEWHERE = ("image", "recording", "records", "inject_protocol")  # read in another way, or of no use here
LONGEST_STEP_S, PAUSE_S = 1.0, 1.5  # a longer pause between two records is shown as one of this length
LONGEST_TEXT, LONGEST_VECTOR = 200, 64
TRACK_POINTS = 160


def read_run(path: str | Path) -> Run:
    """Everything the tub says; raises AiccError where there is nothing to look at."""
    tub = _one_tub(path)
    contents = read_tub(tub)
    live = [row for row, record in enumerate(contents.records) if record.index not in contents.deleted]
    if not live:
        raise AiccError(f"{tub} has no record to show; what was lost and why: donkey-aicc check {tub}")
    images = contents.image_paths()
    image_paths = [images[row] for row in live]
    if not _any_exists(image_paths):
        raise AiccError(
            f"{tub} has no camera pictures: none of its {len(live)} records names a file that is there (key {channels.IMAGE}); "
            f"copy the tub again with its images, and see: donkey-aicc check {tub}"
        )
    records = [contents.records[row] for row in live]
    telemetry = read_telemetry(records)
    columns = {key: numbers(records, channel) for key, channel in SHOWN.items() if key not in (*TEXTS, *VECTORS, *ELSEWHERE)}
    columns |= {key: values for key in VECTORS if (values := _vectors(records, SHOWN[key])) is not None}
    commands = read_commands(records, telemetry.mode).actions
    columns |= {"steering": commands[:, 0], "throttle": commands[:, 1], "cte": telemetry.cte, "mark": telemetry.marks}
    columns["inject_severity"] = np.where(telemetry.protocol == "", np.nan, telemetry.severity)
    words = {key: texts(records, SHOWN[key], LONGEST_TEXT) for key in TEXTS} | {"inject_protocol": telemetry.protocol}
    if (words["state"] == "").all():  # recorded where nobody told it
        said = zip(*(words[name].tolist() for name in ("alarm", "health", "action")), strict=True)
        words["state"] = np.array([state_of(*each) for each in said], dtype=str)
    times_s = read_times(contents).times_s[live]
    step_s = number(contents.metadata.get("step_s"))
    t, rate_hz = _shown_time(times_s, [record.session for record in records], step_s if step_s > 0 else None)
    kept = {key: np.asarray(values, dtype=np.float32) for key, values in columns.items() if np.isfinite(values).any()}
    horizons, notes = _known_horizons(kept)
    return Run(
        tub=tub,
        name=tub.resolve().name,
        index=np.array([record.index for record in records], dtype=np.int64),
        t=t,
        rate_hz=rate_hz,
        image_paths=image_paths,
        numbers=kept,
        words={key: values for key, values in words.items() if (values != "").any()},
        departed=_departed(contents, records, telemetry),
        horizons=horizons,
        notes=notes,
        track=_track(contents),
        home=home_of_tub(contents.metadata, {key for record in records[:1] for key in record.values}),
        safe=text(contents.metadata.get("safe"))[:LONGEST_TEXT],
        scores_from="recorded during the drive" if any(name in kept for name in SCORE_COLUMNS) else "",
    )


def _one_tub(path: str | Path) -> Path:
    tubs = find_tubs([path])
    if len(tubs) > 1:
        some = ", ".join(str(tub) for tub in tubs[:3])
        raise AiccError(f"{path} holds {len(tubs)} tubs, replay shows one: name it, such as {some}")
    return tubs[0]


def _any_exists(paths: Sequence[str | None]) -> bool:
    return any(path is not None and os.path.exists(path) for path in paths)


def _vectors(records: Sequence[Record], channel: str) -> np.ndarray | None:
    """(N, K) float32 of a channel that holds one list of numbers per record; (N,) if it holds single numbers; None without."""
    values = [record.values.get(channel) for record in records]
    lengths = [len(value) for value in values if isinstance(value, list)]
    if not lengths:
        single = numbers(list(records), channel)
        return single.astype(np.float32) if np.isfinite(single).any() else None
    width = min(max(lengths), LONGEST_VECTOR)
    column = np.full((len(values), width), np.nan, dtype=np.float32)
    for row, value in enumerate(values):
        if isinstance(value, list) and len(value) == width:
            column[row] = [number(each) for each in value]
    return column


def _shown_time(times_s: np.ndarray, sessions: Sequence[str], step_s: float | None) -> tuple[np.ndarray, float]:
    """Seconds since the first record with long pauses, jumps back and changes of session cut short; and the usual rate.

    step_s: what one record is in a simulated world, if the tub notes it; its computer may have been slower or faster.
    """
    steps = np.diff(times_s)
    usable = steps[(steps > 0) & (steps <= LONGEST_STEP_S)]
    rate_hz = 1.0 / step_s if step_s else float(1.0 / np.median(usable)) if len(usable) else ASSUMED_RATE_HZ
    changed = np.array([first != second for first, second in zip(sessions, sessions[1:], strict=False)], dtype=bool)
    steps = np.where((steps > LONGEST_STEP_S) | (steps < 0) | changed, PAUSE_S, step_s or steps)
    return np.concatenate([[0.0], np.cumsum(np.maximum(steps, 1e-3))]), rate_hz


def _departed(contents: TubContents, records: Sequence[Record], telemetry: Telemetry) -> np.ndarray:
    """Session by session, because the last pilot frame of one is not taken over by the first of the next."""
    sessions = [record.session for record in records]
    starts = [0, *(row for row in range(1, len(sessions)) if sessions[row] != sessions[row - 1]), len(sessions)]
    half_width, said = noted_half_width(contents), (telemetry.cte, telemetry.mode, telemetry.marks)
    parts = [[column[start:stop] for column in said] for start, stop in zip(starts, starts[1:], strict=False)]
    return np.concatenate([departed_frames(*part, half_width=half_width) for part in parts])


def _known_horizons(columns: dict[str, np.ndarray]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The frames ahead that the recorded values stand for, and a note; only the usual set can be told from their number."""
    vectors = [name for name in VECTORS if name in columns and columns[name].ndim == 2]
    widths = {columns[name].shape[1] for name in vectors}
    if not widths or widths == {len(HORIZONS)}:
        return (HORIZONS if widths else ()), ()
    for name in vectors:
        del columns[name]
    count = ", ".join(str(width) for width in sorted(widths))
    return (), (f"recorded probabilities are left out: {count} horizons, which only their bundle knows; add --bundle",)


def _track(contents: TubContents) -> dict[str, Any] | None:
    """The centreline, where the recorder noted a track of the embedded simulator."""
    name = contents.metadata.get("track")
    if not isinstance(name, str):
        return None
    try:
        track = make_track(name.replace("seed_", "seed:"))
    except AiccError:
        return None
    every = max(1, len(track.centreline) // TRACK_POINTS)
    return {"points": track.centreline[::every].round(2).tolist(), "half_width_m": track.half_width_m}
