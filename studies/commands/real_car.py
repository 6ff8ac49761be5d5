"""`python -m studies real-car`: the whole monitor on a real car's tub, natural shift included."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", required=True, nargs="+", metavar="TUB", help="nominal tubs of one car on one track")
    parser.add_argument(
        "--labels", metavar="CSV", help="index and safe (or cte) of every record; not needed if the tub has pos/cte"
    )
    for kind in ("day", "track", "room"):
        option, what = f"--another-{kind}", f"a further tub as natural shift: another {kind}; TUB or TUB,LABELS.csv; repeatable"
        parser.add_argument(option, action="append", default=[], metavar="TUB", help=what)
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the study; running again goes on where it stopped")
    parser.add_argument("--size", default="quick", help="quick (default), short: for a busy machine, or tiny: for tests")
    parser.add_argument(
        "--predictor", default="history", choices=["direct", "history"], help="kind in the bundle (default history)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="overrides", help="training setting")
    parser.add_argument("--seed", type=int, default=0, help="of split, training and calibration (default 0)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="scoring processes (default 1)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="training threads (default 1)")
    parser.add_argument("--page", metavar="FILE", help="also write the results page, with its small pictures beside it")
    parser.add_argument("--source", default="", metavar="TEXT", help="whose recording the pictures show, for the page")


def run(args: argparse.Namespace) -> int:
    import torch

    from studies.real_car.page import write_page
    from studies.real_car.plan import SHIFTS, parse_shift, plan_real_car
    from studies.real_car.run import run_real_car

    torch.set_num_threads(args.threads)
    shifts = [parse_shift(kind, text) for kind in SHIFTS for text in getattr(args, kind)]
    study = plan_real_car(
        args.out, args.data, args.labels, shifts, args.size, args.predictor, tuple(args.overrides), args.seed, args.workers
    )
    results = run_real_car(study)
    for goal in results["goals"]:
        verdict = {True: "met", False: "missed", None: "unknown"}[goal["met"]]
        print(f"{verdict:>7}: {goal['text']}: {goal['measured']} ({goal['wanted']})")
    print(f"results: {study.layout.report / 'real_car.json'}")
    if args.page:
        write_page(Path(args.page), results, study.layout.report, args.source)
    return 0
