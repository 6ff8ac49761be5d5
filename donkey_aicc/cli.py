"""donkey-aicc: parse, then call. What each command does lives in `donkey_aicc/commands/`."""

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn

import donkey_aicc
from donkey_aicc.errors import LONGEST_MESSAGE, AiccError, printable, shortened
from donkey_aicc.plugins import load_plugins
from donkey_aicc.resources import install_line

# name -> one line for `donkey-aicc --help`, in the order in which a newcomer meets them.
COMMANDS = {
    "demo": "make a car, drive it in the embedded simulator and draw what happened",
    "createcar": "make a car folder that drives the embedded simulator or your own hardware",
    "install": "add the parts to an existing donkeycar manage.py",
    "record": "drive in the embedded simulator and record tubs, nominal or under a fault",
    "check": "health report on recorded tubs: what can be used, what was lost and why",
    "label": "label a real car's tubs by looking at some of their frames, on a page in the browser",
    "overhead": "label a real car's tubs from a video of a camera above the track",
    "train": "train a model bundle (world model and safety predictor) from recorded tubs",
    "doctor": "check whether this computer is ready to drive: versions, bundle, speed per grade, disk, camera; say what to do",
    "brake-test": "find how this car brakes, so that the governor's stop is a short one",
    "info": "show what is in a model bundle and how good it is",
    "sign": "sign a bundle with a key of your own, so that your car refuses every other",
    "calibrate": "fit the confidence calibrator of a bundle on its calibration drives and D_aug",
    "score": "score every frame of tubs with a bundle: predictions, anomaly scores and labels in one table",
    "evaluate": "measure a calibrated bundle on nominal and anomalous drives and write the report",
    "sim-server": "the embedded simulator for gym-donkeycar and donkeycar, behind the Unity simulator's protocol",
    "export-dataset": "drives as a LeRobotDataset (Parquet and MP4), with our scores, labels and confidence",
    "trials": "many short drives of several agents, with and without faults, in tables with intervals",
    "replay": "look at a recorded drive again: what happened and why, on a page or in a file to share",
}

OFFLINE_ONLY = ("torch", "scipy", "sklearn", "matplotlib", "joblib")  # a car does without them


@dataclass(frozen=True)
class Program:
    """A command line: its name, what it is for, and the package with one module per command."""

    name: str
    description: str
    package: str
    commands: Mapping[str, str]

    def module(self, command: str) -> ModuleType:
        return importlib.import_module(f"{self.package}.{command.replace('-', '_')}")


DONKEY_AICC = Program(
    "donkey-aicc", "Safety prediction with calibrated confidence for DonkeyCar.", "donkey_aicc.commands", COMMANDS
)


class ShortParser(argparse.ArgumentParser):
    """argparse prints all options and the whole of a wrong value; a person needs the last line of that."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, one_line(f"{self.prog}: {message}", f"; see {self.prog} --help") + "\n")


def one_line(said: str, advice: str = "") -> str:
    """A message with what to do, under 500 characters however long a value in it is."""
    return shortened(printable(said), LONGEST_MESSAGE - len(advice)) + advice


def build_parser(chosen: str | None, program: Program = DONKEY_AICC) -> argparse.ArgumentParser:
    """The parser; only the chosen command's module is imported and filled in."""
    parser = ShortParser(prog=program.name, description=program.description)
    parser.add_argument("--version", action="version", version=f"donkey_aicc {donkey_aicc.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, help_line in program.commands.items():
        sub = subparsers.add_parser(name, help=help_line, description=help_line[0].upper() + help_line[1:] + ".")
        if name == chosen:
            program.module(name).add_arguments(sub)
    return parser


def let_waiting_threads_sleep() -> None:
    """Threads of torch that wait for each other spin; beside other work that made training up to ten times slower.

    Sleeping soon costs some percent where nothing else runs. It must be said before torch is loaded.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def main(argv: Sequence[str] | None = None, program: Program = DONKEY_AICC) -> int:
    """Run one command; a user's mistake ends in one clear line and exit code 2."""
    let_waiting_threads_sleep()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        build_parser(None, program).print_help()
        return 0
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    args = build_parser(chosen, program).parse_args(arguments)
    try:
        load_plugins()
        return program.module(args.command).run(args)
    except AiccError as error:
        print(one_line(f"{program.name} {args.command}: {error}"), file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in OFFLINE_ONLY:
            raise
        print(f"{program.name} {args.command} needs {error.name}: {install_line('train')}", file=sys.stderr)
        return 2
    except OSError as error:
        print(one_line(f"{program.name} {args.command}: {error}"), file=sys.stderr)  # a full disk, a missing permission
        return 2
    except KeyboardInterrupt:
        print(f"{program.name} {args.command}: interrupted", file=sys.stderr)
        return 130
