"""What monitors of others would have said on the same drives, on which nothing acts, at the same nominal cost.

Each is a score per frame, written from its description: the disagreement of several pilots; the reconstruction error of
SelfOracle; FAIL-Detect's band around what is nominal at that time of a drive; FIPER's novel *and* undecided; the spread of the
predictor under dropout. Every threshold comes from the same nominal episodes in the same way (`conformal_threshold`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_policy import conformal_threshold
from donkey_aicc.alarm.table_alarm import persistent, table_evidence
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.metrics import auroc
from donkey_aicc.scoring.frame_stats import FRAME_STATS
from donkey_aicc.scoring.score_table import ScoreTable
from studies.governor.table import RATE_HZ, wilson

EPISODE_FRAMES = 170  # as long as the study's drives are under a fault
WINDOW = 10  # frames: every rival's score is its mean over half a second
AHEAD = 20  # frames: the horizon of the predictor's own doubt
CHANCE = 0.01  # of a false alarm per nominal episode, wanted
TIME_BIN = 25  # frames of a drive that share one band
USUAL = 0.9  # quantile of nominal frames that counts as 1 where two scores are compared
DRAWS = 1000


@dataclass(frozen=True)
class Seen:
    """N frames of a table, and what the monitors need of them; (N,) each."""

    table: ScoreTable
    alarm: np.ndarray  # our combined score
    novelty: np.ndarray  # distance to the nearest calibration frames in the predictor's features
    disagreement: np.ndarray  # standard deviation of the pilots' steering

    @classmethod
    def of(cls, table: ScoreTable, calibrator: Calibrator, disagreement: np.ndarray) -> "Seen":
        statistics, model = calibrator.statistics, calibrator.alarm
        if statistics is None or model is None or statistics.density is None:
            raise AiccError("the bundle's calibrator has no alarm or no feature density; make it with donkey-aicc calibrate")
        evidence = table_evidence(table, statistics, model.signs, model.scales).evidence
        return cls(table, model.score(evidence), statistics.density.distance(table.cnn_features), disagreement)

    def smooth(self, values: np.ndarray) -> np.ndarray:
        """Mean over the last frames of the same drive."""
        found = np.empty(len(values))
        for name in self.table.sequences():
            own = np.flatnonzero(self.table.sequence == name)
            total = np.concatenate([[0.0], np.cumsum(values[own], dtype=np.float64)])
            first = np.maximum(np.arange(len(own)) - WINDOW + 1, 0)
            found[own] = (total[1:] - total[first]) / (np.arange(len(own)) - first + 1)
        return found


def _band(seen: Seen, nominal: Seen) -> np.ndarray:
    """Deviations from what is nominal at this time of a drive; behind the longest nominal drive its last band goes on."""
    score, usual = seen.smooth(seen.novelty), nominal.smooth(nominal.novelty)
    last = int(nominal.table.index.max()) // TIME_BIN
    bins, own = nominal.table.index // TIME_BIN, np.minimum(seen.table.index // TIME_BIN, last)
    mean, spread = (np.array([statistic(usual[bins == number]) for number in range(last + 1)]) for statistic in (np.mean, np.std))
    return (score - mean[own]) / np.maximum(spread[own], 1e-6) + 10.0  # thresholds are of positive scores


def _both(seen: Seen, nominal: Seen) -> np.ndarray:
    """The smaller of novelty and disagreement, each in what nine of ten nominal frames stay below."""
    pairs = ((seen.novelty, nominal.novelty), (seen.disagreement, nominal.disagreement))
    return np.min([seen.smooth(mine) / np.quantile(nominal.smooth(usual), USUAL) for mine, usual in pairs], axis=0)


def _near(table: ScoreTable, column: np.ndarray) -> np.ndarray:
    return column[:, int(np.argmin(np.abs(table.horizons - AHEAD)))]


OURS = "our alarm"
MONITORS: dict[str, Callable[[Seen, Seen], np.ndarray]] = {
    OURS: lambda seen, _: seen.alarm,
    "disagreement of pilots": lambda seen, _: seen.smooth(seen.disagreement),
    "reconstruction error (SelfOracle)": lambda seen, _: seen.smooth(
        np.exp(seen.table.frame_stats[:, FRAME_STATS.index("log_error")])
    ),
    "band in time (FAIL-Detect)": _band,
    "novel and undecided (FIPER)": _both,
    "dropout of the predictor": lambda seen, _: seen.smooth(_near(seen.table, seen.table.mc_dropout)),
    "predictor's 1 - p": lambda seen, _: seen.smooth(1.0 - _near(seen.table, seen.table.p_safe)),
}


@dataclass(frozen=True)
class Episode:
    """Rows of one drive; departs: whether the car leaves its lane in the frame behind the last of them."""

    rows: np.ndarray
    departs: bool


def nominal_episodes(table: ScoreTable, frames: int = EPISODE_FRAMES) -> list[Episode]:
    """Pieces of calm drives with a full context; a piece with a departure is none."""
    found = []
    for name in table.sequences():
        own = np.flatnonzero((table.sequence == name) & table.valid.astype(bool))
        pieces = [own[start : start + frames] for start in range(0, len(own) - frames + 1, frames)]
        found += [Episode(piece, False) for piece in pieces if not (table.departed[piece] == 1.0).any()]
    return found


def faulty_episodes(table: ScoreTable) -> list[Episode]:
    """From the beginning of a fault to the departure or the end; a car that was outside already is none."""
    found = []
    for name in table.sequences():
        own = np.flatnonzero((table.sequence == name) & (table.severity > 0))
        out = np.flatnonzero(table.departed[own] == 1.0)
        if len(own) and not (len(out) and out[0] == 0):
            found.append(Episode(own[: out[0]] if len(out) else own, len(out) > 0))
    return found


def compare(nominal: Seen, test: Seen, faulty: Mapping[str, Seen], seed: int = 0) -> list[dict[str, Any]]:
    """One row per monitor. nominal: for thresholds; test: nominal drives that no threshold has seen; faulty: by fault."""
    calm = nominal_episodes(nominal.table)
    quiet, episodes = nominal_episodes(test.table), {name: faulty_episodes(seen.table) for name, seen in faulty.items()}
    rows = []
    for name, score in MONITORS.items():
        largest = _largest(_held(nominal, score(nominal, nominal)), calm)
        threshold = conformal_threshold(largest, CHANCE)
        false = _largest(_held(test, score(test, nominal)), quiet)
        peaks, leads = [], []
        for fault, seen in faulty.items():
            held = _held(seen, score(seen, nominal))
            leaving = [each for each in episodes[fault] if each.departs]
            peaks.append(_largest(held, leaving))
            leads += [_lead_s(held, each, threshold.value) for each in leaving]
        rows.append({"monitor": name} | _row(np.concatenate(peaks), leads, false, threshold.value, threshold.promise, seed))
    return rows


def _held(seen: Seen, score: np.ndarray) -> np.ndarray:
    held = np.zeros(len(score))
    for name in seen.table.sequences():
        own = seen.table.sequence == name
        held[own] = persistent(score[own])
    return held


def _largest(held: np.ndarray, episodes: Sequence[Episode]) -> np.ndarray:
    return np.array([held[each.rows].max() for each in episodes])


def _lead_s(held: np.ndarray, episode: Episode, threshold: float) -> float | None:
    above = np.flatnonzero(held[episode.rows] > threshold)
    return None if not len(above) else (len(episode.rows) - int(above[0])) / RATE_HZ


def _row(
    peaks: np.ndarray, leads: Sequence[float | None], false: np.ndarray, threshold: float, promise: float, seed: int
) -> dict[str, Any]:
    warned = [lead for lead in leads if lead is not None]
    share, alarmed = len(warned) / len(leads), float((false > threshold).mean())
    rng, drawn = np.random.default_rng(seed), []
    for _ in range(DRAWS):
        mine, other = (values[rng.integers(len(values), size=len(values))] for values in (peaks, false))
        drawn.append(_auroc(mine, other))
    return {
        "auroc": _auroc(peaks, false),
        "auroc_interval": np.quantile(drawn, (0.025, 0.975)).tolist(),
        "announced": len(warned),
        "departures": len(leads),
        "announced_interval": wilson(len(warned), len(leads)),
        "false": int((false > threshold).sum()),
        "nominal": len(false),
        "promise": promise,
        "balanced_accuracy": (share + 1.0 - alarmed) / 2.0,
        "median_lead_s": float(np.median(warned)) if warned else None,
    }


def _auroc(peaks: np.ndarray, quiet: np.ndarray) -> float:
    labels = np.concatenate([np.ones(len(peaks)), np.zeros(len(quiet))])
    return auroc(np.concatenate([peaks, quiet]), labels).value


def markdown(rows: Sequence[Mapping[str, Any]], cost_ms: Mapping[str, float]) -> str:
    """One line per monitor; cost_ms: per frame, where it was measured."""
    lines = [
        "| monitor | episode AUROC (95 %) | departures announced | false alarms in nominal episodes | balanced accuracy | "
        "median warning, s | ms a frame |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for row in rows:
        low, high = row["auroc_interval"]
        lead = "-" if row["median_lead_s"] is None else f"{row['median_lead_s']:.2f}"
        cost = f"{cost_ms[row['monitor']]:.1f}" if row["monitor"] in cost_ms else "-"
        cells = [row["monitor"], f"{row['auroc']:.3f} ({low:.2f}-{high:.2f})", f"{row['announced']} of {row['departures']}"]
        cells += [f"{row['false']} of {row['nominal']}", f"{row['balanced_accuracy']:.3f}", lead, cost]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
