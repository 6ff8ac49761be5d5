"""Who works: the two arguments of every command that spreads its work."""

import argparse
import os
from typing import TYPE_CHECKING

from donkey_aicc.errors import ConfigError

if TYPE_CHECKING:
    from donkey_aicc.workers import Workers


def add_worker_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, metavar="N", help="processes, one core each (default: all cores)")
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="work on the Dask cluster of this scheduler instead, such as tcp://host:8786"
    )


def workers_of(args: argparse.Namespace) -> "Workers":
    """A number of processes, or the address of a scheduler."""
    if args.workers is not None and args.workers < 1:
        raise ConfigError(f"--workers must be >= 1, got {args.workers}")
    return args.cluster or args.workers or os.cpu_count() or 1
