"""donkey-aicc createcar: a car folder from our template."""

import argparse

from donkey_aicc.car.install_parts import OLD_SETTINGS, create_car, has_car


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--path", default="~/mycar", help="the folder to make (default: ~/mycar)")
    parser.add_argument(
        "--overwrite", action="store_true", help=f"replace existing files; keep the old settings as {OLD_SETTINGS}"
    )


def run(args: argparse.Namespace) -> int:
    if has_car(args.path) and not args.overwrite:
        print(f"There is already a car in {args.path}: nothing was made. --overwrite replaces its files")
        return 1
    folder = create_car(args.path, args.overwrite)
    print(f"Drive it:    cd {folder} && python manage.py drive              (choose Full Auto on the web page)")
    print(f"Or watch it: cd {folder} && python manage.py drive --headless   (drives by itself)")
    print("The simulator is its camera and motors, and the monitor is on with the shipped bundle. myconfig.py has all settings.")
    return 0
