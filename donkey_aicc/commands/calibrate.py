"""`donkey-aicc calibrate`: fit the confidence calibrator of a bundle on its calibration drives and D_aug."""

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.commands.label_arguments import add_bundle_label_arguments, bundle_labels
from donkey_aicc.commands.worker_arguments import add_worker_arguments, workers_of

if TYPE_CHECKING:
    from donkey_aicc.nets.manifest import Manifest
    from donkey_aicc.tubs.drive import Drive


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", required=True, help="trained bundle; calibrator.json is written into it")
    parser.add_argument("--data", nargs="+", required=True, help="the nominal tubs the bundle was trained on")
    parser.add_argument(
        "--driven",
        nargs="+",
        default=[],
        metavar="TUBS",
        help="drives in closed loop under faults of D_aug, for the hazard (donkey-aicc record --faults d_aug)",
    )
    parser.add_argument(
        "--alarm-drives",
        nargs="+",
        default=[],
        metavar="TUBS",
        help="fresh nominal laps, only for the alarm's thresholds: with n of them it can promise 1 false alarm in n + 1 laps",
    )
    parser.add_argument(
        "--add",
        nargs="+",
        default=[],
        metavar="TUBS",
        help="nominal drives of another day, for the scales of scores and alarm; no net is trained again; it says what they buy",
    )
    parser.add_argument("--method", default=None, help="row of the calibrator catalogue (default: the package's default)")
    parser.add_argument(
        "--scores",
        nargs="+",
        default=[],
        metavar="NAME",
        help="registered anomaly scores of your own to use too (docs/extend.md)",
    )
    parser.add_argument("--seed", type=int, default=0, help="same seed, same calibrator (default 0)")
    parser.add_argument("--samples", type=int, default=20, metavar="S", help="dropout samples of the dynamics (default 20)")
    parser.add_argument("--rollout-every", type=int, default=10, metavar="N", help="frames between rollouts (default 10)")
    parser.add_argument("--grade", default="full", help="best grade to fit: full (default; fits half and light too) or light")
    add_worker_arguments(parser)
    parser.add_argument("--picture", default=None, help="before-and-after picture (default: BUNDLE/calibration.png)")
    parser.add_argument("--cache-dir", default=None, help="folder for decoded frames and scores (default: the user's cache)")
    add_bundle_label_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from donkey_aicc.alarm.alarm_fit import NominalDrives
    from donkey_aicc.alarm.pieces import Piece
    from donkey_aicc.calibration.another_day import what_it_buys
    from donkey_aicc.calibration.augmented_drives import build_augmented
    from donkey_aicc.calibration.calibrating import calibrate_bundle, calibration_drives, fit_scores_only
    from donkey_aicc.calibration.catalogue import DEFAULT_METHOD, PLUS, check_drivable
    from donkey_aicc.calibration.score_cache import score_once
    from donkey_aicc.evaluation.figures.reliability_figures import draw_before_after
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.scoring.nominal_distance import too_few_drives
    from donkey_aicc.scoring.own_scores import OwnScores
    from donkey_aicc.scoring.restored_view import Restoration
    from donkey_aicc.scoring.score_table import concatenate
    from donkey_aicc.scoring.settings import LIGHT, ScoreSettings
    from donkey_aicc.tubs.laps import find_lap
    from donkey_aicc.tubs.load import load_drives

    method = args.method or PLUS.join([DEFAULT_METHOD, *args.scores])
    check_drivable("--method", method)
    OwnScores(args.scores, 1)  # one that is not registered is refused now
    workers, bundle = workers_of(args), Bundle.load(args.bundle)
    manifest = bundle.manifest
    loaded = load_drives(args.data, cache_dir=args.cache_dir, **bundle_labels(args, manifest))
    drives = calibration_drives(bundle, loaded.drives)
    if bundle.has_predictor:
        _require_labels(drives, manifest)
    settings = ScoreSettings(
        samples=args.samples, rollout_every=args.rollout_every, context=manifest.context, own=tuple(args.scores)
    )
    if bundle.has_predictor:  # what is nominal of a picture, so that one changed by a fault can be brought back to it
        settings = replace(settings, restoration=Restoration.measure(bundle, [drive.images for drive in drives]))
    settings = settings.at_grade(args.grade)
    score = partial(score_once, cache_dir=args.cache_dir)
    nominal = score(bundle, drives, settings=settings, workers=workers, title="scoring calibration drives")
    options = bundle_labels(args, manifest) | {"cache_dir": args.cache_dir}

    def scored(tubs: list[str], title: str, settings: ScoreSettings, driving_only: bool) -> Any:
        if not tubs:
            return None
        found = load_drives(tubs, driving_only=driving_only, **options).drives
        return score(bundle, found, settings=settings, workers=workers, title=title)

    cheap = settings.at_grade(LIGHT)  # the alarm does not look ahead
    fresh = scored(args.alarm_drives, "scoring drives for the alarm", cheap, driving_only=True)

    def side(names: tuple[str, ...], title: str, settings: ScoreSettings) -> Any:
        chosen = [
            drive for name in names if manifest.split.get(name) for drive in calibration_drives(bundle, loaded.drives, name)
        ]
        return score(bundle, chosen, settings=settings, workers=workers, title=title) if chosen else None

    aside = side(("test",), "scoring drives kept aside", cheap)  # the promise is checked on them, nothing is fitted
    seen = side(("train", "validation"), "scoring drives of the training for the alarm", replace(cheap, views=1))
    lap = find_lap(loaded.drives)
    others = NominalDrives(seen, fresh, aside, Piece(lap.frames, lap.seconds, lap=True) if lap else Piece())
    if args.add:
        options["labels_csv"] = None  # it speaks of the tubs the bundle was trained on
        added = scored(args.add, "scoring added drives", settings, driving_only=True)
        print("\n".join(what_it_buys(nominal, added, others)))
        nominal = concatenate([nominal, added])
    if not bundle.has_predictor:
        calibrator, path = fit_scores_only(bundle, nominal, settings, others)
        frames, count = int(nominal.valid.sum()), len(np.unique(nominal.sequence[nominal.valid]))
        print(f"what is nominal measured on {frames} frames of {count} drives: rho, delta and the alarm")
        if few := too_few_drives(count):
            print(f"warning: {few}")
        if calibrator.alarm is not None:
            print("\n".join(calibrator.alarm.statements()))
        print(f"  the bundle was trained without labels: no confidence\nwritten to {path}")
        return 0
    augmented = build_augmented(bundle, drives, settings, args.seed, workers, score=score)
    # under a fault a car that stands is stuck, which belongs to the drive
    augmented = replace(augmented, driven=scored(args.driven, "scoring driven faults", settings, driving_only=False))
    result = calibrate_bundle(bundle, nominal, augmented, settings, method, args.seed, others)
    picture = Path(args.picture) if args.picture else Path(args.bundle) / "calibration.png"
    draw_before_after(result.calibrator, result.pool, picture)
    _tell(result, picture)
    return 0


def _require_labels(drives: "list[Drive]", manifest: "Manifest") -> None:
    """Before minutes of scoring: a label file is not kept in the bundle, so it must be given again."""
    import numpy as np

    from donkey_aicc.errors import AiccError

    if not any(np.isfinite(drive.safe).any() for drive in drives):
        file = manifest.data.get("label_file", {}).get("name")
        advice = f"give the file it was trained with: --labels {file}" if file else "give --labels, or train with --no-labels"
        raise AiccError(f"not one frame of the {len(drives)} calibration drives has a safety label; {advice}")


def _tell(result: Any, picture: Path) -> None:
    print(f"{result.calibrator.label} fitted on {len(result.pool.nominal)} nominal and {len(result.pool.augmented)} D_aug frames")
    for name, value in result.about["summary"].items():
        print(f"  {name}: {value}")
    for statement in result.about["alarm"]:
        print(f"  {statement}")
    for warning in result.about["warnings"]:
        print(f"  warning: {warning}")
    print(f"written to {result.path} for the grades {', '.join(result.grades)}; picture in {picture}")
