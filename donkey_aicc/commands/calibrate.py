"""`donkey-aicc calibrate`: fit the confidence calibrator of a bundle on its calibration drives and D_aug."""

import argparse
from pathlib import Path
from typing import Any

from donkey_aicc.commands.check import add_bundle_label_arguments, bundle_labels


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", required=True, help="trained bundle; calibrator.json is written into it")
    parser.add_argument("--data", nargs="+", required=True, help="the nominal tubs the bundle was trained on")
    parser.add_argument("--method", default=None, help="row of the calibrator catalogue (default: the package's default)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same calibrator (default 0)")
    parser.add_argument("--workers", type=int, default=2, help="scoring processes (default 2)")
    parser.add_argument("--picture", default=None, help="before-and-after picture (default: BUNDLE/calibration.png)")
    parser.add_argument("--cache-dir", default=None, help="folder for decoded frames (default: the user's cache)")
    add_bundle_label_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.bundle import Bundle
    from donkey_aicc.calibrating import DEFAULT_METHOD, build_augmented, calibrate_bundle, calibration_sequences
    from donkey_aicc.calibration.catalogue import ROW_NAMES
    from donkey_aicc.data.load import load_sequences
    from donkey_aicc.errors import one_of
    from donkey_aicc.evaluation.figures.before_after import draw_before_after
    from donkey_aicc.scoring.parallel import score_sequences
    from donkey_aicc.scoring.score import ScoreSettings

    method = args.method or DEFAULT_METHOD
    one_of("--method", method, ROW_NAMES)
    bundle = Bundle.load(args.bundle)
    manifest = bundle.manifest
    loaded = load_sequences(args.data, cache_dir=args.cache_dir, **bundle_labels(args, manifest))
    drives = calibration_sequences(bundle, loaded.sequences)
    settings = ScoreSettings(context=manifest.context)
    nominal = score_sequences(bundle, drives, settings=settings, workers=args.workers, title="scoring calibration drives")
    augmented = build_augmented(bundle, drives, settings, args.seed, args.workers)
    result = calibrate_bundle(bundle, nominal, augmented, method, args.seed)
    picture = Path(args.picture) if args.picture else Path(args.bundle) / "calibration.png"
    draw_before_after(result.calibrator, result.pool, picture)
    _tell(result, picture)
    return 0


def _tell(result: Any, picture: Path) -> None:
    print(f"{result.calibrator.label} fitted on {len(result.pool.nominal)} nominal and {len(result.pool.augmented)} D_aug frames")
    for name, value in result.about["summary"].items():
        print(f"  {name}: {value}")
    for warning in result.about["warnings"]:
        print(f"  warning: {warning}")
    print(f"written to {result.path}; picture in {picture}")
