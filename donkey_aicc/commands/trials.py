"""`donkey-aicc trials`: many short drives of several agents, with and without faults, in tables."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, help="folder for the tables; the same command goes on where it stopped")
    parser.add_argument("--n", type=int, default=50, help="trials of every agent under every fault (default 50)")
    parser.add_argument("--agents", default="pilot", help="separated by commas: expert, pilot, or models (default pilot)")
    parser.add_argument(
        "--faults",
        action="append",
        default=[],
        metavar="WHAT",
        help="such as dark:3@10s or none; may be repeated, each is a condition of its own (default: none)",
    )
    parser.add_argument("--track", default="loop", help="a named track or seed:N (default loop)")
    parser.add_argument("--frames", type=int, default=600, help="most ticks of a trial, 20 in a second (default 600)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same trials (default 0)")
    parser.add_argument("--bundle", default=None, help="let the monitor of this bundle watch (default: nobody does)")
    parser.add_argument("--grade", default="full", help="how the monitor scores: full, half or light (default full)")
    parser.add_argument(
        "--governor", default="off", choices=("off", "slow", "stop"), help="what the governor may do (default off)"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--cluster", default=None, metavar="ADDRESS", help="scheduler of a Dask cluster, instead of processes")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.car.bundles import bundle_path
    from donkey_aicc.car.template import find_model
    from donkey_aicc.errors import AiccError
    from donkey_aicc.trials.campaign import Campaign, run_campaign
    from donkey_aicc.trials.one_trial import EXPERT, PILOT

    if args.workers < 1:
        raise AiccError(f"--workers must be >= 1, got {args.workers}")
    named = [name.strip() for name in args.agents.split(",")]
    agents = tuple(name if name in (EXPERT, PILOT) else str(find_model(name).resolve()) for name in named)
    faults = tuple("" if text == "none" else text for text in args.faults or ["none"])
    bundle = None if args.bundle is None else str(bundle_path(args.bundle).resolve())
    campaign = Campaign(agents, faults, args.n, args.track, args.seed, args.frames, bundle, args.grade, args.governor)
    told = run_campaign(campaign, args.out, args.cluster or args.workers)
    print(told.read_text(encoding="utf-8") + f"tables in {Path(args.out)}: trials.csv, frames.csv, summary.md")
    return 0
