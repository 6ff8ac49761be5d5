"""donkey-aicc score: tubs in, one row of scores per frame out."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from donkey_aicc.commands.label_arguments import add_bundle_label_arguments, bundle_labels
from donkey_aicc.commands.worker_arguments import add_worker_arguments, workers_of

if TYPE_CHECKING:
    import numpy as np

    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.scoring.score_table import ScoreTable
    from donkey_aicc.tubs.load import LoadedData


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tubs", nargs="+", metavar="TUB", help="tub folders, or folders that contain tubs")
    parser.add_argument("--bundle", required=True, metavar="BUNDLE", help="folder of the trained models")
    parser.add_argument("--out", required=True, metavar="FILE", help="score table to write, an .npz")
    parser.add_argument("--grade", help="grade of the scores: full, half or light (default: the best it has)")
    add_worker_arguments(parser)
    parser.add_argument("--lanes", type=int, default=8, metavar="L", help="sequences that run together in a worker (default 8)")
    parser.add_argument("--min-length", type=int, default=1, metavar="N", help="drop sequences of fewer frames (default 1)")
    parser.add_argument("--cache-dir", metavar="DIR", help="where decoded frames are kept (default ~/.cache/donkey_aicc)")
    add_bundle_label_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.calibration.calibrator_file import score_settings
    from donkey_aicc.car.bundles import bundle_path, foreign_warning
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.scoring.parallel import score_drives
    from donkey_aicc.scoring.score_table import check_score_path
    from donkey_aicc.scoring.settings import BatchSettings

    out = Path(args.out)
    check_score_path(out)
    batch, workers = BatchSettings(lanes=args.lanes), workers_of(args)
    bundle = Bundle.load(bundle_path(args.bundle))
    settings = score_settings(bundle, args.grade)
    loaded = _load(args, bundle)
    for home in sorted({tub.home for tub in loaded.report.tubs}):
        if (foreign := foreign_warning(args.bundle, bundle.manifest, home)) is not None:
            print(foreign, file=sys.stderr)
    table = score_drives(bundle, loaded.drives, settings=settings, batch=batch, workers=workers)
    table.save(out, _normalised(table, bundle, args.grade))
    print(_summary(table, bundle, out))
    return 0


def _normalised(table: "ScoreTable", bundle: "Bundle", grade: str | None) -> "dict[str, np.ndarray]":
    """rho and delta as the calibrator sees them (clipped) and unclipped; a bundle without a calibrator knows no scale."""
    if not bundle.calibrator_path.is_file():
        print("the bundle has no calibrator: rho and delta stay raw. Make one with: donkey-aicc calibrate")
        return {}
    from donkey_aicc.calibration.calibrator_file import load_calibrator

    statistics = load_calibrator(bundle, grade).statistics
    if statistics is None:
        return {}
    scores = statistics.scores(table)
    return {name: scores[name] for name in ("rho", "rho_z", "delta", "delta_z")}


def _load(args: argparse.Namespace, bundle: "Bundle") -> "LoadedData":
    from donkey_aicc.tubs.load import load_drives

    options = bundle_labels(args, bundle.manifest)
    return load_drives(args.tubs, min_length=args.min_length, cache_dir=args.cache_dir, **options)


def _summary(table: "ScoreTable", bundle: "Bundle", out: Path) -> str:
    import numpy as np

    ids = table.sequences()
    labelled = int(np.isfinite(table.labels).any(axis=1).sum())
    lines = [
        f"{len(table)} frames of {len(ids)} sequences -> {out}",
        f"  {int(table.valid.sum())} with a full context, {labelled} with a label",
    ]
    trained_on = set(bundle.manifest.split.get("train", ())).intersection(ids)
    if trained_on:
        lines.append(f"  note: the bundle was trained on {len(trained_on)} of these sequences; their scores look too good")
    return "\n".join(lines)
