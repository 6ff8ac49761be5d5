"""Nominal statistics of the anomaly scores, and the normalised scores that follow from them.

Paper, Section IV (perception and dynamics impact scores): score = clip01((raw - mu) / (2 sigma)), mu and sigma from the
calibration split.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from donkey_aicc.errors import DAMAGE, AiccError
from donkey_aicc.scoring.feature_density import MAX_REFERENCES, FeatureDensity
from donkey_aicc.scoring.nominal_distance import ALPHA, MahalanobisScore, check_scale, next_drive_spread, spread_floor
from donkey_aicc.scoring.score_table import ScoreTable

# Everything of our own has mean and spread from held-out drives, widened by what their number allows; rho, rho_two_sided and
# delta stay as the paper defines them, density and dac as DAC's authors do.
# name -> (N,). `name_z` = (raw - mu) / (2 sigma); `name` is that clipped to [0, 1].
Scores = dict[str, np.ndarray]

FRAME_SCORES = ("tta_spread", "density", "dac")  # of one frame, by the predictor: they look back on nothing
PREDICTED_SCORES = (*FRAME_SCORES, "hindsight")  # made where the prediction is made, before the drivetrain
SCORE_NAMES = ("rho", "delta", "rho_two_sided", "log_rho", "delta_held_out", "control", "latent", *PREDICTED_SCORES)
HELD_OUT_REGULARISATION = 0.1  # many directions hardly move within a few sequences; see docs/calibrators.md
CONTROL_FEATURES = slice(3, None)  # all but the three of the rollout: what grade `light` has
_RHO_MIN = 1e-12


@dataclass(frozen=True)
class Normaliser:
    """(x - mu) / (2 sigma), and the same clipped to [0, 1]."""

    mu: float
    sigma: float

    @classmethod
    def fit(cls, x: np.ndarray, drive: np.ndarray | None = None) -> "Normaliser":
        """x: (N,). With the drive of each row, sigma covers the next drive; without, it is the plain one (the paper's)."""
        mu, sigma = (float(np.mean(x)), float(np.std(x))) if drive is None else next_drive_spread(x, drive)
        return cls(mu, spread_floor(mu, sigma))

    def normalised(self, x: np.ndarray) -> np.ndarray:
        return (np.asarray(x, dtype=np.float64) - self.mu) / (ALPHA * self.sigma)

    def to_json(self) -> dict[str, float]:
        return {"mu": self.mu, "sigma": self.sigma}


@dataclass(frozen=True)
class ScoreStatistics:
    """What is nominal, per score. A score whose column was not recorded (NaN) is None and cannot be used."""

    regularisation: float
    rows: int
    rho_raw: Normaliser
    log_rho: MahalanobisScore
    dynamics: MahalanobisScore
    dynamics_held_out: MahalanobisScore
    latent_mean: MahalanobisScore | None
    spread: Normaliser | None
    density: FeatureDensity | None
    control: MahalanobisScore | None = None  # of the nine features that need no dynamics net
    hindsight: Normaliser | None = None
    own: dict[str, Normaliser] = field(default_factory=dict)  # of the user's own anomaly scores

    @classmethod
    def fit(
        cls,
        table: ScoreTable,
        rows: np.ndarray | None = None,
        regularisation: float = 1e-6,
        max_references: int = MAX_REFERENCES,
        seed: int = 0,
    ) -> "ScoreStatistics":
        """Measure on the valid rows of a nominal calibration table (or on those that `rows` picks of it)."""
        table = table if rows is None else table.select(rows)
        table = table.select(table.valid.astype(bool))
        if len(table) < 2:
            raise AiccError(f"score statistics need at least 2 valid calibration rows, got {len(table)}")
        for name in ("rho_raw", "features"):
            _require_finite(name, getattr(table, name))
        log_rho = np.log(np.maximum(table.rho_raw, _RHO_MIN))[:, None]
        latent = _recorded("latent", table.latent)
        spread = _recorded("tta_spread", table.tta_spread)
        features = _recorded("cnn_features", table.cnn_features)
        hindsight = _recorded("hindsight", table.hindsight)
        return cls(
            regularisation=regularisation,
            rows=len(table),
            rho_raw=Normaliser.fit(table.rho_raw),
            log_rho=MahalanobisScore.fit(log_rho, regularisation, table.sequence),
            dynamics=MahalanobisScore.fit(table.features, regularisation),
            dynamics_held_out=MahalanobisScore.fit(table.features, HELD_OUT_REGULARISATION, table.sequence),
            latent_mean=None if latent is None else MahalanobisScore.fit(latent, HELD_OUT_REGULARISATION, table.sequence),
            spread=None if spread is None else Normaliser.fit(spread.mean(axis=1), table.sequence),
            density=None
            if features is None
            else FeatureDensity.fit(features, table.sequence, max_references=max_references, seed=seed),
            control=MahalanobisScore.fit(table.features[:, CONTROL_FEATURES], HELD_OUT_REGULARISATION, table.sequence),
            hindsight=None if hindsight is None else Normaliser.fit(hindsight, table.sequence),
            own={name: Normaliser.fit(values, table.sequence) for name, values in own_columns(table).items()},
        )

    def scores(self, table: ScoreTable) -> Scores:
        """Every score of every row: `name` in [0, 1] and `name_z` unclipped, each (N,)."""
        unclipped = self._unclipped(table.rho_raw, table.features, table.latent, table.tta_spread, table.cnn_features)
        unclipped |= self.of_forecasts(table.hindsight) | self.of_own(own_columns(table))
        bounded = {name: np.clip(values, 0.0, 1.0) for name, values in unclipped.items()}
        return bounded | {f"{name}_z": values for name, values in unclipped.items()}

    def frame_scores(
        self,
        rho_raw: float,
        features: np.ndarray,
        latent: np.ndarray | None = None,
        tta_spread: np.ndarray | None = None,
        cnn_features: np.ndarray | None = None,
        own: Mapping[str, np.ndarray] | None = None,
    ) -> dict[str, float]:
        """Clipped scores of one frame, for use while driving; scores whose input is None are left out.

        features: (12,), latent: (L,), tta_spread: (K,), cnn_features: (128,), own: raw values (1,) by name.
        """
        rows = [None if given is None else np.asarray(given)[None] for given in (features, latent, tta_spread, cnn_features)]
        unclipped = self._unclipped(np.array([rho_raw], dtype=np.float64), *rows) | self.of_own(own or {})
        return {name: _clipped(values[0]) for name, values in unclipped.items()}

    def of_forecasts(self, hindsight: np.ndarray) -> Scores:
        """(N,) -> the score that comes from what the predictor foresaw, unclipped."""
        return {} if self.hindsight is None else {"hindsight": self.hindsight.normalised(hindsight)}

    def of_own(self, raw: Mapping[str, np.ndarray]) -> Scores:
        """Raw values (N,) of the user's own scores -> the same in units of two nominal deviations, unclipped."""
        return {name: scale.normalised(raw[name]) for name, scale in self.own.items() if name in raw}

    def _unclipped(
        self,
        rho_raw: np.ndarray,
        features: np.ndarray | None,
        latent: np.ndarray | None,
        tta_spread: np.ndarray | None,
        cnn_features: np.ndarray | None,
    ) -> Scores:
        rho_z = self.rho_raw.normalised(rho_raw)
        found = {"rho": rho_z, "rho_two_sided": np.abs(rho_z)}
        found["log_rho"] = self.log_rho.normalised(np.log(np.maximum(rho_raw, _RHO_MIN))[:, None])
        if features is not None:
            found["delta"] = self.dynamics.normalised(features)
            found["delta_held_out"] = self.dynamics_held_out.normalised(features)
            if self.control is not None:
                found["control"] = self.control.normalised(features[:, CONTROL_FEATURES])
        if self.latent_mean is not None and latent is not None:
            found["latent"] = self.latent_mean.normalised(latent)
        if self.spread is not None and tta_spread is not None:
            found["tta_spread"] = self.spread.normalised(tta_spread.mean(axis=1))
        if self.density is not None and cnn_features is not None:
            distance = self.density.distance(cnn_features)
            found["density"] = self.density.from_distance(distance)
            found["dac"] = self.density.dac_from_distance(distance)
        return found

    def rho(self, rho_raw: float) -> float:
        """Clipped perception score of one frame."""
        return _clipped(self.rho_raw.normalised(np.array(rho_raw)))

    def delta(self, features: np.ndarray) -> float:
        """Clipped dynamics score of one frame's 12 features."""
        return _clipped(self.dynamics.normalised(features))

    def check_nominal(self, sample: ScoreTable) -> None:
        """Raise unless these numbers could have been measured on drives like the sample's: else an anomaly might never show."""
        measured = {"rho_raw": sample.rho_raw, "spread": sample.tta_spread.mean(axis=1)}
        measured |= {"hindsight": sample.hindsight} | own_columns(sample)
        for name, values in measured.items():
            part = self.own.get(name) or getattr(self, name, None)
            if part is not None:
                check_scale(f"score statistics: {name}", part.mu, part.sigma, values)
        if self.density is not None:
            self.density.check_nominal("score statistics: density", np.asarray(sample.cnn_features, dtype=np.float64))
        held_out = HELD_OUT_REGULARISATION, sample.sequence
        for name, x, how in (
            ("log_rho", np.log(np.maximum(sample.rho_raw, _RHO_MIN))[:, None], (self.regularisation, sample.sequence)),
            ("dynamics", sample.features, (self.regularisation,)),
            ("dynamics_held_out", sample.features, held_out),
            ("latent_mean", sample.latent, held_out),
            ("control", sample.features[:, CONTROL_FEATURES], held_out),
        ):
            if (score := getattr(self, name)) is not None:
                score.check_nominal(f"score statistics: {name}", np.asarray(x, dtype=np.float64), *how)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists only."""
        parts = {name: getattr(self, name) for name in _PARTS}
        stored = {name: None if part is None else part.to_json() for name, part in parts.items()}
        own = {name: scale.to_json() for name, scale in self.own.items()}
        return {"regularisation": self.regularisation, "rows": self.rows} | stored | ({"own": own} if own else {})

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "ScoreStatistics":
        try:
            optional = {name for name in _PARTS if stored[name] is None} - set(_ALWAYS)
            parts: dict[str, Any] = {name: None if name in optional else load(stored[name]) for name, load in _PARTS.items()}
            parts["own"] = {name: _PARTS["spread"](scale) for name, scale in stored.get("own", {}).items()}
            return cls(regularisation=float(stored["regularisation"]), rows=int(stored["rows"]), **parts)
        except DAMAGE as error:
            raise AiccError(f"score statistics are damaged or of another version: {error!r}") from error


_ALWAYS = ("rho_raw", "log_rho", "dynamics", "dynamics_held_out")
_PARTS: dict[str, Any] = {
    "rho_raw": lambda stored: Normaliser(float(stored["mu"]), float(stored["sigma"])),
    "log_rho": MahalanobisScore.from_json,
    "dynamics": MahalanobisScore.from_json,
    "dynamics_held_out": MahalanobisScore.from_json,
    "latent_mean": MahalanobisScore.from_json,
    "spread": lambda stored: Normaliser(float(stored["mu"]), float(stored["sigma"])),
    "density": FeatureDensity.from_json,
    "control": MahalanobisScore.from_json,
    "hindsight": lambda stored: Normaliser(float(stored["mu"]), float(stored["sigma"])),
}


def own_columns(table: ScoreTable) -> dict[str, np.ndarray]:
    """The user's own scores of a table: name -> raw values (N,)."""
    return {str(name): table.own[:, place] for place, name in enumerate(table.own_names)}


def _clipped(value: np.ndarray) -> float:
    return float(min(max(float(value), 0.0), 1.0))


def _require_finite(name: str, values: np.ndarray) -> None:
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise AiccError(f"score table column {name} must be finite on valid rows, got {bad} non-finite of {values.size} values")


def _recorded(name: str, values: np.ndarray) -> np.ndarray | None:
    """None when the whole column is unknown; a column with holes is refused."""
    if not values.size or np.isnan(values).all():
        return None
    _require_finite(name, values)
    return values
