"""donkey-aicc: parse, then call. What each command does lives in `donkey_aicc/commands/`."""

import argparse
import importlib
import sys
from collections.abc import Sequence

import donkey_aicc
from donkey_aicc.errors import AiccError

# name -> one line for `donkey-aicc --help`, in the order in which a newcomer meets them.
COMMANDS = {
    "demo": "make a car, drive it in the embedded simulator and draw what happened",
    "createcar": "make a car folder that drives the embedded simulator or your own hardware",
    "install": "add the parts to an existing donkeycar manage.py",
    "record": "drive in the embedded simulator and record tubs, nominal or under a fault",
    "protocols": "measure what each injected fault does to the driving, severity by severity",
    "check": "health report on recorded tubs: what can be used, what was lost and why",
    "overhead": "label a real car's tubs from a video of a camera above the track",
    "train": "train a model bundle (world model and safety predictor) from recorded tubs",
    "info": "say what is in a model bundle and how good it is",
    "calibrate": "fit the confidence calibrator of a bundle on its calibration drives and D_aug",
    "score": "score every frame of tubs with a bundle: predictions, anomaly scores and labels in one table",
    "evaluate": "measure a calibrated bundle on nominal and anomalous drives and write the report",
    "experiment": "record, train, calibrate and evaluate in the embedded simulator, down to the report",
    "transfer": "judge the bundle of one experiment on the drives of another, such as another track",
    "repetitions": "put the main numbers of several experiments in one file for the results page",
    "results": "write the results page of the documentation from a results.json",
    "train-pilot": "train a vision pilot from tubs, or from lessons in the embedded simulator",
    "check-pilot": "count a pilot's laps without a hit and how predictable its mistakes are",
}


def _module(name: str):
    return importlib.import_module(f"donkey_aicc.commands.{name.replace('-', '_')}")


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser; only the chosen command's module is imported and filled in."""
    parser = argparse.ArgumentParser(
        prog="donkey-aicc", description="Safety prediction with calibrated confidence for DonkeyCar."
    )
    parser.add_argument("--version", action="version", version=f"donkey_aicc {donkey_aicc.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, help_line in COMMANDS.items():
        sub = commands.add_parser(name, help=help_line, description=help_line[0].upper() + help_line[1:] + ".")
        if name == chosen:
            _module(name).add_arguments(sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; a user's mistake ends in one clear line and exit code 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    args = build_parser(chosen).parse_args(arguments)
    try:
        return _module(args.command).run(args)
    except AiccError as error:
        print(f"donkey-aicc {args.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"donkey-aicc {args.command}: interrupted", file=sys.stderr)
        return 130
