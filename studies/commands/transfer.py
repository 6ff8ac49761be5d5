"""`python -m studies transfer`: the bundle of one experiment on the drives of another."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle-of", required=True, metavar="EXP", help="finished experiment whose bundle is judged")
    parser.add_argument("--drives-of", required=True, metavar="EXP", help="finished experiment whose drives it is judged on")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of scores and report; running again goes on")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="scoring processes (default 2)")


def run(args: argparse.Namespace) -> int:
    from studies.transfer import plan_transfer, run_transfer

    transfer = plan_transfer(args.bundle_of, args.drives_of, args.out, args.workers)
    for statement in run_transfer(transfer)["summary"]:
        print(f"{statement['verdict']:>6}: {statement['text']}")
    print(f"report: {transfer.out.report / 'index.html'}")
    return 0
