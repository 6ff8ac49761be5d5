"""`python -m studies experiment`: the paper's whole evaluation in the embedded simulator, from nothing to a report."""

import argparse

from donkey_aicc.commands.worker_arguments import add_worker_arguments, workers_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, help="folder of the experiment; running again goes on where it stopped")
    parser.add_argument("--preset", default="quick", help="paper, quick (default) or tiny")
    parser.add_argument("--track", default="loop", help="a named track or seed:N (default loop)")
    parser.add_argument("--seed", type=int, default=0, help="of the drives, and of the models unless --model-seed is given")
    parser.add_argument("--model-seed", type=int, default=None, help="of split, training and calibration")
    parser.add_argument("--pilot", default=None, help="pilot that drives (default: the shipped one)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="overrides", help="training setting")
    add_worker_arguments(parser)
    parser.add_argument(
        "--extras",
        action="store_true",
        help="also the imagined predictor, timings, and dynamics faults in closed and open loop",
    )
    parser.add_argument("--start", default=None, metavar="BUNDLE", help="train the world model of this bundle further")
    parser.add_argument("--data", default=None, help="folder of drives to share with other model seeds (default: OUT/data)")
    parser.add_argument("--until", default=None, help="stop after the stage of this name")


def run(args: argparse.Namespace) -> int:
    from studies.experiment import plan_experiment, run_experiment

    experiment = plan_experiment(
        args.out,
        args.preset,
        args.track,
        args.seed,
        args.model_seed,
        args.pilot,
        tuple(args.overrides),
        workers_of(args),
        args.start,
        args.extras,
        args.data,
    )
    run_experiment(experiment, args.until)
    if args.until is None:
        print(f"report: {experiment.layout.report / 'index.html'}")
    return 0
