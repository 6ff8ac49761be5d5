"""donkey-aicc evaluate: every table and figure of the paper from a bundle and tubs."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.commands.label_arguments import add_bundle_label_arguments, bundle_labels
from donkey_aicc.commands.worker_arguments import add_worker_arguments, workers_of

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.scoring.score_table import ScoreTable
    from donkey_aicc.tubs.drive import Drive

SCORES_FOLDER = "scores"  # below the report's folder
ENOUGH_SESSIONS = 4  # of tubs that the bundle does not know; fewer are cut


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", required=True, metavar="BUNDLE", help="trained and calibrated models")
    parser.add_argument(
        "--nominal", nargs="+", metavar="TUB", help="the nominal tubs the bundle was trained on, or others of your own"
    )
    parser.add_argument(
        "--ood", nargs="+", metavar="NAME=TUB", help="tubs driven under each protocol, such as dark=data/dark blur=data/blur"
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the report; index.html is the page")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="random splits of the calibration drives (default 5)")
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="folds of the cross-fitted scores (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="same tables and seed, same results.json (default 0)")
    parser.add_argument("--draws", type=int, default=1000, metavar="N", help="resamples for the intervals (default 1000)")
    parser.add_argument(
        "--d-aug-frames", type=int, default=80, metavar="N", help="usable frames in each of the 55 pieces of D_aug (default 80)"
    )
    add_worker_arguments(parser)
    parser.add_argument("--cache-dir", metavar="DIR", help="for decoded frames and scores (default ~/.cache/donkey_aicc)")
    add_bundle_label_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.calibration.calibrator_file import load_calibrator
    from donkey_aicc.car.bundles import bundle_path
    from donkey_aicc.evaluation.figures.fault_figures import fault_pictures
    from donkey_aicc.evaluation.input_checks import check_counts
    from donkey_aicc.evaluation.report import check_report_folder, write_report
    from donkey_aicc.evaluation.study import evaluate
    from donkey_aicc.nets.bundle import Bundle

    check_counts(args.seeds, args.draws)
    check_report_folder(args.out)
    bundle = Bundle.load(bundle_path(args.bundle))
    calibrator = load_calibrator(bundle)  # a bundle without one, or with another bundle's, is refused here
    drives = _drives(args, bundle)
    calibration, augmented, test, ood = _scored(args, bundle, *drives)
    results = evaluate(
        calibration,
        augmented,
        test,
        ood,
        seeds=args.seeds,
        folds=args.folds,
        seed=args.seed,
        draws=args.draws,
        about={"bundle": bundle.path.name, "preset": bundle.manifest.preset},
        calibrator=calibrator,
    )
    page = write_report(results, args.out, faults=fault_pictures(*drives[1:]))
    for statement in results["summary"]:
        print(f"{statement['verdict']:>6}: {statement['text']}")
    print(f"report: {page}")
    return 0


def _scored(
    args: argparse.Namespace, bundle: "Bundle", calibration: "list[Drive]", test: "list[Drive]", ood: "dict[str, list[Drive]]"
) -> "tuple[ScoreTable, ScoreTable, ScoreTable, dict[str, ScoreTable]]":
    """Score everything that was not scored before; the tables are left beside the report for whoever wants to look into them."""
    from donkey_aicc.calibration.augmented_drives import build_augmented
    from donkey_aicc.calibration.calibrator_file import score_settings
    from donkey_aicc.calibration.score_cache import score_once
    from donkey_aicc.errors import ConfigError

    settings, workers = score_settings(bundle), workers_of(args)
    if args.d_aug_frames < 1:
        raise ConfigError(f"--d-aug-frames must be >= 1, got {args.d_aug_frames}")
    score = partial(score_once, cache_dir=args.cache_dir)

    def scored(name: str, drives: "list[Drive]") -> Any:
        return score(bundle, drives, settings=settings, workers=workers, title=f"scoring {name}")

    folder = Path(args.out) / SCORES_FOLDER
    # D_aug first, because it finds a predictor that is too weak to set severities by.
    augmented = build_augmented(bundle, calibration, settings, args.seed, workers, args.d_aug_frames, score=score).table
    nominal = scored("calibration drives", calibration), augmented, scored("nominal test drives", test)
    faulty = {name: scored(name, drives) for name, drives in ood.items()}
    names = ("calibration", "augmented", "test", *(f"ood_{name}" for name in ood))
    for name, table in zip(names, (*nominal, *faulty.values()), strict=True):
        table.save(folder / f"{name}.npz")
    return *nominal, faulty


def _drives(args: argparse.Namespace, bundle: "Bundle") -> "tuple[list[Drive], list[Drive], dict[str, list[Drive]]]":
    """Calibration, test and OOD drives; everything that can be known to be wrong without scoring is refused."""
    from donkey_aicc.calibration.calibrating import calibration_drives
    from donkey_aicc.evaluation.input_checks import as_protocol, check_drives, protocol_paths
    from donkey_aicc.tubs.load import load_drives
    from donkey_aicc.tubs.split_units import BLOCK, GUARD_S, SESSION, SplitMethod
    from donkey_aicc.tubs.splits import carve_validation, drives_by_id

    paths = protocol_paths(args.nominal, args.ood)
    options = bundle_labels(args, bundle.manifest) | {"cache_dir": args.cache_dir}
    nominal = load_drives(args.nominal, **options).drives
    its_own = [name for side in bundle.manifest.split.values() for name in side]  # training, too: those test nothing
    if set(drives_by_id(nominal, its_own, bundle.manifest.data.get("split", {}))) & set(its_own):
        calibration, test = (calibration_drives(bundle, nominal, side) for side in ("calibration", "test"))
    else:  # somebody's own tubs, which the bundle has never seen
        many = len({(drive.tub, drive.session) for drive in nominal}) >= ENOUGH_SESSIONS
        calibration, test, _ = carve_validation(nominal, args.seed, 0.5, SplitMethod(SESSION if many else BLOCK, GUARD_S))
        print("note: the bundle's own drives are not among these: half of them fit the calibrators, the other half tests them")
    ood = {name: as_protocol(load_drives(tubs, **options).drives, name) for name, tubs in paths.items()}
    notes = check_drives(
        nominal,
        calibration,
        test,
        ood,
        context=bundle.manifest.context,
        horizons=bundle.horizons,
        seeds=args.seeds,
        folds=args.folds,
        seed=args.seed,
    )
    for note in notes:
        print(f"note: {note}")
    return calibration, test, ood
