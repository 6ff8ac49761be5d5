"""Draws the pictures of docs/how_it_works.md: python docs/draw_diagrams.py [NAME ...]."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

IMAGES = Path(__file__).resolve().parent / "images"
INK, PALE = "#1f2933", "#52606d"
FILLS = {"car": "#e4e7eb", "fast": "#cfe8fc", "slow": "#fde3c8", "answer": "#d3f2dc", "file": "#f3e8fd"}


@dataclass(frozen=True)
class Box:
    """A rectangle with two lines of text, by the middle of it, in units of the picture."""

    x: float
    y: float
    title: str
    note: str = ""
    kind: str = "car"
    width: float = 2.1
    height: float = 0.86

    def edge(self, other: "Box") -> tuple[float, float]:
        """Where an arrow to the other box leaves this one."""
        dx, dy = other.x - self.x, other.y - self.y
        if abs(dx) * self.height >= abs(dy) * self.width:
            return self.x + (self.width if dx > 0 else -self.width) / 2, self.y
        return self.x, self.y + (self.height if dy > 0 else -self.height) / 2


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    axes.axis("off")
    return figure, axes


def draw(axes: Axes, boxes: dict[str, Box], arrows: list[tuple[str, str, str]], down_then_right: tuple[str, ...] = ()) -> None:
    """arrows: (from, to, label); down_then_right: boxes whose arrows to the lower right have a corner."""
    for box in boxes.values():
        left, bottom = box.x - box.width / 2, box.y - box.height / 2
        axes.add_patch(
            FancyBboxPatch(
                (left, bottom),
                box.width,
                box.height,
                boxstyle="round,pad=0,rounding_size=0.09",
                fc=FILLS[box.kind],
                ec=PALE,
                lw=1.1,
            )
        )
        lift = 0.13 if box.note else 0.0
        axes.text(box.x, box.y + lift, box.title, ha="center", va="center", fontsize=11, weight="bold", color=INK)
        axes.text(box.x, box.y - 0.2, box.note, ha="center", va="center", fontsize=8.6, color=PALE)
    for start, end, label in arrows:
        first, last = boxes[start], boxes[end]
        a, b, curve = first.edge(last), last.edge(first), "arc3,rad=0"
        if start in down_then_right and last.x > first.x and last.y < first.y:
            a, b, curve = (
                (first.x, first.y - first.height / 2),
                (last.x - last.width / 2, last.y),
                "angle,angleA=-90,angleB=180,rad=8",
            )
        axes.add_patch(FancyArrowPatch(a, b, arrowstyle="-|>", mutation_scale=13, lw=1.3, color=INK, connectionstyle=curve))
        if label:
            axes.text(
                (a[0] + b[0]) / 2, (a[1] + b[1]) / 2 + 0.12, label, ha="center", va="bottom", fontsize=8.2, color=INK,
                bbox={"fc": "white", "ec": "none", "pad": 0.8},
            )  # fmt: skip


def online() -> Figure:
    figure, axes = canvas(12.4, 5.3)
    boxes = {
        "camera": Box(1.35, 4.3, "Camera", "or simulator"),
        "faults": Box(4.0, 4.3, "Faults", "only if you inject any"),
        "pilot": Box(6.65, 4.3, "Pilot or you", "steering, throttle"),
        "governor": Box(9.3, 4.3, "Governor", "slows or stops", "answer"),
        "drive": Box(11.4, 4.3, "Motors", "", "car", 1.5),
        "predictor": Box(4.0, 2.6, "Predictor", "9 views of the frame", "fast"),
        "calibrator": Box(6.65, 2.6, "Calibrator", "confidence", "answer"),
        "alarm": Box(9.3, 2.6, "Alarm", "hazard, reason", "answer"),
        "scorer": Box(4.0, 0.9, "Scorer", "own thread: rho, delta", "slow"),
        "tub": Box(9.3, 0.9, "Tub and cockpit", "everything recorded"),
    }
    arrows = [("camera", "faults", ""), ("faults", "pilot", ""), ("pilot", "governor", ""), ("governor", "drive", "")]
    arrows += [("faults", "predictor", "frame"), ("predictor", "calibrator", "p"), ("calibrator", "alarm", "")]
    arrows += [("alarm", "governor", ""), ("scorer", "calibrator", "rho, delta"), ("alarm", "tub", "")]
    arrows += [("faults", "predictor", "frame"), ("predictor", "scorer", "frame, command sent")]
    draw(axes, boxes, arrows, ("camera",))
    axes.text(0.35, 2.6, "control path:\na few ms\nin every tick", fontsize=9, color=PALE, va="center")
    axes.text(0.35, 0.9, "beside the loop:\nframes and the\ncommands sent", fontsize=9, color=PALE, va="center")
    return figure


def offline() -> Figure:
    figure, axes = canvas(12.4, 3.6)
    boxes = {
        "tubs": Box(1.3, 2.6, "Tubs", "frames, commands"),
        "labels": Box(1.3, 0.95, "Labels", "cte, marks, video, you"),
        "train": Box(4.0, 2.6, "train", "three nets", "slow"),
        "bundle": Box(6.7, 2.6, "Bundle", "weights, statistics", "file"),
        "score": Box(6.7, 0.95, "score", "one row a frame", "slow"),
        "calibrate": Box(9.3, 0.95, "calibrate", "changed and faulty drives", "slow"),
        "car": Box(9.3, 2.6, "Your car", "drive", "answer"),
        "report": Box(11.4, 0.95, "evaluate", "report", "answer", 1.6),
    }
    arrows = [("tubs", "train", ""), ("labels", "train", ""), ("train", "bundle", ""), ("bundle", "score", "")]
    arrows += [
        ("score", "calibrate", ""),
        ("calibrate", "bundle", "calibrator.json"),
        ("bundle", "car", ""),
        ("calibrate", "report", ""),
    ]
    draw(axes, boxes, arrows)
    return figure


def shapes() -> Figure:
    figure, axes = canvas(12.4, 4.6)
    boxes = {
        "frame": Box(1.35, 3.6, "Frame", "3 x 64 x 64"),
        "encoder": Box(4.0, 3.6, "Encoder", "4 strided convolutions", "slow"),
        "latent": Box(6.65, 3.6, "Latent z", "64 x 4 x 4", "file"),
        "decoder": Box(9.3, 3.6, "Decoder", "4 pixel shuffles", "slow"),
        "again": Box(11.4, 3.6, "Frame again", "3 x 64 x 64", "car", 1.7),
        "command": Box(4.0, 2.1, "Command", "2 numbers -> 4 x 4 map"),
        "dynamics": Box(6.65, 2.1, "Dynamics", "2 ConvLSTM, 128 channels", "slow", 2.5),
        "ahead": Box(9.3, 2.1, "20 futures", "50 steps of z", "file"),
        "cnn": Box(4.0, 0.7, "Predictor", "4 convolutions, 3 layers", "fast", 2.3),
        "p": Box(6.65, 0.7, "11 numbers", "P(safe) 1 to 50 steps ahead", "answer", 2.5),
    }
    arrows = [("frame", "encoder", ""), ("encoder", "latent", ""), ("latent", "decoder", ""), ("decoder", "again", "")]
    arrows += [
        ("latent", "dynamics", ""),
        ("command", "dynamics", ""),
        ("dynamics", "ahead", ""),
        ("frame", "cnn", ""),
        ("cnn", "p", ""),
    ]
    draw(axes, boxes, arrows, ("frame",))
    axes.text(10.5, 2.95, "rho: how different\nfrom the first frame?", fontsize=9, color=PALE, ha="center", va="center")
    axes.text(11.5, 2.1, "delta: do they\ndisagree more\nthan usual?", fontsize=9, color=PALE, ha="center", va="center")
    return figure


LIT, DARK = 60, 12  # frames of the drive: as usual, then with a dark fault, which the exposure half makes up for


def restored_view() -> Figure:
    """One moment driven twice, lit and dark: the picture, what the world model makes of it, and the same of the restored one."""
    from donkey_aicc.calibration.calibrator_file import load_calibrator
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.nets.preprocess import as_recorded, images_to_array, to_model_image
    from donkey_aicc.resources import models_dir

    bundle = Bundle.load(models_dir() / "reference")
    restoration = load_calibrator(bundle).settings.restoration
    assert restoration is not None
    lit, dark = (images_to_array(to_model_image(as_recorded(_last_frame(fault)))[None]) for fault in ("", "dark"))
    rows = (("lit", lit), ("dark", dark), ("dark, restored", restoration.view(dark)))
    figure = Figure(figsize=(7.6, 5.3), facecolor="white")
    grid = figure.subplots(2, len(rows))
    for column, (title, picture) in enumerate(rows):
        rebuilt = np.clip(bundle.decode(bundle.encode(picture)), 0.0, 1.0)
        for axes, image in zip(grid[:, column], (picture, rebuilt), strict=True):
            axes.imshow(image[0].transpose(1, 2, 0), interpolation="nearest")
            axes.set(xticks=[], yticks=[])
        grid[0, column].set_title(title, color=INK, fontsize=12, weight="bold")
    for axes, label in zip(grid[:, 0], ("what it sees", "what the world\nmodel makes of it"), strict=True):
        axes.set_ylabel(label, color=INK, fontsize=10)
    figure.tight_layout()
    return figure


def _last_frame(fault: str) -> np.ndarray:
    """Of the same drive, which ends under the fault, before a pilot that the dark confuses could go elsewhere."""
    from donkey_aicc.faults.fault import make_fault
    from donkey_aicc.resources import models_dir
    from donkey_aicc.simulator.drivers import nominal_driver
    from donkey_aicc.simulator.driving import Marshal, drive
    from donkey_aicc.simulator.record_drives import world_at_start

    world, seen = world_at_start("loop", 3), []
    driver = nominal_driver(world.track, models_dir() / "pilot", 3)

    def source(_: int) -> object:
        return make_fault(fault, 3, rate_hz=world.rate_hz, seed=3) if fault and len(seen) >= LIT else None

    for tick in drive(world, driver, LIT + DARK, source, Marshal(warm_up_frames=0)):
        seen.append(tick.image)
    return seen[-1]


FIGURES = {"online_flow": online, "offline_flow": offline, "tensor_shapes": shapes, "restored_view": restored_view}


def main() -> None:
    for name in sys.argv[1:] or FIGURES:
        FIGURES[name]().savefig(IMAGES / f"{name}.png", dpi=110, metadata={"Software": ""})
        print(f"written: {IMAGES / name}.png")


if __name__ == "__main__":
    main()
