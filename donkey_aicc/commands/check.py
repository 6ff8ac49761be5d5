"""donkey-aicc check: the health of tubs, without changing a byte in them."""

import argparse
import json

from donkey_aicc.commands.label_arguments import add_label_arguments, label_options
from donkey_aicc.errors import printable
from donkey_aicc.limits import MAX_GAP_S


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tubs", nargs="+", metavar="TUB", help="tub folders, or folders that contain tubs")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--max-gap",
        type=float,
        default=MAX_GAP_S,
        metavar="S",
        help=f"cut a sequence at a longer time gap (default {MAX_GAP_S:g} s)",
    )
    parser.add_argument("--min-length", type=int, default=1, metavar="N", help="drop sequences of fewer frames (default 1)")
    add_label_arguments(parser)
    parser.add_argument("--cache-dir", metavar="DIR", help="where decoded frames are kept (default ~/.cache/donkey_aicc)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.tubs.load import load_drives

    report = load_drives(
        args.tubs,
        **label_options(args),
        max_gap_s=args.max_gap,
        min_length=args.min_length,
        cache_dir=args.cache_dir,
        must_be_usable=False,
    ).report
    print(json.dumps(report.to_json(), indent=2, allow_nan=False) if args.json else printable(report.to_text()))
    return report.exit_code
