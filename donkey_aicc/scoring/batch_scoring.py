"""Batch scoring: whole sequences in, the score table out.

Sequences run as lanes of one StreamScorer that start together; a lane is dropped when its sequence ends. A frame's
scores depend on its own sequence and frame number only: other lanes, groups or workers change them by float rounding
at most (below 1e-5). Only here: MC dropout, the spread of the predictor's probability over dropout samples.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.engine import Engine
from donkey_aicc.nets.preprocess import FEATURE_SIZE, FIRST_SIZE, LATENT_CHANNELS, PREDICTOR_DROPOUT, History
from donkey_aicc.scoring.frame_stats import FRAME_STATS
from donkey_aicc.scoring.hindsight import Hindsight
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.restored_view import share_at
from donkey_aicc.scoring.score_table import FEATURE_NAMES, ScoreTable, concatenate
from donkey_aicc.scoring.settings import BatchSettings, ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer
from donkey_aicc.scoring.tta_views import predict_tta, sigmoid
from donkey_aicc.scoring.world_model_anomaly import ROLLOUT_FEATURES
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.labels import horizon_labels

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

PASSES = 10


class McDropout:
    """Only offline tables have this column."""

    def __init__(self, engine: Engine, passes: int = PASSES) -> None:
        if passes < 1:
            raise ConfigError(f"dropout passes must be >= 1, got {passes}")
        self._engine, self._passes = engine, passes

    def spread(self, images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(B, C, 64, 64) -> (B, K): standard deviation of the probability. The masks are shared by the B frames."""
        masks = [[_mask(rng, size) for size in (FIRST_SIZE, FEATURE_SIZE)] for _ in range(self._passes)]
        first, features = (np.stack(each)[:, None] for each in zip(*masks, strict=True))
        return sigmoid(self._engine.predict_dropped(images, first, features)).std(axis=0)


def _mask(rng: np.random.Generator, size: int) -> np.ndarray:
    kept = rng.random(size, dtype=np.float32) >= PREDICTOR_DROPOUT
    return kept.astype(np.float32) / np.float32(1.0 - PREDICTOR_DROPOUT)


_FRAME_COLUMNS = {"p_safe": -1, "p_tta": -1, "tta_spread": -1, "p_restored": -1, "mc_dropout": -1, "rho_raw": 0}
_FRAME_COLUMNS |= dict.fromkeys(("restored", "hindsight"), 0)
_FRAME_COLUMNS |= {
    "frame_stats": len(FRAME_STATS),
    "features": len(FEATURE_NAMES),
    "half_rollout": len(ROLLOUT_FEATURES),
    "latent": LATENT_CHANNELS,
}
_STREAM_COLUMNS = ("rho_raw", "features", "half_rollout", "latent", "frame_stats", "own", "valid")
_DOUBLE = ("rho_raw", "features", "half_rollout", "restored", "hindsight")


def check_sequences(sequences: Sequence[Drive]) -> None:
    """Refuse what cannot be scored, before any long work starts."""
    if not sequences:
        raise AiccError("there are no sequences to score")
    ids = [sequence.id for sequence in sequences]
    if len(set(ids)) < len(ids):
        twice = sorted({name for name in ids if ids.count(name) > 1})
        raise AiccError(f"sequence ids must be unique, got more than one of: {', '.join(twice[:5])}")
    for sequence in sequences:
        if not len(sequence):
            raise AiccError(f"sequence {sequence.id} has no frames")
        bad = np.flatnonzero(~np.isfinite(sequence.actions).all(axis=1))
        if len(bad):
            raise AiccError(f"sequence {sequence.id}: the action of record {sequence.indices[bad[0]]} is not finite")


def score_group(
    bundle: "Bundle",
    sequences: Sequence[Drive],
    settings: ScoreSettings,
    batch: BatchSettings,
    advance: Callable[[int], None] | None = None,
) -> list[ScoreTable]:
    """Score sequences as the lanes of one stream, longest first; `advance` is told the number of frames done."""
    lengths = [len(sequence) for sequence in sequences]
    columns = [_empty_columns(length, len(bundle.horizons), bundle.feature_size, len(settings.own)) for length in lengths]
    scorer = StreamScorer(bundle, settings, lanes=len(sequences))
    predictions = _Predictions(bundle, settings, batch, len(sequences)) if bundle.has_predictor else None
    active = list(range(len(sequences)))
    for frame in range(max(lengths)):
        going = np.flatnonzero([lengths[lane] > frame for lane in active])
        if len(going) < len(active):
            scorer.keep(going)
            if predictions is not None:
                predictions.keep(going)
            active = [active[place] for place in going]
        images = np.stack([sequences[lane].images[frame] for lane in active])
        actions = np.stack([sequences[lane].actions[frame] for lane in active])
        scores = scorer.step(images, actions)
        values = {name: getattr(scores, name) for name in _STREAM_COLUMNS}
        if predictions is not None:  # else trained without labels: the columns of the predictor stay NaN
            values |= predictions.of(frame, images, actions, share_at(scorer.checks, frame))
        for row, lane in enumerate(active):
            for name, found in values.items():
                columns[lane][name][frame] = found[row]
        if advance is not None:
            advance(len(active))
    return [_table(bundle, sequence, settings.own, column) for sequence, column in zip(sequences, columns, strict=True)]


class _Predictions:
    """The columns that come from the safety predictor."""

    def __init__(self, bundle: "Bundle", settings: ScoreSettings, batch: BatchSettings, lanes: int) -> None:
        self._bundle, self._settings = bundle, settings
        self._dropout = McDropout(bundle, batch.dropout_passes)
        self._randomness = FrameRandomness(settings.seed, settings.samples)
        self._history = History(bundle.lags, bundle.steering_stats)
        self._hindsight = Hindsight(bundle.horizons, lanes, settings.context)

    def of(self, frame: int, images: np.ndarray, actions: np.ndarray, share: np.ndarray | None) -> dict[str, np.ndarray]:
        """images (L, 64, 64, 3) and actions (L, 2) of the next frame; share (L,) of the restored view that counts there."""
        seen, settings = self._history.push(images, actions), self._settings
        rng = self._randomness.tta(frame)
        found = predict_tta(self._bundle, seen, rng, settings.views, settings.restoration, share)
        return {
            "p_safe": found.p_identity,
            "p_tta": found.p_tta,
            "tta_spread": found.spread,
            "p_restored": found.p_restored,
            "restored": np.zeros(len(images)) if share is None else share,
            "hindsight": self._hindsight.update(found.p_restored),
            "cnn_features": found.features,
            "mc_dropout": self._dropout.spread(seen, self._randomness.predictor_dropout(frame)),
        }

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._history.keep(lanes)
        self._hindsight.keep(lanes)


def _empty_columns(length: int, horizons: int, features: int, own: int) -> dict[str, np.ndarray]:
    """float64 for the scores, float32 for the many numbers that come from the safety predictor."""
    columns: dict[str, np.ndarray] = {"own": np.full((length, own), np.nan)}
    columns["cnn_features"] = np.full((length, features), np.nan, dtype=np.float32)
    for name, width in _FRAME_COLUMNS.items():
        shape = (length,) if width == 0 else (length, horizons if width < 0 else width)
        columns[name] = np.full(shape, np.nan, dtype=np.float64 if name in _DOUBLE else np.float32)
    columns["valid"] = np.zeros(length, dtype=bool)
    return columns


def _table(bundle: "Bundle", sequence: Drive, own: tuple[str, ...], columns: dict[str, np.ndarray]) -> ScoreTable:
    length = len(sequence)
    return ScoreTable(
        horizons=np.array(bundle.horizons, dtype=np.int64),
        sequence=np.full(length, sequence.id),
        index=np.asarray(sequence.indices, dtype=np.int64),
        step=np.arange(length, dtype=np.int64),
        labels=horizon_labels(sequence.safe, bundle.horizons),
        cte=np.asarray(sequence.cte, dtype=np.float32),
        protocol=np.asarray(sequence.protocol, dtype=str),
        severity=np.asarray(sequence.severity, dtype=np.int64),
        actions=np.asarray(sequence.actions, dtype=np.float32),
        departed=np.asarray(sequence.departed, dtype=np.float32),
        own_names=np.array(own, dtype=str),
        **columns,
    )


def in_order(tables: dict[int, ScoreTable]) -> ScoreTable:
    """One table with the sequences in their original order."""
    return concatenate([tables[number] for number in sorted(tables)])
