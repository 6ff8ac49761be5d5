"""Reliability before and after calibration, on nominal calibration frames and on D_aug."""

from pathlib import Path

import numpy as np

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.evaluation.metrics import ece_top_label
from donkey_aicc.files import atomic_path

BINS = 15


def draw_before_after(calibrator: Calibrator, pool: Pool, path: str | Path) -> None:
    """Two columns (nominal, D_aug), two rows (raw probability, calibrated confidence); bars are the accuracy per bin."""
    import matplotlib

    matplotlib.use("Agg", force=False)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 6.4), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    columns = (("nominal calibration", pool.nominal, pool.nominal_scores), ("D_aug", pool.augmented, pool.augmented_scores))
    for column, (name, table, scores) in enumerate(columns):
        rows = (("raw", table.p_safe), (calibrator.label, calibrator.predict(table, scores)))
        for row, (kind, p) in enumerate(rows):
            known = np.isfinite(table.labels)
            _panel(axes[row][column], f"{name}: {kind}", p[known], table.labels[known])
    for axis in axes[1]:
        axis.set_xlabel("confidence in the predicted class")
    for axis in axes[:, 0]:
        axis.set_ylabel("share correct")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110)


def _panel(axis, title: str, p: np.ndarray, labels: np.ndarray) -> None:
    confidence, correct = np.maximum(p, 1 - p), (p >= 0.5) == (labels > 0.5)
    edges = np.linspace(0.5, 1.0, BINS + 1)
    place = np.clip(np.digitize(confidence, edges) - 1, 0, BINS - 1)
    count = np.bincount(place, minlength=BINS)
    accuracy = np.bincount(place, weights=correct, minlength=BINS) / np.maximum(count, 1)
    filled = count > 0
    middle, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    shades = [(0.28, 0.47, 0.66, 0.35 + 0.65 * share) for share in count[filled] / count.max()]  # fuller bins are darker
    axis.bar(middle[filled], accuracy[filled], width * 0.9, color=shades)
    axis.plot([0.5, 1], [0.5, 1], color="#444444", linestyle="--", linewidth=1)
    axis.set(xlim=(0.5, 1.0), ylim=(0.0, 1.0), title=f"{title}\nECE {float(ece_top_label(p, labels)):.3f}")
