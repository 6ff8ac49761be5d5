"""What every calibrator offers: fit on a score table, map probabilities to confidence, store itself as JSON.

With the arithmetic of probabilities and logits that all of them share, and the one that has no confidence to give.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.errors import DAMAGE, AiccError, one_of
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.statistics import Scores, ScoreStatistics

P_MIN = 1e-6
P_SAFE, P_TTA, P_RESTORED = SOURCES = ("p_safe", "p_tta", "p_restored")  # columns and channels: plain, over views, restored


def checked_probability(p: np.ndarray, name: str = "p") -> np.ndarray:
    """p as float64; anything that is not a finite number in [0, 1] is refused."""
    values = np.asarray(p, dtype=np.float64)
    if not np.isfinite(values).all():
        raise AiccError(f"{name} must be finite, got {int((~np.isfinite(values)).sum())} non-finite of {values.size} values")
    if values.size and (values.min() < 0.0 or values.max() > 1.0):
        raise AiccError(f"{name} must lie in [0, 1], got {values.min():.6g} to {values.max():.6g}")
    return values


def clip_probability(p: np.ndarray) -> np.ndarray:
    """p inside [1e-6, 1 - 1e-6], so that its logit is finite."""
    return np.clip(p, P_MIN, 1.0 - P_MIN)


def logit(p: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)) of the clipped probability."""
    clipped = clip_probability(checked_probability(p))
    return np.log(clipped) - np.log1p(-clipped)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow."""
    x = np.asarray(x, dtype=np.float64)
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def mean_nll(p: np.ndarray, y: np.ndarray) -> float:
    """Mean negative log-likelihood (nats) of 0/1 labels; rows with a NaN label do not count."""
    known = ~np.isnan(y)
    clipped = clip_probability(np.asarray(p)[known])
    return float(-np.mean(np.where(y[known] > 0.5, np.log(clipped), np.log1p(-clipped))))


ScoreMap = Mapping[str, np.ndarray]
Self = TypeVar("Self", bound="Calibrator")


class Calibrator(ABC):
    """One row of the evaluation. `calibrate` is pure; `fit` returns self so that it can be chained.

    What every kind that a car may load guarantees, for every p and all scores in [0, 1], by the sign and range of each stored
    number, which `load_parameters` checks: the confidence is in [0, 1]; it never falls as p rises; no score raises it above
    max(its value without anomaly, 1/2), so that where p says safe an anomaly only lowers it.

    Args:
        name: key of its row in results, the `kind` of the class unless given.
        label: for tables and figures.
        starts_from: which probability `calibrate` gets, `p_safe` (plain), `p_tta` (mean of nine views) or `p_restored`.
        score_names: the anomaly scores that `calibrate` reads, each (N,) in 0 to 1, such as rho and delta.

    Example:
        >>> from donkey_aicc import Calibrator
        >>> class Undecided(Calibrator):
        ...     kind, shown_as = "undecided", "Always one half"
        ...     def fit(self, table, pool=None):
        ...         return self
        ...     def calibrate(self, p, scores, horizon):
        ...         return np.full(len(p), 0.5)
        >>> Undecided().calibrate_all(np.array([[0.9, 0.8]]), {}, (1, 5))
        array([[0.5, 0.5]])
    """

    kind: ClassVar[str]  # names the class in JSON
    shown_as: ClassVar[str] = ""  # its label, unless another is given

    def __init__(self, name: str = "", label: str = "", starts_from: str = P_SAFE, score_names: tuple[str, ...] = ()) -> None:
        self.name = name or self.kind  # key in results
        self.label = label or self.shown_as  # for tables and figures
        one_of("starts_from", starts_from, SOURCES)
        self.starts_from = starts_from  # which probability
        self.score_names = score_names  # anomaly scores that `calibrate` reads
        self.statistics: ScoreStatistics | None = None
        self.settings = ScoreSettings()  # how the scores that it was fitted on were computed
        self.alarm: AlarmModel | None = None  # fitted beside it, on the same scores
        self.fit_report: dict[str, Any] = {}  # numbers about the fit, for people

    @abstractmethod
    def fit(self: Self, table: ScoreTable, pool: Pool | None = None) -> Self:
        """Fit on a nominal calibration table; calibrators with learned weights also need the pool with D_aug."""

    @abstractmethod
    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        """p: (N,) probability of safe at that horizon, scores: name -> (N,); returns (N,) confidence."""

    def parameters(self) -> dict[str, Any]:
        """Everything that was fitted, as plain numbers and lists."""
        return {}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        """The inverse of `parameters`; refuses numbers with which the promise above would not hold."""
        raise AiccError(f"no car drives with a calibrator of kind {self.kind}")

    def weights_by_family(self, pool: Pool) -> dict[str, dict[str, float]]:
        """The weights that each augmented family alone would give this fitted calibrator; empty without weights."""
        return {}

    def shown_weights(self) -> dict[str, float]:
        """Fitted weights by name, for tables."""
        return {}

    def predict(self, table: ScoreTable, scores: Scores | None = None) -> np.ndarray:
        """(N, K) confidence of every row and horizon; scores may be handed in when they are known already."""
        if scores is None:
            scores = self.statistics.scores(table) if self.statistics is not None else {}
        return self.calibrate_all(self.probability_of(table), scores, table.horizons)

    def calibrate_all(self, p: np.ndarray, scores: ScoreMap, horizons: Iterable[int]) -> np.ndarray:
        """`calibrate` for p (N, K), one column per horizon; overridden where all horizons can be done at once."""
        columns = [self.calibrate(p[:, column], scores, int(horizon)) for column, horizon in enumerate(horizons)]
        return np.stack(columns, axis=1)

    def to_json(self) -> dict[str, Any]:
        """A dictionary that json.dumps(..., allow_nan=False) accepts."""
        return {
            "kind": self.kind,
            "name": self.name,
            "label": self.label,
            "starts_from": self.starts_from,
            "score_names": list(self.score_names),
            "parameters": self.parameters(),
            "settings": self.settings.to_json(),
            "statistics": None if self.statistics is None else self.statistics.to_json(),
            "alarm": None if self.alarm is None else self.alarm.to_json(),
            "fit_report": self.fit_report,
        }

    @classmethod
    def from_json(cls: type[Self], stored: dict[str, Any]) -> Self:
        """Rebuild a fitted calibrator of this class; `catalogue.calibrator_from_json` picks the class."""
        try:
            calibrator = cls.__new__(cls)
            Calibrator.__init__(calibrator, stored["name"], stored["label"], stored["starts_from"], tuple(stored["score_names"]))
            calibrator.load_parameters(stored["parameters"])
            if stored["statistics"] is not None:
                calibrator.statistics = ScoreStatistics.from_json(stored["statistics"])
            calibrator.settings = ScoreSettings.from_json(stored["settings"])
            if stored["alarm"] is not None:
                calibrator.alarm = AlarmModel.from_json(stored["alarm"])
            calibrator.fit_report = dict(stored.get("fit_report", {}))
        except DAMAGE as error:
            raise AiccError(f"calibrator of kind {stored.get('kind')!r} is damaged or of another version: {error!r}") from error
        return calibrator

    def probability_of(self, table: ScoreTable) -> np.ndarray:
        """(N, K) the probabilities this calibrator starts from."""
        return np.asarray(getattr(table, self.starts_from))

    def required_scores(self, scores: ScoreMap, rows: int) -> np.ndarray:
        """(N, S) the named scores, checked: present, finite, one per row."""
        columns = []
        for name in self.score_names:
            if name not in scores:
                raise AiccError(f"calibrator {self.name} needs the score {name}, got {', '.join(sorted(scores)) or 'none'}")
            values = np.asarray(scores[name], dtype=np.float64)
            if values.shape != (rows,) or not np.isfinite(values).all():
                raise AiccError(f"score {name} must be {rows} finite numbers, got shape {values.shape}")
            columns.append(values)
        return np.stack(columns, axis=1) if columns else np.zeros((rows, 0))

    def required_pool(self, pool: Pool | None) -> Pool:
        if pool is None:
            raise AiccError(f"calibrator {self.name} is fitted on augmented data too; pass pool=build_pool(calibration, d_aug)")
        return pool

    def of_horizon(self, values: Mapping[int, Any], horizon: int) -> Any:
        """The fitted value of a horizon, or a clear message."""
        if horizon not in values:
            fitted = ", ".join(str(k) for k in sorted(values)) or "none: call fit first"
            raise AiccError(f"calibrator {self.name} has no horizon {horizon}; fitted horizons: {fitted}")
        return values[horizon]


def labelled_samples(table: ScoreTable, p: np.ndarray, column: int, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """(n,) probabilities and 0/1 labels of the valid, labelled rows of one horizon; both classes must be there."""
    y = table.labels[:, column]
    rows = table.valid.astype(bool) & ~np.isnan(y)
    horizon, labels = int(table.horizons[column]), y[rows]
    if not rows.any() or labels.min() == labels.max():
        have = "no label" if not rows.any() else f"only {'safe' if labels[0] > 0.5 else 'unsafe'} frames ({len(labels)})"
        raise AiccError(f"calibrator {owner} needs safe and unsafe calibration frames at horizon {horizon}, got {have}")
    return checked_probability(p[rows, column], f"probability at horizon {horizon}"), labels


class ScoresOnly(Calibrator):
    """rho, delta and the alarm have their scale from it; asking it for a confidence is refused."""

    kind, shown_as = "scores_only", "Scores without confidence"

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "ScoresOnly":
        self.statistics = ScoreStatistics.fit(table)
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        raise AiccError("this bundle was trained without labels: it has no safety predictor and gives no confidence")

    def load_parameters(self, stored: dict[str, Any]) -> None:
        """Nothing but the statistics was fitted."""
