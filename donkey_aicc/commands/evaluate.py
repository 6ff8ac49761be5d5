"""donkey-aicc evaluate: every table and figure of the paper from a bundle and tubs, or from score tables made before."""

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from donkey_aicc.bundle import Bundle
    from donkey_aicc.data.sequence import Sequence
    from donkey_aicc.evaluation.score_files import ScoreFiles


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", required=True, metavar="BUNDLE", help="trained and calibrated models")
    parser.add_argument("--nominal", nargs="+", metavar="TUB", help="the nominal tubs the bundle was trained on")
    parser.add_argument(
        "--ood", nargs="+", metavar="NAME=TUB", help="tubs driven under each protocol, such as dark=data/dark blur=data/blur"
    )
    parser.add_argument("--scores-dir", metavar="DIR", help="use the score tables in here instead of scoring tubs")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the report; index.html is the page")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="random splits of the calibration drives (default 5)")
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="folds of the cross-fitted scores (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="same tables and seed, same results.json (default 0)")
    parser.add_argument("--draws", type=int, default=1000, metavar="N", help="resamples for the intervals (default 1000)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="scoring processes (default 2)")
    parser.add_argument("--cache-dir", metavar="DIR", help="where decoded frames are kept (default ~/.cache/donkey_aicc)")
    parser.add_argument("--departed", type=float, metavar="CTE", help="|cte| beyond which the car has left its lane (lead times)")
    parser.add_argument("--rate", type=float, default=20.0, metavar="HZ", help="frames per second of the drives (default 20)")
    parser.add_argument("--frames-per-lap", type=float, metavar="N", help="to count false alarms per lap, not per 1000 frames")
    parser.add_argument("--no-runtime", action="store_true", help="do not time the components")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.bundle import Bundle
    from donkey_aicc.calibrator_file import load_calibrator
    from donkey_aicc.evaluation.early_warning import Driving
    from donkey_aicc.evaluation.report import write_report
    from donkey_aicc.evaluation.study import evaluate

    driving = None if args.departed is None else Driving(args.departed, args.rate, args.frames_per_lap)
    bundle = Bundle.load(args.bundle)
    load_calibrator(bundle)  # a bundle without one, or with another bundle's, is refused here
    tables = _from_folder(args, bundle) if args.scores_dir else _from_tubs(args, bundle)
    notes = [] if tables.marked else ["The score tables do not say which bundle made them; that could not be checked."]
    results = evaluate(
        tables.calibration,
        tables.augmented,
        tables.test,
        tables.ood,
        seeds=args.seeds,
        folds=args.folds,
        seed=args.seed,
        draws=args.draws,
        driving=driving,
        imagined=tables.imagined,
        runtime=None if args.no_runtime else _runtime(bundle, tables),
        about={"bundle": bundle.path.name, "preset": bundle.manifest.preset},
        notes=notes,
    )
    page = write_report(results, args.out)
    for statement in results["summary"]:
        print(f"{statement['verdict']:>6}: {statement['text']}")
    print(f"report: {page}")
    return 0


def _from_folder(args: argparse.Namespace, bundle: "Bundle") -> "ScoreFiles":
    from donkey_aicc.calibrator_file import weights_fingerprint
    from donkey_aicc.errors import ConfigError
    from donkey_aicc.evaluation.score_files import load_scores

    if args.nominal or args.ood:
        raise ConfigError("--scores-dir replaces --nominal and --ood; give one or the other")
    return load_scores(args.scores_dir, weights_fingerprint(bundle))


def _from_tubs(args: argparse.Namespace, bundle: "Bundle") -> "ScoreFiles":
    from donkey_aicc.calibrating import build_augmented
    from donkey_aicc.evaluation.score_files import ScoreFiles
    from donkey_aicc.scoring.imagined import imagine_sequences
    from donkey_aicc.scoring.parallel import score_sequences
    from donkey_aicc.scoring.score import ScoreSettings

    calibration, test, ood = _drives(args, bundle)
    settings = ScoreSettings(context=bundle.manifest.context)

    def scored(name: str, drives: "list[Sequence]") -> Any:
        return score_sequences(bundle, drives, settings=settings, workers=args.workers, title=f"scoring {name}")

    return ScoreFiles(
        calibration=scored("calibration drives", calibration),
        augmented=build_augmented(bundle, calibration, settings, args.seed, args.workers).table,
        test=scored("nominal test drives", test),
        ood={name: scored(name, drives) for name, drives in ood.items()},
        marked=True,
        imagined=imagine_sequences(bundle, sum(ood.values(), test), context=settings.context),
    )


def _drives(args: argparse.Namespace, bundle: "Bundle") -> "tuple[list[Sequence], list[Sequence], dict[str, list[Sequence]]]":
    """Calibration, test and OOD drives; everything that can be known to be wrong without scoring is refused."""
    from donkey_aicc.calibrating import calibration_sequences
    from donkey_aicc.data.load import load_sequences
    from donkey_aicc.evaluation.drive_checks import as_protocol, check_drives, protocol_paths

    paths = protocol_paths(args.nominal, args.ood)
    manifest = bundle.manifest
    options: dict[str, Any] = {"tau": manifest.tau, "cte_centre": manifest.cte_centre, "cache_dir": args.cache_dir}
    nominal = load_sequences(args.nominal, **options).sequences
    calibration, test = (calibration_sequences(bundle, nominal, side) for side in ("calibration", "test"))
    ood = {name: as_protocol(load_sequences(tubs, **options).sequences, name) for name, tubs in paths.items()}
    check_drives(nominal, calibration, test, ood, bundle.manifest.context, args.folds)
    return calibration, test, ood


def _runtime(bundle: "Bundle", tables: "ScoreFiles") -> dict[str, Any]:
    from donkey_aicc.calibrating import fit_calibrator
    from donkey_aicc.evaluation.runtime import measure_runtime

    names = ("temperature", "tta_rho_delta", "dac")
    return measure_runtime(bundle, {name: fit_calibrator(tables.calibration, tables.augmented, name)[0] for name in names})
