"""`donkey-aicc record`: drives in the embedded simulator, as tubs."""

import argparse
from pathlib import Path

from donkey_aicc.commands.worker_arguments import add_worker_arguments, workers_of
from donkey_aicc.errors import AiccError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, help="folder for the tubs, one per drive")
    parser.add_argument("--track", default="loop", help="a named track or seed:N (default loop)")
    parser.add_argument("--drives", type=int, default=25, help="number of drives; with --faults, per severity (default 25)")
    parser.add_argument("--frames", default="500-1000", help="frames per drive: N, or FIRST-LAST drawn per drive")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result (default 0)")
    parser.add_argument("--model", default=None, help="pilot to drive with (default: the shipped one)")
    parser.add_argument("--expert", action="store_true", help="the expert drives instead of a pilot")
    parser.add_argument(
        "--faults",
        "--protocol",
        default=None,
        help="inject after 200 nominal frames: fault names, separated by commas; d_aug: all faults a calibrator may learn from",
    )
    parser.add_argument("--severity", default="1-5", help="severities to inject: N or FIRST-LAST (default 1-5)")
    add_worker_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.resources import models_dir
    from donkey_aicc.simulator.record_drives import plan_nominal, plan_protocol, record
    from donkey_aicc.simulator.tracks import make_track

    workers = workers_of(args)
    for name, value, least in (("--drives", args.drives, 1), ("--seed", args.seed, 0)):
        if value < least:
            raise AiccError(f"{name} must be >= {least}, got {value}")
    make_track(args.track)  # an unknown track should fail here, not in a worker
    first, last = number_range("--frames", args.frames)
    if args.faults is None:
        plans = plan_nominal(args.out, args.track, args.drives, (first, last), args.seed)
    else:
        low, high = number_range("--severity", args.severity)
        wanted = [(fault, range(low, high + 1)) for fault in fault_names(args.faults)]
        plans = [
            plan
            for fault, severities in wanted
            for plan in plan_protocol(args.out, args.track, fault, severities, args.drives, last, args.seed)
        ]
    model = None if args.expert else Path(args.model or models_dir() / "pilot")
    if model is not None:
        from donkey_aicc.nets.vision_pilot import pilot_weights

        pilot_weights(model)
    new = record(plans, model, workers)
    frames = sum(plan.frames for plan in plans)
    print(f"{len(plans)} tubs with {frames} frames in {args.out} ({new} new, {len(plans) - new} were there)")
    return 0


def fault_names(text: str) -> list[str]:
    """'fog,grip' -> both; 'd_aug' -> every fault that is no test protocol."""
    from donkey_aicc.errors import one_of
    from donkey_aicc.faults.protocols import D_AUG_DRIVEN, FAULTS

    names = list(D_AUG_DRIVEN) if text == "d_aug" else [name.strip() for name in text.split(",")]
    for name in names:
        one_of("--faults", name, ("d_aug", *FAULTS))
    return names


def number_range(name: str, text: str) -> tuple[int, int]:
    """'5' -> (5, 5), '500-1000' -> (500, 1000)."""
    pieces = text.split("-")
    numbers = len(pieces) <= 2 and all(piece.isdecimal() and len(piece) < 10 for piece in pieces)
    if not numbers or not 1 <= int(pieces[0]) <= int(pieces[-1]):
        raise AiccError(f"{name} must be N or FIRST-LAST with 1 <= FIRST <= LAST, got {text!r}")
    return int(pieces[0]), int(pieces[-1])
