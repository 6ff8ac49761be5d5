"""The arguments about labels, for every command that reads them."""

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from donkey_aicc.nets.manifest import Manifest


def add_label_arguments(parser: argparse.ArgumentParser) -> None:
    """The options every command has that reads labels."""
    parser.add_argument(
        "--label-source",
        default="auto",
        choices=["auto", "cte", "csv", "takeover", "mark"],
        help="where labels come from (default: the best source in the tub)",
    )
    parser.add_argument(
        "--tau",
        default="auto",
        type=tau_value,
        help="safe means |cte - centre| <= tau, in the unit of the recorded cte; auto makes about half of the frames safe",
    )
    parser.add_argument("--cte-centre", type=float, default=0.0, metavar="C", help="cte of the middle of the road (default 0)")
    parser.add_argument(
        "--lane-half-width",
        type=float,
        metavar="W",
        help="|cte - centre| beyond it is a departure, in the unit of the recorded cte (default: as stored in the tub)",
    )
    parser.add_argument("--labels", metavar="CSV", help="label file with the columns index and cte or safe")
    parser.add_argument(
        "--listed-only",
        action="store_true",
        help="leave out records in catalogs that a tub's manifest does not list: an earlier recording with its deletions lost",
    )


def add_bundle_label_arguments(parser: argparse.ArgumentParser) -> None:
    """The same for commands that read tubs for a trained bundle, which has its own tau and centre."""
    add_label_arguments(parser)
    parser.set_defaults(tau=None, cte_centre=None)
    parser.epilog = "Without --tau and --cte-centre the labels use the values the bundle was trained with."


def label_options(args: argparse.Namespace) -> dict[str, Any]:
    """What `add_label_arguments` read, as options of `load_drives`."""
    return {
        "label_source": args.label_source,
        "tau": args.tau,
        "cte_centre": args.cte_centre,
        "labels_csv": args.labels,
        "lane_half_width": args.lane_half_width,
        "listed_only": args.listed_only,
    }


def bundle_labels(args: argparse.Namespace, manifest: "Manifest") -> dict[str, Any]:
    """The same for a bundle, which has its own tau, centre and lane."""
    options = label_options(args)
    own = {"tau": manifest.tau, "cte_centre": manifest.cte_centre}
    options |= {name: value for name, value in own.items() if options[name] is None}
    options["listed_only"] |= bool(manifest.data.get("listed_only"))
    return options | {"lane_half_width": args.lane_half_width or manifest.lane_half_width}


def tau_value(word: str) -> float | str:
    """The argument of --tau: a number > 0, or the word auto."""
    if word == "auto":
        return word
    try:
        tau = float(word)
    except ValueError:
        tau = float("nan")
    if not 0 < tau < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number > 0 or auto, got {word!r}")
    return tau
