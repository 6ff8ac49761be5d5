"""donkey-aicc export-dataset: drives in the format of another community, with our scores, labels and confidence."""

import argparse
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donkey_aicc.replay.run import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tubs", nargs="+", metavar="TUB", help="tub folders, or folders that contain tubs; never changed")
    parser.add_argument("--lerobot", required=True, metavar="OUT", help="new folder: a LeRobotDataset v3 (Parquet and MP4)")
    parser.add_argument("--bundle", metavar="B", help="compute the scores with this bundle (default: as recorded, if they are)")
    parser.add_argument("--grade", help="grade of computed scores: full, half or light (default: the best)")
    parser.add_argument("--task", default="stay in the lane", help='what was driven, in words (default "stay in the lane")')
    parser.add_argument("--cache-dir", metavar="DIR", help="where computed scores are kept (default ~/.cache/donkey_aicc)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.errors import AiccError, ConfigError
    from donkey_aicc.files import remove_leftovers
    from donkey_aicc.replay.lerobot_dataset import libraries, write_dataset
    from donkey_aicc.tubs.find_tubs import find_tubs

    libraries()  # a missing one is said here, not after minutes of scoring
    out = Path(args.lerobot)
    if out.exists():
        raise AiccError(f"{out} is there already; name a new folder, or move it away")
    if args.grade and not args.bundle:
        raise ConfigError(f"--grade {args.grade} needs --bundle: recorded scores have the grade that the car chose")
    tubs = find_tubs(args.tubs)
    out.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(out)
    temporary = out.with_name(f".{out.stem}.{os.getpid()}-{secrets.token_hex(6)}{out.suffix}")
    temporary.mkdir()
    try:
        for said in write_dataset(_runs(args, tubs), temporary, args.task):
            print(said)
        temporary.rename(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    print(f'{out}: load it with LeRobotDataset("you/{out.name}", root="{out}")')
    return 0


def _runs(args: argparse.Namespace, tubs: list[Path]) -> "Iterator[Run]":
    from donkey_aicc.car.bundles import bundle_path, foreign_warning
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.replay.read_run import read_run
    from donkey_aicc.replay.score_run import score_run

    bundle = None if args.bundle is None else Bundle.load(bundle_path(args.bundle))
    for tub in tubs:
        run = read_run(tub)
        if bundle is not None:
            if (foreign := foreign_warning(args.bundle, bundle.manifest, run.home)) is not None:
                print(foreign, file=sys.stderr)
            run = score_run(run, bundle, args.cache_dir, args.grade)
        yield run
