"""What the faults look like, and what the scores make of them.

One frame per protocol and severity, as the model saw it; how well each score detects each protocol, and which
weights each D_aug family asks for; mean rho and delta against severity, for the test protocols and the D_aug families.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from donkey_aicc.evaluation.figures.style import INK, PALE, SCORE_COLOURS, condition_colour, new_figure, panels
from donkey_aicc.evaluation.tables import NONE_PUBLISHED, Published
from donkey_aicc.tubs.drive import Drive

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TILE_PX, QUALITY = 128, 90
MOST_TILES = 6  # of a fault
FaultPictures = list[tuple[str, list[tuple[str, bytes]]]]


def fault_pictures(nominal: Sequence[Drive], ood: Mapping[str, Sequence[Drive]]) -> FaultPictures:
    """[(fault, [(severity in words, JPEG)])], nominal first: the middle frame of the first stretch under each severity."""
    rows = [("nominal", [("", drive.images[len(drive) // 2]) for drive in nominal[:MOST_TILES]])]
    rows += [(name, list(_tiles(drives))[:MOST_TILES]) for name, drives in ood.items()]
    return [(name, [(label, _enlarged(pixels)) for label, pixels in row]) for name, row in rows]


def _enlarged(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    picture = Image.fromarray(np.ascontiguousarray(pixels)).resize((TILE_PX, TILE_PX), Image.Resampling.BICUBIC)
    picture.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


def _tiles(drives: Sequence[Drive]) -> Iterator[tuple[str, np.ndarray]]:
    """(label, (64, 64, 3) uint8) of every severity that occurs, weakest first."""
    found: dict[int, np.ndarray] = {}
    for drive in drives:
        for severity in np.unique(drive.severity[drive.protocol != ""]).tolist():
            rows = np.flatnonzero((drive.protocol != "") & (drive.severity == severity))
            found.setdefault(int(severity), drive.images[rows[len(rows) // 2]])
    for severity in sorted(found):
        yield (f"severity {severity}" if severity else "severity unknown"), found[severity]


def draw_detection(results: dict[str, Any], published: Published = NONE_PUBLISHED) -> "Figure":
    """One line per score, one dot per protocol, a bar for their mean, a tick for the mean of somebody else."""
    rows = results["ood_detection"]
    figure = new_figure(7.4, 0.34 * len(rows) + 1.3)
    axes = panels(figure, 1, 1)[0, 0]
    for place, (name, row) in enumerate(rows.items()):
        mean = row["ood_mean"]["mean"]
        if mean is not None:
            axes.barh([place], [mean], height=0.62, color="#e3e3e3", zorder=1)
        if name in published.ood_auroc:
            axes.scatter([published.ood_auroc[name]["mean"]], [place], s=110, marker="|", color=INK, linewidth=1.6, zorder=4)
        for number, protocol in enumerate(results["settings"]["protocols"]):
            value = row[protocol]["mean"]
            if value is not None:
                axes.scatter(
                    [value], [place], s=32, color=condition_colour(protocol, number), edgecolor="white", linewidth=0.7, zorder=3
                )
    axes.axvline(0.5, color=PALE, linewidth=1, linestyle=(0, (4, 2)))
    axes.set_yticks(range(len(rows)), [row["label"] for row in rows.values()])
    axes.invert_yaxis()
    axes.set_xlim(0.0, 1.0)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("AUROC, nominal against anomalous frames (0.5: guessing)")
    _legend(axes, results["settings"]["protocols"], published)
    return figure


def _legend(axes: Any, protocols: list[str], published: Published) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker="o", linewidth=0, color=condition_colour(p, number), label=p.capitalize())
        for number, p in enumerate(protocols)
    ]
    handles.append(Line2D([], [], linewidth=7, color="#e3e3e3", label="mean"))
    if published.label:
        label = f"{published.label}'s mean"
        handles.append(Line2D([], [], marker="|", markersize=9, markeredgewidth=1.6, linewidth=0, color=INK, label=label))
    axes.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=len(handles),
        frameon=False,
        fontsize=8,
        columnspacing=1,
    )


def draw_family_weights(results: dict[str, Any]) -> "Figure | None":
    """w_rho and w_delta that each family alone would give; None if they could not be fitted."""
    families = results["weights"]["by_family"]
    if "reason" in families or not families:
        return None
    figure = new_figure(6.8, 0.36 * len(families) + 1.2)
    axes = panels(figure, 1, 1)[0, 0]
    place = np.arange(len(families))
    for shift, name in ((-0.19, "rho"), (0.19, "delta")):
        values = [one[name] for one in families.values()]
        axes.barh(place + shift, values, height=0.36, color=SCORE_COLOURS[name], label=f"w_{name}")
    axes.set_yticks(place, list(families))
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("weight (0: this family asks for no caution)")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
    return figure


_LINEAR = 2.0  # twice the clipping point; beyond, where clipped scores no longer move, the axis is logarithmic


def draw_severity(results: dict[str, Any]) -> "Figure":
    """Severity 0 is nominal; the shaded band is where the clipped score still moves."""
    figure = new_figure(9.2, 6.2)
    grid = panels(figure, 2, 2, sharex=True)
    titles = {"protocols": "test protocols", "d_aug": "D_aug families"}
    for row, score in enumerate(("rho", "delta")):
        for column, (part, title) in enumerate(titles.items()):
            _panel(grid[row, column], results["monotonicity"][part].get(score, {}), part == "protocols")
            grid[row, column].set_title(f"{score}, {title}")
        grid[row, 0].set_ylabel(f"mean {score}, unclipped")
    for axes in grid[1]:
        axes.set_xlabel("severity (0: nominal)")
    return figure


def _panel(axes: "Axes", kinds: dict[str, Any], protocols: bool) -> None:
    import matplotlib

    palette = [matplotlib.colormaps["tab20"](shade / 19.0) for shade in range(20)]
    axes.axhspan(0.0, 1.0, color="#f1f1f1", zorder=0)
    axes.axhline(0.0, color=PALE, linewidth=0.8)
    for number, (kind, one) in enumerate(kinds.items()):
        levels = sorted(int(level) for level in one["mean_by_severity"])
        means = np.array([one["mean_by_severity"][str(level)] for level in levels], dtype=np.float64)
        colour = condition_colour(kind, number) if protocols else palette[number % len(palette)]
        dashed = one["below_nominal"]
        axes.plot(
            levels,
            means,
            color=colour,
            marker="o",
            markersize=3.5,
            linewidth=1.6,
            linestyle=(0, (3, 1.5)) if dashed else "-",
            label=f"{kind} (falls)" if dashed else kind,
        )
    axes.set_yscale("symlog", linthresh=_LINEAR, linscale=1.5)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(range(6))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=7.5)
