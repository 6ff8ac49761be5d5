"""`python -m studies predictors`: the predictor that sees one frame against the one with history, on the same drives."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help="tub folders, or folders that contain tubs")
    parser.add_argument("--labels", metavar="CSV", help="label file, for a tub without cte")
    parser.add_argument("--another-day", metavar="TUB", help="judge them on this tub, too")
    parser.add_argument("--another-day-labels", metavar="CSV", help="its label file; its cte is judged by the tau of DATA")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of checkpoints and predictors.json; resumable")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="overrides", help="such as safety.epochs=6"
    )
    parser.add_argument("--seed", type=int, default=0, help="of split and training (default 0)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="CPU threads (default 1)")
    parser.add_argument("--cache-dir", metavar="DIR", help="where decoded frames are kept")


def run(args: argparse.Namespace) -> int:
    import torch

    from donkey_aicc.training.presets import preset_named
    from donkey_aicc.tubs.load import load_drives
    from studies.predictor_kinds import compare_predictors, describe_kinds

    torch.set_num_threads(args.threads)
    preset, _ = preset_named("quick", args.overrides)
    loaded = load_drives(args.data, labels_csv=args.labels, cache_dir=args.cache_dir, driving_only=True)
    other = []
    if args.another_day:
        own = {"labels_csv": args.another_day_labels, "tau": loaded.tau or "auto", "cache_dir": args.cache_dir}
        other = load_drives([args.another_day], driving_only=True, **own).drives
    results = compare_predictors(loaded.drives, Path(args.out), preset.safety, args.seed, another_day=other)
    print("\n".join(describe_kinds(results)))
    return 0
