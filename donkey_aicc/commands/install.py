"""donkey-aicc install: our call in an existing manage.py, our settings in its myconfig.py."""

import argparse
import sys
from pathlib import Path

from donkey_aicc.car.own_imports import missing_imports
from donkey_aicc.errors import AiccError

NO_BUNDLE = "none"
MOST_SHOWN = 30  # lines of a change


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("car", metavar="CAR", help="the car's folder, such as ~/mycar (or its manage.py)")
    parser.add_argument(
        "--bundle", metavar="B", help="the monitor's bundle: a folder, the name of a shipped one, or none (default: asks)"
    )
    parser.add_argument("--yes", action="store_true", help="change the files without asking")
    parser.add_argument("--undo", action="store_true", help="remove our lines again")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.car import install_parts as install

    file = install.manage_file(args.car)
    changes = _undone(file) if args.undo else _installed(file, args)
    changes = {path: pair for path, pair in changes.items() if pair[0] != pair[1]}
    if not changes:
        print(f"{file} has none of our lines." if args.undo else f"{file} already has our call.")
        return 0
    for path, (before, after) in changes.items():
        print(_shown(install.diff(before, after, str(path)), path))
    if not args.yes and not _agreed(f"Change {' and '.join(path.name for path in changes)}?"):
        print("Nothing was changed.")
        return 1
    _write(changes, file, args)
    if not args.undo and (missing := missing_imports(file.read_bytes(), file.parent)):
        names = " ".join(missing)
        print(f"WARNING: this manage.py cannot start here, with or without our lines, before: pip install {names}")
    return 0


def _shown(diff: str, path: Path) -> str:
    """The change; a whole block of comments in the settings only by its size and what counts in it."""
    changed = [line for line in diff.splitlines()[2:] if line[:1] in ("+", "-")]
    if len(changed) <= MOST_SHOWN:
        return diff
    verb = "more" if changed[0].startswith("+") else "fewer"
    counts = [line for line in changed if line[1:].strip() and not line[1:].startswith("#")]
    about = f"{path}: {len(changed)} {verb} lines at its end, our AICC_* settings as comments"
    return "\n".join([about + (" but for" if counts else ""), *counts])


def _undone(file: Path) -> dict[Path, tuple[bytes, bytes]]:
    from donkey_aicc.car.install_parts import without_call, without_settings

    before = file.read_bytes()
    return {file: (before, without_call(before, str(file))), **_settings(file, without_settings)}


def _installed(file: Path, args: argparse.Namespace) -> dict[Path, tuple[bytes, bytes]]:
    from donkey_aicc.car.install_parts import with_call, with_settings

    before = file.read_bytes()
    after = with_call(before, str(file))  # a file without a place for it is refused before anything is asked
    bundle = _bundle(args, is_new=before != after)
    return {file: (before, after), **_settings(file, lambda text: with_settings(text, bundle))}


def _settings(file: Path, change) -> dict[Path, tuple[bytes, bytes]]:
    """What becomes of the car's own myconfig.py; a car without one has its settings elsewhere."""
    settings = file.with_name("myconfig.py")
    if not settings.is_file():
        return {}
    before = settings.read_bytes()
    return {settings: (before, change(before.decode("utf-8")).encode())}


def _bundle(args: argparse.Namespace, is_new: bool) -> str | None:
    """The bundle's name or folder as myconfig.py shall have it; None for none. Asks where somebody can answer."""
    from donkey_aicc.car.bundles import WITHOUT, homes_of, known_bundle, shipped_bundles
    from donkey_aicc.tubs.home import REAL_CAR

    chosen = args.bundle
    if chosen is None and is_new and not args.yes and sys.stdin.isatty():
        print("Which bundle should the monitor use? A folder made by donkey-aicc train, or a shipped one:", *shipped_bundles())
        print(f"Empty: none yet; {WITHOUT}.")
        chosen = input("Bundle: ").strip() or NO_BUNDLE
    if chosen is None or chosen == NO_BUNDLE:
        if is_new:
            print(f"AICC_BUNDLE stays None: {WITHOUT}. Choose one later with --bundle or in myconfig.py.")
        return None
    homes = homes_of(known_bundle(chosen))
    if homes and homes != [REAL_CAR]:
        print(f"WARNING: the bundle {chosen} was trained in {' and '.join(homes)}: anywhere else its scores mean nothing")
    return chosen if chosen in shipped_bundles() else str(Path(chosen).expanduser().resolve())


def _write(changes: dict[Path, tuple[bytes, bytes]], file: Path, args: argparse.Namespace) -> None:
    from donkey_aicc.car import install_parts as install
    from donkey_aicc.files import write_atomic

    backup = None if args.undo or file not in changes else install.keep_backup(file)
    for path, (_, after) in changes.items():
        write_atomic(path, after)
    if args.undo:
        same = install.drop_backup(file)
        print(f"Our lines were removed from {file}" + (": it is as it was." if same else "; your later changes are still in it."))
    elif backup is not None:
        print(f"Done. The old file is {backup.name}; `donkey-aicc install {args.car} --undo` removes our lines again.")
    else:
        print("Done.")


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise AiccError("nobody can answer here: add --yes to change the files without asking. Nothing was changed")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
