"""donkey-aicc createcar: a car folder from our template."""

import argparse

from donkey_aicc.car.new_car import OLD_SETTINGS, create_car


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--path", default="~/mycar", help="the folder to make (default: ~/mycar)")
    parser.add_argument("--overwrite", action="store_true", help=f"replace existing files; old settings stay as {OLD_SETTINGS}")


def run(args: argparse.Namespace) -> int:
    folder = create_car(args.path, args.overwrite)
    print(f"Drive it:  cd {folder} && python manage.py drive")
    return 0
