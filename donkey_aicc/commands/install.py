"""donkey-aicc install: our call in an existing manage.py."""

import argparse
import sys

from donkey_aicc.errors import AiccError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("car", metavar="CAR", help="the car's folder, such as ~/mycar (or its manage.py)")
    parser.add_argument("--yes", action="store_true", help="change the file without asking")
    parser.add_argument("--undo", action="store_true", help="take our lines out again")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.car import install_parts as install
    from donkey_aicc.files import write_atomic

    file = install.manage_file(args.car)
    before = file.read_bytes()
    change = install.without_call if args.undo else install.with_call
    after = change(before, str(file))
    if after == before:
        print(f"{file} has none of our lines." if args.undo else f"{file} already has our call.")
        return 0
    print(install.diff(before, after, str(file)))
    if not args.yes and not _agreed(f"Change {file}?"):
        print("Nothing was changed.")
        return 1
    if args.undo:
        write_atomic(file, after)
        same = install.drop_backup(file)
        print(f"Our lines are out of {file}" + (": it is as it was." if same else "; your later changes are still in it."))
        return 0
    backup = install.keep_backup(file)
    write_atomic(file, after)
    print(f"Done. The old file is {backup.name}; `donkey-aicc install {args.car} --undo` takes our lines out again.")
    return 0


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise AiccError("nobody is there to answer: add --yes to change the file without asking. Nothing was changed")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
