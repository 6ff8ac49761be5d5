"""D_aug of a bundle: pieces of its calibration drives, changed at severities that its own predictor sets, and scored.

The test protocols have no part in any number chosen here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.calibration.pool import augmented_id
from donkey_aicc.faults.d_aug import (
    DYNAMICS_KINDS,
    SEVERITIES,
    SPEED_FACTOR,
    VISUAL_FAMILIES,
    FamilyLadder,
    SequenceArrays,
    augment,
    severity_for_accuracy_drop,
    strengths_of,
)
from donkey_aicc.nets.manifest import CONTEXT
from donkey_aicc.nets.preprocess import lagged, stacked
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.tta_views import sigmoid
from donkey_aicc.tubs.drive import Drive, make_drive
from donkey_aicc.tubs.labels import horizon_labels
from donkey_aicc.workers import Workers

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

LADDER_FRAMES, LADDER_BATCH = 400, 200
ROWS_WITH_FULL_CONTEXT = 80  # usable frames of each augmented piece


@dataclass(frozen=True)
class Augmented:
    """D_aug as scored, the strengths that its severities stand for, and drives in closed loop under its faults, if any."""

    table: ScoreTable
    ladders: dict[str, FamilyLadder]
    driven: ScoreTable | None = None


def build_augmented(
    bundle: "Bundle",
    calibration: Sequence[Drive],
    settings: ScoreSettings,
    seed: int = 0,
    workers: Workers = 1,
    rows: int = ROWS_WITH_FULL_CONTEXT,
    ladder_frames: int = LADDER_FRAMES,
    severities: tuple[int, ...] = SEVERITIES,
    score: Callable[..., ScoreTable] = score_drives,
) -> Augmented:
    """Set the severities by the predictor's accuracy, cut and change pieces of the calibration drives, score them."""
    ladders = measure_ladders(bundle, calibration, seed, ladder_frames)
    # Warm-up, usable rows, and the frames that the labels of the last usable row look at.
    frames = settings.context + rows + max(bundle.horizons)
    pieces = augmented_pieces(calibration, strengths_of(ladders), frames, seed, severities, settings.context)
    return Augmented(score(bundle, pieces, settings=settings, workers=workers, title="scoring D_aug"), ladders)


def measure_ladders(
    bundle: "Bundle", calibration: Sequence[Drive], seed: int, frames: int = LADDER_FRAMES
) -> dict[str, FamilyLadder]:
    """Strengths of the visual families, from evenly spaced calibration frames and what the predictor sees before them."""
    lags, lengths = bundle.lags, [len(sequence) for sequence in calibration]
    owner = np.repeat(np.arange(len(lengths)), lengths)
    step = np.concatenate([np.arange(length) for length in lengths])
    rows = np.unique(np.linspace(0, len(step) - 1, min(frames, len(step))).astype(int))
    seen = [(calibration[number], lagged(step[[row]], lags)[0]) for number, row in zip(owner[rows].tolist(), rows, strict=True)]
    images = np.concatenate([sequence.images[numbers] for sequence, numbers in seen])
    commands = np.stack([sequence.actions[numbers] for sequence, numbers in seen])
    labels = np.concatenate([horizon_labels(sequence.safe, bundle.horizons) for sequence in calibration])
    return severity_for_accuracy_drop(lambda pixels: _predict(bundle, pixels, commands), images, labels[rows], seed)


def _predict(bundle: "Bundle", images: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """images (N n, 64, 64, 3): the n frames of each input one after the other, commands (N, n, 2) -> (N, K)."""
    frames = images.reshape(*commands.shape[:2], *images.shape[1:])
    parts = [slice(start, start + LADDER_BATCH) for start in range(0, len(frames), LADDER_BATCH)]
    inputs = (stacked(frames[part], commands[part], bundle.steering_stats) for part in parts)
    return np.concatenate([sigmoid(bundle.predict(x)[1]) for x in inputs])


def augmented_pieces(
    calibration: Sequence[Drive],
    strengths: dict[str, tuple[float, ...]],
    frames: int,
    seed: int,
    severities: tuple[int, ...] = SEVERITIES,
    context: int = CONTEXT,
) -> list[Drive]:
    """One piece of a calibration drive for each family and severity; dynamics kinds get as many pieces as visual families.

    A drive that is not longer than the context serves no family as long as there are others: none of its frames would count.
    The id of a piece is `<id of the drive>~<family>~<severity>`, so that a subset of the drives finds its own pieces.
    """
    rng = np.random.default_rng([seed, 21])
    pieces = []
    variants = [(family, severity) for family in (*VISUAL_FAMILIES, *DYNAMICS_KINDS) for severity in severities]
    for number, (family, severity) in enumerate(variants):
        speed = SPEED_FACTOR if family == "speed_mismatch" else 1
        sources = _longer(calibration, context * speed) or _longer(calibration, context) or calibration
        # Stepping by severity too lets every drive serve every family.
        source = sources[(number + number // len(severities)) % len(sources)]
        donor = _donor(calibration, source, rng)
        length = min(frames * speed, len(source))
        start = int(rng.integers(len(source) - length + 1))
        part = SequenceArrays(*(values[start : start + length] for values in (source.images, source.actions, source.safe)))
        changed = augment(part, family, severity, rng, donor, strengths)
        pieces.append(_as_sequence(source, changed, family, severity))
    return pieces


def _longer(drives: Sequence[Drive], frames: int) -> list[Drive]:
    return [drive for drive in drives if len(drive) > frames]


def _donor(calibration: Sequence[Drive], source: Drive, rng: np.random.Generator) -> np.ndarray:
    """Actions of another drive, never of the piece's own: those would fit its pictures. Empty if there is no other."""
    others = [drive for drive in calibration if drive.id != source.id]
    return others[int(rng.integers(len(others)))].actions if others else np.empty((0, 2))


def _as_sequence(source: Drive, arrays: SequenceArrays, family: str, severity: int) -> Drive:
    piece = make_drive(
        source.tub,
        source.session,
        np.asarray(arrays.images),
        np.asarray(arrays.actions),
        safe=arrays.safe,
        protocol=family,
        severity=severity,
    )
    return replace(piece, id=augmented_id(source.id, family, severity))
