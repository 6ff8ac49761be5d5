"""donkey-aicc train: tubs in, model bundle out."""

import argparse
from pathlib import Path

from donkey_aicc.commands.check import add_label_arguments


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
    parser.add_argument("--seed", type=int, default=0, help="of the split and of all training randomness (default 0)")
    parser.add_argument("--device", default="auto", help="auto (a GPU if there is one), cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")
    parser.add_argument("--resume", action="store_true", help="go on where an interrupted training stopped")
    parser.add_argument("--cache-dir", metavar="DIR", help="where decoded frames are kept (default ~/.cache/donkey_aicc)")


def run(args: argparse.Namespace) -> int:
    import torch

    from donkey_aicc.commands.info import describe
    from donkey_aicc.data.load import load_sequences
    from donkey_aicc.errors import ConfigError
    from donkey_aicc.training.pipeline import Plan, train_bundle
    from donkey_aicc.training.presets import preset_named

    preset, overrides = preset_named(args.preset, args.overrides)
    if args.threads is not None:
        if args.threads < 1:
            raise ConfigError(f"--threads must be >= 1, got {args.threads}")
        torch.set_num_threads(args.threads)
    loaded = load_sequences(
        args.data,
        label_source=args.label_source,
        tau=args.tau,
        cte_centre=args.cte_centre,
        labels_csv=args.labels,
        cache_dir=args.cache_dir,
    )
    plan = Plan(
        preset=preset,
        out=Path(args.out),
        overrides=overrides,
        seed=args.seed,
        device=args.device,
        resume=args.resume,
        tau=loaded.tau,
        cte_centre=args.cte_centre,
        data={"label_source": args.label_source, "tubs": sorted({sequence.tub for sequence in loaded.sequences})},
    )
    manifest = train_bundle(loaded.sequences, plan)
    if manifest.files:  # only the first of several processes wrote the bundle
        print(describe(plan.out, manifest))
        print(f"curves and pictures: {plan.work}")
    return 0
