"""One look for all figures: a colour stands for the same method, score or condition everywhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, PALE, GRID = "#222222", "#767676", "#e4e4e4"

METHOD_COLOURS = {
    "none": "#8a8a8a",
    "temperature": "#3b75af",
    "platt": "#55b0c4",
    "isotonic": "#5f9e4a",
    "histogram": "#9a7b4f",
    "dac": "#e8912d",
    "shrinkage": "#b5b35c",
    "no_tta": "#d98880",
    "tta": "#f0a3b0",
    "tta_delta": "#d46a9a",
    "tta_rho": "#e0584f",
    "tta_rho_delta": "#c1121f",
    "tta_rho_two_sided": "#a05195",
    "tta_latent": "#2f8f83",
    "base_rate": "#b0b0b0",
    "pooled_temperature": "#606060",
    "uniform_heating": "#1f1f1f",
    "light": "#c98a00",
    "online": "#4f8a8b",
}
SCORE_COLOURS = {
    "uniform": "#1f1f1f",
    "rho": "#e0584f",
    "delta": "#d46a9a",
    "rho_delta": "#c1121f",
    "rho_two_sided": "#a05195",
    "latent": "#2f8f83",
    "dac": "#e8912d",
    "tta_spread": "#9a7b4f",
}
CONDITION_COLOURS = {"nominal": "#767676", "dark": "#22315c", "blur": "#3b9bd1", "bias": "#c9622b", "latency": "#7a9a2f"}
EXTRA_COLOURS = ("#8f5fbf", "#2a8c6a", "#b5446e", "#847545")

_RC: Any = {
    "font.size": 9.0,
    "font.family": "DejaVu Sans",
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": PALE,
    "ytick.color": PALE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "svg.hashsalt": "donkey_aicc",
    "figure.facecolor": "white",
}


def method_colour(name: str) -> str:
    """The method's own colour; rows that only tables tell apart share one."""
    return METHOD_COLOURS.get(name, PALE)


def condition_colour(name: str, number: int = 0) -> str:
    """A known protocol's colour, or one of a few others by its number."""
    return CONDITION_COLOURS.get(name, EXTRA_COLOURS[number % len(EXTRA_COLOURS)])


@contextmanager
def common_look() -> Iterator[None]:
    """Draw and save inside of this."""
    import matplotlib

    with matplotlib.rc_context(_RC):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Inches. No pyplot: nothing is kept alive and no display is needed."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panels(figure: "Figure", rows: int, columns: int, **options: Any) -> Any:
    """A grid of axes, always two-dimensional."""
    return figure.subplots(rows, columns, squeeze=False, **options)


def legend_panel(axes: "Axes", source: "Axes", title: str = "") -> None:
    """Use an empty panel for the legend of another one."""
    axes.axis("off")
    handles, labels = source.get_legend_handles_labels()
    axes.legend(handles, labels, loc="center left", title=title, frameon=False, fontsize=9, alignment="left")


def save_figure(figure: "Figure", folder: Path, name: str) -> None:
    """PNG and SVG; the same figure gives the same bytes."""
    for suffix, metadata in (("png", {"Software": ""}), ("svg", {"Date": None, "Creator": "donkey_aicc"})):
        with atomic_path(folder / f"{name}.{suffix}") as temporary:
            figure.savefig(temporary, dpi=144, metadata=metadata)
        figure.set_layout_engine("none")  # the first save has arranged everything; doing it again costs as much as drawing
