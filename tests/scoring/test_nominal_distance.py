"""Spreads that still hold on the next drive."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.scoring.nominal_distance import MahalanobisScore, next_drive_spread, too_few_drives, widening
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.synthetic_scores import synthetic_table


def drives(rng: np.random.Generator, count: int, frames: int = 100, between: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    names = np.repeat([f"d{number}" for number in range(count)], frames)
    return np.repeat(rng.normal(0, between, count), frames) + rng.normal(0, 0.3, count * frames), names


@pytest.mark.parametrize("count", [2, 3, 5, 12])
def test_the_next_drive_lies_within_two_spreads_as_often_as_promised(count: int) -> None:
    """A drive beyond mean + 2 spreads should be rare: one in 200, whatever the number of drives; two cannot promise it."""
    rng, beyond, tries = np.random.default_rng(count), 0, 3000
    for _ in range(tries):
        values, names = drives(rng, count, frames=4)
        mu, sigma = next_drive_spread(values, names)
        beyond += rng.normal(0, 1.0) > mu + 2 * sigma
    assert beyond / tries < (0.03 if count == 2 else 0.01)


def test_few_drives_widen_more_and_are_told_of() -> None:
    factors = [widening(count) for count in (2, 4, 12, 100)]
    assert factors == sorted(factors, reverse=True) and factors[-1] < 1.35
    assert "promised" in too_few_drives(4) and "8.5" in too_few_drives(2)
    assert "sharper" in too_few_drives(8) and too_few_drives(12) == ""


def test_one_drive_is_taken_to_differ_from_the_next_as_its_frames_do() -> None:
    values, names = drives(np.random.default_rng(0), 1)
    assert next_drive_spread(values, names)[1] == pytest.approx(1.288 * values.std() * np.sqrt(2))


def test_a_distance_with_drives_judges_each_by_the_others() -> None:
    rng = np.random.default_rng(1)
    x, names = rng.normal(size=(300, 3)), np.repeat(["a", "b", "c"], 100)
    x[names == "c"] += 2.0
    fitted = MahalanobisScore.fit(x, 0.1, names)
    held_out = np.concatenate([MahalanobisScore.fit(x[names != name], 0.1).distance(x[names == name]) for name in "abc"])
    mu, sigma = next_drive_spread(held_out, names)
    assert (fitted.mu, fitted.sigma) == pytest.approx((mu, sigma))
    assert fitted.normalised(x).max() < 1.0 < MahalanobisScore.fit(x, 0.1).normalised(x).max()


OWN = ("log_rho", "delta_held_out", "control", "latent", "tta_spread")


def unlike_drives(rng: np.random.Generator, count: int, rows: int = 40):
    """Every drive has its own light, road and driver: all that is scored differs more between drives than within."""
    table = synthetic_table(rng, sequences=count, length=rows, horizons=(1, 5), cnn_width=4, warm_up=0)

    def values(width: int) -> np.ndarray:
        return np.repeat(rng.normal(size=(count, width)), rows, axis=0) + 0.4 * rng.normal(size=(count * rows, width))

    return replace(
        table,
        rho_raw=np.exp(0.2 * values(1)[:, 0] - 6.0),
        features=values(12),
        latent=values(16).astype(np.float32),
        tta_spread=np.exp(0.3 * values(1) - 3.0) * np.ones((1, 2)),
        cnn_features=np.full((len(table), 4), np.nan),
    )


@pytest.mark.parametrize("count", [3, 4, 8])
def test_any_of_our_own_scores_is_rarely_at_its_maximum_on_new_nominal_drives(count: int) -> None:
    rng, shares, papers = np.random.default_rng(count), [], []
    for _ in range(12):
        scores = ScoreStatistics.fit(unlike_drives(rng, count)).scores(unlike_drives(rng, 6))
        shares.append(np.any([scores[name] >= 1.0 for name in OWN], axis=0).mean())
        papers.append((scores["delta"] >= 1.0).mean())
    assert np.mean(shares) <= 0.05 and np.mean(papers) > 0.5  # the paper's form takes every new drive for an anomaly
