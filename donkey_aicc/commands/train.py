"""donkey-aicc train: tubs in, model bundle out."""

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.commands.label_arguments import add_label_arguments, label_options
from donkey_aicc.nets.manifest import HISTORY, NO_PREDICTOR, SINGLE
from donkey_aicc.tubs.home import REAL_CAR

if TYPE_CHECKING:
    from donkey_aicc.tubs.load import LoadedData

AUTO = "auto"
PREDICTORS = {"direct": SINGLE, "history": HISTORY}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help="tub folders, or folders that contain tubs")
    parser.add_argument("--out", required=True, metavar="BUNDLE", help="folder of the bundle to write, such as models/mine")
    parser.add_argument("--preset", default="quick", help="paper, quick (default) or tiny")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="overrides",
        help="override one training setting, such as vae.epochs=3; may be repeated; an unknown name lists them all",
    )
    add_label_arguments(parser)
    parser.add_argument(
        "--no-labels",
        action="store_true",
        help="world model only: rho, delta and the alarm, without safety predictor and confidence",
    )
    parser.add_argument(
        "--predictor",
        default=AUTO,
        metavar="KIND",
        help="direct: looks at the newest frame; history: also at two older ones and the steering (default: history for a real "
        "car's drives, direct for a simulator's); or the name of a registered predictor of your own, for which only the world "
        "model is trained (docs/extend.md)",
    )
    parser.add_argument(
        "--start",
        default=None,
        metavar="BUNDLE",
        help="train the world model of this bundle further instead of a new one: a track like its own needs fewer epochs",
    )
    parser.add_argument(
        "--split",
        default="auto",
        choices=["auto", "session", "gap", "block"],
        help="split by whole tub sessions, by stretches far apart in time, or by blocks of long drives (default: the strictest "
        "that the data allows)",
    )
    parser.add_argument("--guard", type=float, default=3.0, metavar="S", help="seconds between two sides (default 3)")
    parser.add_argument("--seed", type=int, default=0, help="for the split and all training randomness (default 0)")
    parser.add_argument("--device", default="auto", help="auto (a GPU if there is one), cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")
    parser.add_argument("--resume", action="store_true", help="go on where an interrupted training stopped")
    parser.add_argument("--cache-dir", metavar="DIR", help="where decoded frames are kept (default ~/.cache/donkey_aicc)")


def run(args: argparse.Namespace) -> int:
    import torch

    from donkey_aicc.commands.info import describe
    from donkey_aicc.errors import ConfigError, one_of
    from donkey_aicc.nets.manifest import read_manifest
    from donkey_aicc.nets.own_predictor import OWN_PREDICTORS
    from donkey_aicc.nets.use_predictor import use_predictor
    from donkey_aicc.training.pipeline import Plan, train_bundle
    from donkey_aicc.training.presets import preset_named
    from donkey_aicc.tubs.load import load_drives

    preset, overrides = preset_named(args.preset, args.overrides)
    one_of("--predictor", args.predictor, (AUTO, *PREDICTORS, *OWN_PREDICTORS))
    own = args.predictor in OWN_PREDICTORS and not args.no_labels
    if args.threads is not None:
        if args.threads < 1:
            raise ConfigError(f"--threads must be >= 1, got {args.threads}")
        torch.set_num_threads(args.threads)
    loaded = load_drives(
        args.data,
        **label_options(args),
        cache_dir=args.cache_dir,
        driving_only=True,
    )
    _say_left_out(loaded)
    data = _origin(args, loaded)
    plan = Plan(
        preset=preset,
        out=Path(args.out),
        overrides=overrides,
        seed=args.seed,
        device=args.device,
        resume=args.resume,
        predictor=NO_PREDICTOR if args.no_labels or own else predictor_for(args.predictor, data["homes"]),
        start=None if args.start is None else Path(args.start),
        split_mode=args.split,
        guard_s=args.guard,
        tau=loaded.tau,
        cte_centre=args.cte_centre,
        lane_half_width=loaded.lane_half_width,
        data=data,
    )
    manifest = train_bundle(loaded.drives, plan)
    if manifest.files:  # only the first of several processes wrote the bundle
        if own:
            use_predictor(plan.out, args.predictor, plan.out)
        print(describe(plan.out, read_manifest(plan.out)))
        print(f"curves and pictures: {plan.work}")
    return 0


def predictor_for(asked: str, homes: Collection[str]) -> str:
    """A person at the wheel of a fast car is foreseen better from some frames than from one; in the simulators the far horizons
    are not (docs/training.md)."""
    if asked != AUTO:
        return PREDICTORS[asked]
    return HISTORY if set(homes) == {REAL_CAR} else SINGLE


def _say_left_out(loaded: "LoadedData") -> None:
    count = sum(tub.not_driving for tub in loaded.report.tubs)
    if count:
        print(f"left out {count} frames in which the car is parked or carried", flush=True)


def _origin(args: argparse.Namespace, loaded: "LoadedData") -> dict[str, Any]:
    """On which tubs and labels the bundle is trained, for its manifest."""
    from donkey_aicc.files import sha256_of

    found: dict[str, Any] = {"label_source": args.label_source, "tubs": sorted({one.tub for one in loaded.drives})}
    found["labels"] = "none" if args.no_labels else ", ".join(sorted({tub.label_source for tub in loaded.report.tubs}))
    if args.labels and not args.no_labels:
        found["label_file"] = {"name": Path(args.labels).name, "sha256": sha256_of(Path(args.labels))}
    rates = [tub.rate_hz for tub in loaded.report.tubs if tub.rate_hz > 0]
    found["rate_hz"] = round(min(rates), 2) if rates else None
    found["listed_only"] = args.listed_only
    found["homes"] = sorted({tub.home for tub in loaded.report.tubs})
    found["not_driving"] = sum(tub.not_driving for tub in loaded.report.tubs)
    return found
