"""Faults on a recorded drive. Dark and Blur change its camera files, Bias and Latency its commands, in open loop.

Open loop: the car did not feel the fault. Its pictures, its path and its labels stay those of the nominal drive, so that a
command fault shows in the commands alone; in closed loop the car would also drift and see other pictures.
"""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.faults.fault import Fault, make_fault
from donkey_aicc.nets.preprocess import as_recorded, to_model_image
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.find_tubs import find_tubs, read_tub, tub_names
from donkey_aicc.tubs.labels import horizon_labels
from studies.open_loop import commands_only


class CameraFiles:
    """The camera images of some tubs at their own size, which faults act on before a frame is made small."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        tubs = find_tubs(paths)
        self._folders = dict(zip(tub_names(tubs), tubs, strict=True))
        self._files: dict[str, dict[int, str | None]] = {}

    def frame(self, tub: str, index: int) -> np.ndarray:
        """(H, W, 3) uint8 RGB of the record, in the file's own size."""
        if tub not in self._files:
            contents = read_tub(self._folders[tub])
            indices = [record.index for record in contents.records]
            self._files[tub] = dict(zip(indices, contents.image_paths(), strict=True))
        path = self._files[tub].get(index)
        image = cv2.imread(path, cv2.IMREAD_COLOR) if path else None
        if image is None:
            raise AiccError(f"{tub}: the image of record {index} cannot be read again")
        return np.ascontiguousarray(image[:, :, ::-1])


def held_out_piece(drive: Drive, frames: int, seed: int) -> tuple[Drive, int]:
    """A stretch of the drive, or all of a shorter one, and where it starts; the same for every fault."""
    frames = min(frames, len(drive))
    start = int(np.random.default_rng([seed, int(drive.content_hash[:8], 16)]).integers(len(drive) - frames + 1))
    return drive.part(start, start + frames), start


def under_fault(piece: Drive, protocol: str, severity: int, rate_hz: float, seed: int, files: CameraFiles) -> Drive:
    """The piece with the fault from its first frame on."""
    episode = int(piece.content_hash[:6], 16)
    fault = make_fault(
        protocol, severity, rate_hz=rate_hz, seed=seed, episode=episode, overrides=commands_only(protocol, severity)
    )
    changed = replace(
        piece,
        id=f"{piece.id}~{protocol}~{severity}",
        images=_seen(piece, fault, files) if protocol in ("dark", "blur") else piece.images,
        actions=_sent(piece, fault),
        protocol=np.full(len(piece), protocol),
        severity=np.full(len(piece), severity),
    )
    changed.__dict__.pop("content_hash", None)
    return changed


def _seen(piece: Drive, fault: Fault, files: CameraFiles) -> np.ndarray:
    if fault.sensor is None:
        return piece.images
    seen = (fault.sensor.run(files.frame(piece.tub, int(index))) for index in piece.indices)
    return np.stack([to_model_image(as_recorded(frame)) for frame in seen])  # the fault lies before the tub's JPEG


def _sent(piece: Drive, fault: Fault) -> np.ndarray:
    if fault.command is None:
        return piece.actions
    sent = [fault.command.run(*(float(value) for value in action)) for action in piece.actions]
    return np.clip(np.array(sent, dtype=np.float32), -1.0, 1.0)


def labels_of_whole_drives(table: ScoreTable, starts: dict[str, tuple[Drive, int]]) -> ScoreTable:
    """The table with labels that look beyond the end of a piece: the path is that of the recorded drive.

    starts: id of a scored piece -> its drive and its first frame there.
    """
    labels = table.labels.copy()
    for name, (drive, start) in starts.items():
        rows = table.sequence == name
        labels[rows] = horizon_labels(drive.safe, table.horizons)[start : start + int(rows.sum())]
    return replace(table, labels=labels)
