"""`donkey-aicc export`: ONNX files into a bundle, so that a car runs it without torch."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", help="trained bundle; the .onnx files are written into it")
    parser.add_argument("--data", default=None, metavar="TUB", help="check on frames of this tub (default: simulated frames)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.nets.onnx_export import TOLERANCE, export_bundle

    images, actions = _simulated_frames() if args.data is None else _recorded_frames(args.data)
    differences = export_bundle(args.bundle, images, actions)
    print(f"exported to {args.bundle}; largest difference from torch on {len(images)} frames (allowed {TOLERANCE:g}):")
    for name, difference in differences.items():
        print(f"  {name:<10} {difference:.1e}")
    return 0


def _simulated_frames() -> "tuple[np.ndarray, np.ndarray]":
    import numpy as np

    from donkey_aicc.nets.onnx_export import CHECKED_FRAMES
    from donkey_aicc.nets.preprocess import to_model_image
    from donkey_aicc.simulator.world import World

    world, images = World("loop", seed=0), []
    actions = np.column_stack([np.linspace(-0.5, 0.5, CHECKED_FRAMES), np.full(CHECKED_FRAMES, 0.3)]).astype(np.float32)
    for steering, throttle in actions.tolist():
        images.append(to_model_image(world.step(steering, throttle).image))
    return np.stack(images), actions


def _recorded_frames(tub: str) -> "tuple[np.ndarray, np.ndarray]":
    import numpy as np

    from donkey_aicc.nets.onnx_export import CHECKED_FRAMES
    from donkey_aicc.tubs.load import load_drives

    drive = load_drives([tub], tau=None).drives[0]
    chosen = np.unique(np.linspace(0, len(drive) - 1, CHECKED_FRAMES).astype(int))
    return np.asarray(drive.images)[chosen], np.asarray(drive.actions)[chosen]
