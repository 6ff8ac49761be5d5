"""Which restorations, and which gate: what each makes of the predictor, on nominal drives and on drives under faults of D_aug.

Every view is predicted once at full share, without test-time augmentation; the world model's errors are taken where a check would
be due. Gates are then tried without a net. The four test protocols have no part in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.manifest import CONTEXT
from donkey_aicc.nets.preprocess import History, frames_in
from donkey_aicc.scoring.hindsight import Hindsight
from donkey_aicc.scoring.restored_view import CHECK_EVERY, Restoration, rebuilding_error
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.tta_views import sigmoid
from donkey_aicc.tubs.drive import Drive

View = Callable[[Restoration, np.ndarray], np.ndarray]  # (B, 3, H, W) in [0, 1] -> the same


def _each(images: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """`change` on each picture as (H, W, 3) uint8."""
    pixels = np.rint(images.transpose(0, 2, 3, 1) * np.float32(255.0)).astype(np.uint8)
    changed = np.stack([change(np.ascontiguousarray(one)) for one in pixels])
    return changed.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255.0)


def _median(_: Restoration, images: np.ndarray) -> np.ndarray:
    return _each(images, lambda one: cv2.medianBlur(one, 3))


def _photometric(restoration: Restoration, images: np.ndarray) -> np.ndarray:
    """Each channel with its nominal mean and spread."""
    mean, spread = images.mean(axis=(2, 3), keepdims=True), images.std(axis=(2, 3), keepdims=True)
    wanted, usual = (np.array(x, dtype=np.float32).reshape(1, 3, 1, 1) for x in (restoration.spread, restoration.mean))
    return np.clip((images - mean) * (wanted / np.maximum(spread, 2e-3)) + usual, 0.0, 1.0).astype(np.float32)


def _white_balance(restoration: Restoration, images: np.ndarray) -> np.ndarray:
    """Each channel times what brings its mean back."""
    usual = np.array(restoration.mean, dtype=np.float32).reshape(1, 3, 1, 1)
    return np.clip(images * (usual / np.maximum(images.mean(axis=(2, 3), keepdims=True), 2e-3)), 0.0, 1.0).astype(np.float32)


def _unsharp(_: Restoration, images: np.ndarray) -> np.ndarray:
    return _each(images, lambda one: cv2.addWeighted(one, 2.0, cv2.GaussianBlur(one, (0, 0), 1.0), -1.0, 0.0))


SHIPPED = "median, mean and spread"
VIEWS: dict[str, View] = {
    SHIPPED: Restoration.view,
    "mean and spread": _photometric,
    "median": _median,
    "white balance": _white_balance,
    "unsharp": _unsharp,
}
BANK = (SHIPPED, "mean and spread", "median")  # several at once: the most usual of them


@dataclass(frozen=True)
class Gate:
    """When a view counts: its error must be more usual by `from_` deviations, and counts in full at `full_at`."""

    name: str
    from_: float = 0.0
    full_at: float = 1.0
    checks: int = 4
    always: bool = False


GATES = (
    Gate("always", always=True),
    Gate("0 to 0.5", full_at=0.5),
    Gate("0 to 1"),
    Gate("0 to 1, one check", checks=1),
    Gate("0 to 2", full_at=2.0),
    Gate("1 to 2", from_=1.0, full_at=2.0),
    Gate("2 to 3", from_=2.0, full_at=3.0),
)


@dataclass(frozen=True)
class Views:
    """Of N frames in the order of a score table: what the predictor makes of every view, and the world model at its checks."""

    p: dict[str, np.ndarray]  # view -> (N, K)
    advantage: dict[str, np.ndarray]  # view -> (N,), NaN where no check is due

    def save(self, path: Path) -> None:
        columns: dict[str, Any] = {f"p {name}": values for name, values in self.p.items()}
        columns |= {f"advantage {name}": values for name, values in self.advantage.items()}
        np.savez_compressed(path, **columns)

    @classmethod
    def load(cls, path: Path) -> "Views":
        with np.load(path, allow_pickle=False) as stored:
            p, advantage = (
                {name: stored[f"{what} {name}"] for name in VIEWS if f"{what} {name}" in stored} for what in ("p", "advantage")
            )
        return cls(p, advantage)


def predict_views(bundle: Bundle, drives: Sequence[Drive], settings: ScoreSettings) -> Views:
    """All drives side by side, frame by frame."""
    assert settings.restoration is not None
    restoration = settings.restoration
    start = np.cumsum([0, *(len(drive) for drive in drives)])
    p = {name: np.full((start[-1], len(bundle.horizons)), np.nan, dtype=np.float32) for name in VIEWS}
    advantage = {name: np.full(start[-1], np.nan) for name in VIEWS}
    history = History(bundle.lags, bundle.action_stats)
    lanes = np.arange(len(drives))
    for number in range(max(len(drive) for drive in drives)):
        going = np.array([len(drives[lane]) > number for lane in lanes.tolist()])
        history.keep(np.flatnonzero(going))
        lanes = lanes[going]
        here = [drives[lane] for lane in lanes.tolist()]
        x = history.push(np.stack([one.images[number] for one in here]), np.stack([one.actions[number] for one in here]))
        rows, frames = start[lanes] + number, 3 * frames_in(x.shape[1])
        plain = rebuilding_error(bundle, x[:, :3]) if number % CHECK_EVERY == 0 else None
        for name, view in VIEWS.items():
            pictures = view(restoration, x[:, :frames].reshape(-1, 3, *x.shape[2:])).reshape(len(x), frames, *x.shape[2:])
            seen = np.concatenate([pictures, x[:, frames:]], axis=1)
            p[name][rows] = sigmoid(bundle.predict(seen)[1])
            if plain is not None:
                advantage[name][rows] = restoration.advantage(plain, rebuilding_error(bundle, pictures[:, :3]))
    return Views(p, advantage)


def gated(table: ScoreTable, views: Views, names: Sequence[str], gate: Gate) -> ScoreTable:
    """The table as it would be with these restorations behind that gate; of several, the most usual one of a check counts."""
    advantage = np.stack([views.advantage[name] for name in names])
    p = np.stack([views.p[name] for name in names])
    restored, share = table.p_safe.copy(), np.zeros(len(table))
    hindsight = np.empty(len(table))
    first = np.flatnonzero(table.step == 0)
    for begin, end in pairwise([*first.tolist(), len(table)]):
        for at in range(0, end - begin, CHECK_EVERY):
            rows = slice(begin + at + CHECK_EVERY, min(begin + at + 2 * CHECK_EVERY, end))
            known = advantage[:, max(begin, begin + at - CHECK_EVERY * (gate.checks - 1)) : begin + at + 1 : CHECK_EVERY]
            mean = known.mean(axis=1)
            best = int(np.argmax(mean))
            share[rows] = 1.0 if gate.always else np.clip((mean[best] - gate.from_) / (gate.full_at - gate.from_), 0.0, 1.0)
            restored[rows] += share[rows, None].astype(np.float32) * (p[best, rows] - table.p_safe[rows])
        past = Hindsight(table.horizons.tolist(), 1, CONTEXT)
        for row in range(begin, end):
            hindsight[row] = past.update(restored[row : row + 1])[0]
    return replace(table, p_restored=restored, restored=share, hindsight=hindsight)
