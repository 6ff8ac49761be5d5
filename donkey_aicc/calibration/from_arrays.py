"""Calibration of anybody's probabilities from plain arrays, by the very calibrators of the report."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator, checked_probability
from donkey_aicc.calibration.catalogue import PLUS, calibrator_from_json, make_calibrator
from donkey_aicc.calibration.pool import FOLDS, build_pool
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import FEATURE_NAMES, ScoreTable


class Confidence:
    """What `fit_confidence` gives: probabilities and raw anomaly scores in, confidence out.

    Args:
        calibrator: the fitted one; `calibrator.parameters()` are its numbers.
        horizons: names of the K columns, 1 to K where none were given.

    Example:
        >>> from donkey_aicc import Confidence, fit_confidence
        >>> rng = np.random.default_rng(0)
        >>> p = rng.random(400)
        >>> fitted = fit_confidence(p, rng.random(400) < p)
        >>> bool(np.allclose(Confidence.from_json(fitted.to_json()).apply(p), fitted.apply(p)))
        True
    """

    def __init__(self, calibrator: Calibrator, horizons: tuple[int, ...]) -> None:
        self.calibrator, self.horizons = calibrator, horizons

    def apply(self, p: np.ndarray, scores: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
        """p: (N, K) or (N,) probabilities; scores: name -> (N,) raw, those of the fit. Returns confidence like p, in 0 to 1."""
        values = checked_probability(p)
        table = _table(values.reshape(len(values), -1), scores or {}, self.horizons)
        normalised = {} if self.calibrator.statistics is None else self.calibrator.statistics.scores(table)
        return self.calibrator.calibrate_all(table.p_tta, normalised, self.horizons).reshape(values.shape)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, lists and texts, for json.dump."""
        return {"horizons": list(self.horizons), "calibrator": self.calibrator.to_json()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Confidence":
        """What `to_json` gave; nothing in it is executed, numbers out of their range are refused."""
        return cls(calibrator_from_json(stored["calibrator"]), tuple(int(step) for step in stored["horizons"]))


def fit_confidence(
    p: np.ndarray,
    y: np.ndarray,
    scores: Mapping[str, np.ndarray] | None = None,
    groups: np.ndarray | None = None,
    *,
    nominal: np.ndarray | None = None,
    method: str = "tta",
    seed: int = 0,
) -> Confidence:
    """Calibrate the probabilities of any predictor: confidence = sigmoid(logit(p) / (T_k exp(w . s))), w >= 0 for all horizons.

    s are the anomaly scores, each normalised by its nominal mean and spread and clipped to 0 to 1. T_k is fitted on nominal rows,
    then w on all of them. So confidence is p calibrated where nothing is strange, and nearer to 1/2 the stranger a row is.

    Args:
        p: (N, K) or (N,) probabilities from 0 to 1 that something holds, for K horizons.
        y: the same shape, 1 (or True) where it held, 0 where not, NaN where nobody knows. Every column needs both.
        scores: name -> (N,) raw anomaly scores in any unit, larger is stranger. Without any, only temperatures are fitted.
        groups: (N,) name or number of the drive of each row: rows of one drive resemble each other, so a score is normalised by
            other drives than its own. At least 2 of them, 12 are better. None: every row stands for itself.
        nominal: (N,) bool, rows that set scales and temperatures; the others, under faults that may be known at the time of the
            fit, only help to find w. None: all rows are nominal.
        method: a row of the catalogue that needs nothing but p, such as `temperature`, `platt`, `isotonic`, `venn_abers`; scores
            go with `tta`, the formula above.
        seed: of the folds.

    Example:
        >>> from donkey_aicc import fit_confidence
        >>> rng = np.random.default_rng(0)
        >>> strange = np.repeat([0.0, 1.0], 300)
        >>> p = np.where(rng.random(600) < 0.5, 0.95, 0.05)
        >>> held = rng.random(600) < np.where(strange > 0, 0.5, p)
        >>> fitted = fit_confidence(p, held, {"blur": strange + rng.random(600) / 9}, np.arange(600) // 50, nominal=strange == 0)
        >>> bool(fitted.apply([0.95], {"blur": [0.05]})[0] > 0.85), bool(fitted.apply([0.95], {"blur": [1.1]})[0] < 0.65)
        (True, True)
    """
    p, y = checked_probability(p), np.asarray(y, dtype=np.float64)
    if p.ndim not in (1, 2) or y.shape != p.shape:
        raise AiccError(f"p and y must have the same shape (N, K) or (N,), got {p.shape} and {y.shape}")
    if not np.isin(y[~np.isnan(y)], (0.0, 1.0)).all():
        raise AiccError(f"y must be 0, 1 or NaN, got {y[~np.isnan(y)].min():g} to {y[~np.isnan(y)].max():g}")
    calm = np.ones(len(p), dtype=bool) if nominal is None else np.asarray(nominal, dtype=bool)
    drives = np.arange(len(p)) if groups is None else np.asarray(groups)
    for what, values in (("nominal", calm), ("groups", drives)):
        if values.shape != (len(p),):
            raise AiccError(f"{what} must have the shape ({len(p)},), got {values.shape}")
    given = dict(scores or {})
    flat = p.reshape(len(p), -1)
    horizons = tuple(range(1, flat.shape[1] + 1))
    table = _table(flat, given, horizons, y.reshape(flat.shape), drives)
    known = table.select(calm)
    calibrator = make_calibrator(PLUS.join([method, *given]))
    if given:
        folds = min(FOLDS, len(known.sequences()))
        if folds < 2:
            raise AiccError(f"scores need nominal rows of at least 2 groups, got {folds}")
        pool = build_pool(known, table if calm.all() else table.select(~calm), folds=folds, seed=seed)
        return Confidence(calibrator.fit(pool.nominal, pool), horizons)
    return Confidence(calibrator.fit(known), horizons)


def _table(
    p: np.ndarray,
    scores: Mapping[str, np.ndarray],
    horizons: tuple[int, ...],
    y: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> ScoreTable:
    """A score table of these arrays; what they do not tell is unknown, or the same everywhere."""
    rows = len(p)
    if p.shape != (rows, len(horizons)):
        raise AiccError(f"p must have {len(horizons)} columns, got {p.shape[1]}")
    columns = [np.asarray(values, dtype=np.float64) for values in scores.values()]
    for name, values in zip(scores, columns, strict=True):
        if values.shape != (rows,) or not np.isfinite(values).all():
            raise AiccError(f"score {name} must be {rows} finite numbers, got the shape {values.shape}")
    unknown, step = np.full((rows, len(horizons)), np.nan), np.arange(rows)
    return ScoreTable(
        horizons=np.array(horizons),
        sequence=np.zeros(rows, dtype=str) if groups is None else groups.astype(str),
        index=step,
        step=step,
        p_safe=p,
        p_tta=p,
        tta_spread=unknown,
        rho_raw=np.zeros(rows),
        features=np.zeros((rows, len(FEATURE_NAMES))),
        latent=np.zeros((rows, 0)),
        cnn_features=np.zeros((rows, 0)),
        mc_dropout=unknown,
        valid=np.ones(rows, dtype=bool),
        labels=unknown if y is None else y,
        cte=np.full(rows, np.nan),
        protocol=np.zeros(rows, dtype=str),
        severity=np.zeros(rows, dtype=np.int64),
        own=np.stack(columns, axis=1) if columns else np.zeros((rows, 0)),
        own_names=np.array(list(scores), dtype=str),
    )
