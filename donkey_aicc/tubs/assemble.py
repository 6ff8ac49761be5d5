"""One tub -> columns, runs of usable records, and its health; labels come later, because tau may need all tubs."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.drive import FULL_LENGTH, Drive, make_drive
from donkey_aicc.tubs.find_tubs import read_tub
from donkey_aicc.tubs.frame_cache import Frames, load_frames
from donkey_aicc.tubs.home import home_of_tub
from donkey_aicc.tubs.image_file import OK, STATUS_NAMES
from donkey_aicc.tubs.odd_pictures import odd_pictures
from donkey_aicc.tubs.telemetry import NONE, Commands, Telemetry, read_commands, read_telemetry
from donkey_aicc.tubs.timeline import COMMAND, DELETED, IMAGE, backward_steps, find_runs, rate_and_jitter, read_times
from donkey_aicc.tubs.tub_contents import FATAL, LOSS, NOTE, Finding, TubContents, found, number
from donkey_aicc.tubs.tub_health import TubHealth

SLOW_HZ = 10.0
FEW_SEQUENCES = 3
REPEAT_NOTE_SHARE = 0.02  # a standing car repeats a few frames; more means the camera is slower than the loop
LANE_HALF_WIDTH = "lane_half_width"  # key of the tub's metadata
CHANNEL_NAMES = {1: "grey", 3: "RGB", 4: "RGBA"}


@dataclass(frozen=True)
class AssembledTub:
    """Unlabelled sequences of one tub, the marks beside them, and the report so far."""

    sequences: list[Drive]
    marks: list[np.ndarray]  # per sequence (N,) float32: 1 marked unsafe, 0 not, NaN not recorded
    health: TubHealth
    lane_half_width: float | None = None  # as the recorder noted it, in the unit of the cte
    standing: list[np.ndarray] = field(default_factory=list)  # per sequence (N,) bool: not driving


def assemble_tub(
    path: Path,
    name: str,
    max_gap_s: float,
    min_length: int = 1,
    cache_dir: str | Path | None = None,
    listed_only: bool = False,
) -> AssembledTub:
    """Read everything; a tub from which nothing can be used gives no sequences and a fatal finding, not an exception."""
    health = TubHealth(path=str(path), name=name)
    try:
        contents = read_tub(path, listed_only)
    except AiccError as error:
        health.findings += found(FATAL, "not-a-tub", str(error))
        return AssembledTub([], [], health)
    health.format = contents.format
    if not contents.records:
        health.findings += contents.findings + found(FATAL, "no-records", "not one readable record")
        return AssembledTub([], [], health)
    telemetry = read_telemetry(contents.records)
    commands = read_commands(contents.records, telemetry.mode)
    frames = load_frames(path, contents.image_paths(), [record.index for record in contents.records], cache_dir)
    return _cut(contents, telemetry, commands, frames, health, max_gap_s, min_length)


def _cut(
    contents: TubContents,
    telemetry: Telemetry,
    commands: Commands,
    frames: Frames,
    health: TubHealth,
    max_gap_s: float,
    min_length: int,
) -> AssembledTub:
    times = read_times(contents)
    indices = np.array([record.index for record in contents.records], dtype=np.int64)
    deleted = np.isin(indices, np.array(sorted(contents.deleted), dtype=np.int64))
    lost = {DELETED: deleted, IMAGE: frames.status != OK, COMMAND: commands.source == NONE}
    every_run, cuts = find_runs(contents, times, lost, max_gap_s)
    runs = [(start, stop) for start, stop in every_run if stop - start >= min_length]
    sequences = [
        make_drive(
            health.name,
            contents.records[start].session,
            _held(frames.images, frames.status, start, stop),
            commands.actions[start:stop],
            indices=indices[start:stop],
            times_s=times.times_s[start:stop],
            cte=telemetry.cte[start:stop],
            protocol=telemetry.protocol[start:stop],
            severity=telemetry.severity[start:stop],
            episode=telemetry.episode[start:stop],
            mode=telemetry.mode[start:stop],
            frame_digests=_held(frames.pixel_digest, frames.status, start, stop),
        )
        for start, stop in runs
    ]
    health.sequences = [
        {"first": int(sequence.indices[0]), "last": int(sequence.indices[-1]), "frames": len(sequence)} for sequence in sequences
    ]
    health.too_short, health.cuts = len(every_run) - len(runs), cuts
    health.rate_hz, health.jitter_ms = rate_and_jitter(times.times_s, every_run)
    health.time_source = "recorded" if times.measured else "assumed"
    live = ~deleted
    _describe(health, contents, telemetry, commands, frames, live, runs)
    backwards = backward_steps(contents, times)
    health.findings = contents.findings + telemetry.findings + commands.findings + times.findings
    health.findings += found(LOSS, "time-backwards", f"time runs backwards {backwards} times; cut there", backwards)
    health.findings += _losses(health, commands, frames, live, times.measured, max_gap_s) + odd_pictures(sequences)
    return AssembledTub(sequences, [telemetry.marks[start:stop] for start, stop in runs], health, noted_half_width(contents))


def _held(values: np.ndarray, status: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Rows start..stop-1 of what was read from the pictures; where one is lost, that of the picture before it stands."""
    usable = status[start:stop] == OK
    if usable.all():
        return values[start:stop]
    return values[start + np.maximum.accumulate(np.where(usable, np.arange(stop - start), 0))]


def noted_half_width(contents: TubContents) -> float | None:
    """Of the lane, as the recorder wrote it into the tub."""
    noted = number(contents.metadata.get(LANE_HALF_WIDTH))
    return noted if noted > 0 else None


def _describe(
    health: TubHealth,
    contents: TubContents,
    telemetry: Telemetry,
    commands: Commands,
    frames: Frames,
    live: np.ndarray,
    runs: list[tuple[int, int]],
) -> None:
    health.records, health.deleted = len(contents.records), int((~live).sum())
    health.usable = sum(int((frames.status[start:stop] == OK).sum()) for start, stop in runs)
    health.sessions = len({record.session for record in contents.records})
    health.keys = dict(Counter(chain.from_iterable(record.values for record in contents.records)))
    health.home = home_of_tub(contents.metadata, health.keys)
    health.action_sources = dict(Counter(commands.source[live].tolist()).most_common())
    health.protocols = dict(Counter(telemetry.protocol[live].tolist()).most_common())
    kinds = Counter(map(tuple, frames.shape[live & (frames.status == OK)].tolist()))
    health.image_sizes = {_image_kind(*kind): count for kind, count in kinds.most_common()}
    problems = Counter(frames.status[live].tolist())
    health.image_problems = {STATUS_NAMES[status]: problems[status] for status in sorted(problems) if status != OK}
    pairs = live[1:] & live[:-1] & (frames.status[1:] == OK) & (frames.status[:-1] == OK)
    if pairs.any():
        health.repeat_share = float(np.mean(frames.file_digest[1:][pairs] == frames.file_digest[:-1][pairs]))


def _image_kind(height: int, width: int, channels: int, bits: int) -> str:
    depth = "" if bits == 8 else f" {bits} bit"
    return f"{width}x{height} {CHANNEL_NAMES[channels]}{depth}"


def _losses(
    health: TubHealth, commands: Commands, frames: Frames, live: np.ndarray, measured: bool, max_gap_s: float
) -> list[Finding]:
    findings = []
    for problem, count in health.image_problems.items():
        message = f"{count} records have a {problem} image; the one before stands for it up to {max_gap_s:g} s, then it is cut"
        findings += found(LOSS, f"image-{problem}", message, count)
    silent = int((live & (commands.source == NONE)).sum())
    findings += found(LOSS, "command-missing", f"{silent} records have no command that is a number; cut there", silent)
    odd = sum(count for kind, count in health.image_sizes.items() if not kind.endswith(" RGB"))
    findings += found(NOTE, "image-not-rgb", f"{odd} images are not plain RGB; converted", odd)
    mixed = len(health.image_sizes) if len(health.image_sizes) > 1 else 0
    findings += found(NOTE, "image-sizes-mixed", f"{mixed} kinds of images in one tub", mixed)
    if health.repeat_share > REPEAT_NOTE_SHARE:
        share = f"{100 * health.repeat_share:.0f} %"
        message = f"{share} of the frames repeat the one before: the car stands still or the camera is slower than the loop"
        findings += found(NOTE, "frames-repeated", message)
    if measured and health.rate_hz * max_gap_s < 2:
        message = f"at {health.rate_hz:.1f} Hz a largest gap of {max_gap_s:g} s cuts at every late frame; consider a larger one"
        findings += found(NOTE, "rate-low", message)
    if measured and health.rate_hz < SLOW_HZ:
        message = f"{health.rate_hz:.1f} frames a second are few: much changes from one to the next, and horizons count frames"
        findings += found(NOTE, "slow", message)
    full = sum(sequence["frames"] >= FULL_LENGTH for sequence in health.sequences)
    if health.usable >= FULL_LENGTH and full < FEW_SEQUENCES:
        said = f"{full} usable sequence{'' if full == 1 else 's'} of at least {FULL_LENGTH} frames"
        message = f"only {said}: how drives differ is hardly known; stop and start the recording now and then"
        findings += found(NOTE, "few-sequences", message)
    if not health.sequences:
        findings += found(FATAL, "nothing-usable", "no record is left after the cuts")
    return findings
