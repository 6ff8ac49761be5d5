"""From a trained bundle and nominal tubs to a calibrator: build D_aug, score it, fit, and store the result in the bundle.

Only calibration sequences are touched. The test protocols have no part in any number chosen here.
"""

from collections.abc import Sequence as Listing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.anomalies.d_aug import DYNAMICS_KINDS, SEVERITIES, SPEED_FACTOR, VISUAL_FAMILIES, SequenceArrays, augment
from donkey_aicc.anomalies.severity_ladder import FamilyLadder, severity_for_accuracy_drop, strengths_of
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.calibration.pool import FOLDS, Pool, build_pool
from donkey_aicc.calibration.score_trends import score_trends
from donkey_aicc.calibrator_file import save_calibrator
from donkey_aicc.data.labels import horizon_labels
from donkey_aicc.data.sequence import Sequence, make_sequence
from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.conditions import augmented_id
from donkey_aicc.evaluation.metrics import nll
from donkey_aicc.score_table import ScoreTable
from donkey_aicc.scoring.parallel import score_sequences
from donkey_aicc.scoring.score import ScoreSettings

if TYPE_CHECKING:
    from donkey_aicc.bundle import Bundle

DEFAULT_METHOD = "tta_rho_delta"
LADDER_FRAMES = 400
LADDER_BATCH = 200
ROWS_WITH_FULL_CONTEXT = 80  # usable frames of each augmented piece


@dataclass(frozen=True)
class Augmented:
    """D_aug as scored, and the strengths that its severities stand for."""

    table: ScoreTable
    ladders: dict[str, FamilyLadder]


def calibration_sequences(bundle: "Bundle", sequences: Listing[Sequence], side: str = "calibration") -> list[Sequence]:
    """The sequences that the bundle's split put on that side, in the split's order; all of them must be there.

    Too few of them to cross-fit a calibrator is said here, before anything long starts.
    """
    by_id = {sequence.id: sequence for sequence in sequences}
    wanted = bundle.manifest.split.get(side, [])
    missing = [name for name in wanted if name not in by_id]
    if not wanted or missing:
        what = f"{len(missing)} of them ({', '.join(missing[:3])} ...) are not in the data given" if missing else "it has none"
        raise AiccError(f"bundle {bundle.path} names its {side} sequences, but {what}; give the tubs it was trained on")
    chosen = [by_id[name] for name in wanted]
    long_enough = sum(len(sequence) > bundle.manifest.context for sequence in chosen)
    if side == "calibration" and long_enough < 2:
        raise AiccError(
            f"calibration needs at least 2 drives longer than the scoring context of {bundle.manifest.context} frames, got "
            f"{long_enough}; record more drives and train again"
        )
    return chosen


def build_augmented(
    bundle: "Bundle",
    calibration: Listing[Sequence],
    settings: ScoreSettings,
    seed: int = 0,
    workers: int = 1,
    rows: int = ROWS_WITH_FULL_CONTEXT,
    ladder_frames: int = LADDER_FRAMES,
    severities: tuple[int, ...] = SEVERITIES,
) -> Augmented:
    """Set the severities by the predictor's accuracy, cut and change pieces of the calibration drives, score them."""
    ladders = measure_ladders(bundle, calibration, seed, ladder_frames)
    # Warm-up, usable rows, and the frames that the labels of the last usable row look at.
    frames = settings.context + rows + max(bundle.horizons)
    pieces = augmented_pieces(calibration, strengths_of(ladders), frames, seed, severities)
    return Augmented(score_sequences(bundle, pieces, settings=settings, workers=workers, title="scoring D_aug"), ladders)


def measure_ladders(
    bundle: "Bundle", calibration: Listing[Sequence], seed: int, frames: int = LADDER_FRAMES
) -> dict[str, FamilyLadder]:
    """Strengths of the visual families, from evenly spaced calibration frames."""
    images = np.concatenate([sequence.images for sequence in calibration])
    labels = np.concatenate([horizon_labels(sequence.safe, bundle.horizons) for sequence in calibration])
    rows = np.unique(np.linspace(0, len(images) - 1, min(frames, len(images))).astype(int))
    return severity_for_accuracy_drop(lambda pixels: _predict(bundle, pixels), images[rows], labels[rows], seed)


def _predict(bundle: "Bundle", images: np.ndarray) -> np.ndarray:
    import torch

    from donkey_aicc.preprocess import images_to_tensor

    with torch.inference_mode():
        batches = [
            torch.sigmoid(bundle.safety(images_to_tensor(images[start : start + LADDER_BATCH]))).numpy()
            for start in range(0, len(images), LADDER_BATCH)
        ]
    return np.concatenate(batches)


def augmented_pieces(
    calibration: Listing[Sequence],
    strengths: dict[str, tuple[float, ...]],
    frames: int,
    seed: int,
    severities: tuple[int, ...] = SEVERITIES,
) -> list[Sequence]:
    """One piece of a calibration drive for each family and severity; dynamics kinds get as many pieces as visual families.

    The id of a piece is `<id of the drive>~<family>~<severity>`, so that a subset of the drives finds its own pieces.
    """
    rng = np.random.default_rng([seed, 21])
    pieces = []
    variants = [(family, severity) for family in (*VISUAL_FAMILIES, *DYNAMICS_KINDS) for severity in severities]
    for number, (family, severity) in enumerate(variants):
        # Stepping by severity too lets every drive serve every family.
        source = calibration[(number + number // len(severities)) % len(calibration)]
        donor = calibration[int(rng.integers(len(calibration)))].actions
        wanted = frames * SPEED_FACTOR if family == "speed_mismatch" else frames
        length = min(wanted, len(source))
        start = int(rng.integers(len(source) - length + 1))
        part = SequenceArrays(*(values[start : start + length] for values in (source.images, source.actions, source.safe)))
        changed = augment(part, family, severity, rng, donor, strengths)
        pieces.append(_as_sequence(source, changed, family, severity))
    return pieces


def _as_sequence(source: Sequence, arrays: SequenceArrays, family: str, severity: int) -> Sequence:
    piece = make_sequence(
        source.tub,
        source.session,
        np.asarray(arrays.images),
        np.asarray(arrays.actions),
        safe=arrays.safe,
        protocol=family,
        severity=severity,
    )
    return replace(piece, id=augmented_id(source.id, family, severity))


def fit_calibrator(calibration: ScoreTable, augmented: ScoreTable, name: str, seed: int = 0) -> tuple[Calibrator, Pool]:
    """A named row of the catalogue, fitted on the calibration table and the pool with D_aug."""
    pool = build_pool(calibration, augmented, folds=usable_folds(calibration), seed=seed)
    return make_calibrator(name).fit(pool.nominal, pool), pool


def usable_folds(calibration: ScoreTable) -> int:
    """Five, or one per sequence when there are fewer; one sequence cannot be cross-fitted."""
    sequences = len(calibration.select(calibration.valid.astype(bool)).sequences())
    if sequences < 2:
        raise AiccError(f"calibration needs at least 2 sequences longer than the scoring context, got {sequences}")
    return min(FOLDS, sequences)


@dataclass(frozen=True)
class Calibrated:
    """What a calibration left behind; `about` is also in the file."""

    calibrator: Calibrator
    pool: Pool
    about: dict[str, Any]
    path: Path


def calibrate_bundle(bundle: "Bundle", nominal: ScoreTable, augmented: Augmented, method: str, seed: int = 0) -> Calibrated:
    """Fit, describe the fit, and write calibrator.json into the bundle."""
    calibrator, pool = fit_calibrator(nominal, augmented.table, method, seed)
    temperature = make_calibrator("temperature").fit(pool.nominal, pool)
    about = {
        "method": method,
        "seed": seed,
        "summary": _summary(calibrator, temperature, pool),
        "family_weights": calibrator.weights_by_family(pool),
        "d_aug_strengths": {family: ladder.to_json() for family, ladder in augmented.ladders.items()},
        "warnings": _warnings(bundle, pool, augmented.ladders),
    }
    return Calibrated(calibrator, pool, about, save_calibrator(bundle, calibrator, about))


def _summary(calibrator: Calibrator, temperature: Calibrator, pool: Pool) -> dict[str, Any]:
    """NLL on the data of the fit, beside plain temperature scaling: what the caution costs and what it buys."""
    found: dict[str, Any] = {}
    for name, table, scores in (
        ("nominal", pool.nominal, pool.nominal_scores),
        ("D_aug", pool.augmented, pool.augmented_scores),
    ):
        found[f"{name} NLL"] = round(_mean_nll(calibrator.predict(table, scores), table.labels), 4)
        found[f"{name} NLL of temperature scaling"] = round(_mean_nll(temperature.predict(table, scores), table.labels), 4)
    for name, weight in calibrator.shown_weights().items():
        found[f"weight of {name}"] = round(float(weight), 4)
    return found


def _mean_nll(confidence: np.ndarray, labels: np.ndarray) -> float:
    known = np.isfinite(labels)
    return float(nll(confidence[known], labels[known]))


def _warnings(bundle: "Bundle", pool: Pool, ladders: dict[str, FamilyLadder]) -> list[str]:
    trends = score_trends(pool.nominal, pool.nominal_scores, pool.augmented, pool.augmented_scores, ("rho",))
    said = [trend.warning() for trend in trends if trend.lowered]
    for family, ladder in ladders.items():
        if not all(ladder.reached):
            lowest = min(ladder.accuracies)
            said.append(
                f"{family} at full strength leaves an accuracy of {lowest:.2f}, above the {min(ladder.targets):.2f} aimed at"
            )
    if not bundle.manifest.gate_passed:
        said.append(
            "the dynamics rollout is no better than guessing (see donkey-aicc info): delta's rollout features mean little"
        )
    return said
