"""Is the confidence right? Reliability diagrams, and the error by horizon.

Diagrams over all protocols and the horizons 5 to 50 (the paper's figure), and before and after a calibration, on its nominal
frames and on D_aug. Calibration error against the horizon, one panel per condition (the paper's figures of ECE, ACE and SCE).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.catalogue import BASELINES, OURS
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.evaluation.figures.style import INK, PALE, condition_colour, legend_panel, method_colour, new_figure, panels
from donkey_aicc.evaluation.methods_and_conditions import HEATED_TO_OURS, NOMINAL
from donkey_aicc.evaluation.metrics import BINS, ece_top_label
from donkey_aicc.evaluation.tables import NONE_PUBLISHED, Published
from donkey_aicc.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = (*BASELINES, OURS, HEATED_TO_OURS)
_COLUMNS = 3
_SHORT = {HEATED_TO_OURS: "Uniform heating", OURS: "Ours"}


def draw_reliability(results: dict[str, Any], published: Published = NONE_PUBLISHED) -> "Figure":
    """Bars: share of right predictions; the hatched part up to the diagonal is the gap."""
    names = [name for name in SHOWN if name in results["reliability"]["methods"]]
    rows = (len(names) + _COLUMNS - 1) // _COLUMNS
    figure = new_figure(8.4, 2.8 * rows)
    grid = panels(figure, rows, _COLUMNS, sharex=True, sharey=True)
    edges = np.array(results["reliability"]["edges"])
    for number, axes in enumerate(grid.ravel()):
        if number >= len(names):
            axes.axis("off")
            continue
        name = names[number]
        _reliability_panel(axes, edges, results["reliability"]["methods"][name], method_colour(name))
        axes.set_title(_SHORT.get(name, results["calibration"][name]["label"]), color=method_colour(name))
        _error(axes, results["reliability"]["methods"][name]["error"], published.reliability_error.get(name), published.label)
        axes.tick_params(labelleft=True, labelbottom=True)
        if number % _COLUMNS == 0:
            axes.set_ylabel("share right")
        if number >= len(names) - _COLUMNS:
            axes.set_xlabel("confidence in the prediction")
    return figure


def _reliability_panel(axes: "Axes", edges: np.ndarray, stored: dict[str, Any], colour: str) -> None:
    left = np.maximum(edges[:-1], 0.5)
    width = edges[1:] - left
    count = np.array(stored["count"], dtype=np.float64)
    filled = np.array([value is not None for value in stored["accuracy"]]) & (count > 0)
    accuracy, confidence = (_numbers(stored[key]) for key in ("accuracy", "confidence"))
    axes.bar(
        left[filled], accuracy[filled], width[filled], align="edge", color=colour, alpha=0.75, edgecolor="white", linewidth=0.6
    )
    bottom, height = np.minimum(accuracy, confidence), np.abs(accuracy - confidence)
    axes.bar(
        left[filled],
        height[filled],
        width[filled],
        bottom=bottom[filled],
        align="edge",
        facecolor="none",
        edgecolor=INK,
        hatch="////",
        linewidth=0.5,
        alpha=0.55,
    )
    axes.plot([0.5, 1.0], [0.5, 1.0], color=PALE, linestyle=(0, (4, 2)), linewidth=1)
    share = count / max(count.sum(), 1.0)
    axes.scatter(
        left + width / 2, np.full(len(left), 0.035), s=90 * share + 0.5, color=INK, alpha=0.6, linewidth=0, clip_on=False
    )
    axes.set_xlim(0.5, 1.0)
    axes.set_ylim(0.0, 1.02)


def _error(axes: "Axes", error: float | None, other: float | None, label: str) -> None:
    text = "no samples" if error is None else f"error {100 * error:.1f}"
    if other is not None:
        text += f"\n{label} {100 * other:.1f}"
    axes.text(0.03, 0.96, text, transform=axes.transAxes, va="top", fontsize=9, color=INK)


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
            _before_after_panel(axes[row][column], f"{name}: {kind}", p[known], table.labels[known])
    for axis in axes[1]:
        axis.set_xlabel("confidence in the predicted class")
    for axis in axes[:, 0]:
        axis.set_ylabel("share correct")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110)


def _before_after_panel(axis, title: str, p: np.ndarray, labels: np.ndarray) -> None:
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


SHOWN_BY_HORIZON = (*BASELINES, "pooled_temperature", OURS)
_MARKERS = {"none": "o", "temperature": "s", "platt": "^", "isotonic": "v", "histogram": "D", "dac": "P", OURS: "o"}


def draw_metric_by_horizon(results: dict[str, Any], metric: str) -> "Figure":
    """metric: ece, ace or sce."""
    horizons = results["settings"]["horizons"]
    conditions = [*results["settings"]["protocols"], NOMINAL]
    columns = 3
    rows = (len(conditions) + 1 + columns - 1) // columns
    figure = new_figure(9.2, 2.75 * rows)
    grid = panels(figure, rows, columns, sharex=True, sharey=True)
    for number, axes in enumerate(grid.ravel()):
        if number < len(conditions):
            _horizon_panel(axes, results, metric, conditions[number], horizons)
            axes.tick_params(labelleft=True, labelbottom=True)
            if number % columns == 0:
                axes.set_ylabel(metric.upper())
            axes.set_xlabel("steps ahead, k")
        elif number == len(conditions):
            legend_panel(axes, grid[0, 0])
        else:
            axes.axis("off")
    grid[0, 0].set_ylim(bottom=0)
    return figure


def _horizon_panel(axes: "Axes", results: dict[str, Any], metric: str, condition: str, horizons: list[int]) -> None:
    for name in SHOWN_BY_HORIZON:
        stored = results["by_horizon"][metric].get(name)
        if stored is None:
            continue
        mean, std = (_numbers(stored[condition][key]) for key in ("mean", "std"))
        strong = name == OURS
        axes.plot(
            horizons,
            mean,
            color=method_colour(name),
            linewidth=2.4 if strong else 1.2,
            linestyle=(0, (4, 2)) if name == "pooled_temperature" else "-",
            marker=_MARKERS.get(name, ""),
            markersize=4 if strong else 3,
            label=results["calibration"][name]["label"],
            zorder=3 if strong else 2,
        )
        if strong:
            axes.fill_between(horizons, mean - std, mean + std, color=method_colour(name), alpha=0.15, linewidth=0)
    axes.set_title(condition.capitalize())
    axes.set_xticks([k for k in horizons if k == 1 or k % 10 == 0])


def draw_base_predictor(results: dict[str, Any]) -> "Figure":
    """AUROC of the raw prediction against the horizon."""
    figure = new_figure(6.4, 3.6)
    axes = panels(figure, 1, 1)[0, 0]
    horizons = results["settings"]["horizons"]
    for number, (condition, row) in enumerate(results["base_predictor"].items()):
        values = _numbers([row[str(k)]["value"] for k in horizons])
        axes.plot(
            horizons, values, color=condition_colour(condition, number), marker="o", markersize=4, label=condition.capitalize()
        )
    axes.axhline(0.5, color="#767676", linewidth=1, linestyle=(0, (4, 2)))
    axes.annotate(
        "guessing", (horizons[-1], 0.5), xytext=(0, 3), textcoords="offset points", ha="right", fontsize=8, color="#767676"
    )
    axes.set_xlabel("steps ahead, k")
    axes.set_ylabel("AUROC of p_safe")
    axes.set_xticks([k for k in horizons if k == 1 or k % 10 == 0])
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
