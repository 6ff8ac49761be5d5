"""How a car gets our parts: our call in its manage.py and our keys in its myconfig.py, or a new folder from our template."""

import ast
import difflib
import io
import re
import shutil
import tokenize
from pathlib import Path

from donkey_aicc.car.install_place import find_place, is_call
from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path, write_atomic
from donkey_aicc.resources import template_dir

MARK = "  # donkey_aicc"  # ends every line of ours; --undo removes the lines that end so
BACKUP_SUFFIX = ".before-aicc"
CALL = "add_aicc"
GUARD = "GuardedTub"  # around the tub writer; cars of an earlier version have only the call


def manage_file(path: str | Path) -> Path:
    """The manage.py of a car folder (or the file itself), symbolic links resolved."""
    path = Path(path).expanduser()
    file = path / "manage.py" if path.is_dir() else path
    if not file.is_file():
        raise AiccError(f"no manage.py at {path}: give the car's folder, as made by `donkey createcar`")
    return file.resolve()


def with_call(source: bytes, name: str = "manage.py") -> bytes:
    """The source with our call; unchanged if it has it. Raises AiccError when its place is missing."""
    if all(_calls(_parse(source, name), ours) for ours in (CALL, GUARD)):
        return source
    source = without_call(source, name)  # lines of an earlier version make room
    tree = _parse(source, name)
    place = find_place(tree, name)
    lines = _lines(source)
    line = place.statement.lineno
    call = _indent(lines, place.statement, name) + place.code(CALL)
    if place.writer is not None:
        writer = ast.unparse(place.writer.targets[0])
        guard = f"{_indent(lines, place.writer, name)}{writer} = aicc.{GUARD}({writer})"
        _ours(lines, (place.writer.end_lineno or 0) + 1, guard)
    _ours(lines, line, call)
    first = _line_after_imports(tree, place.function)
    for code in ("aicc.begin()", "from donkey_aicc.car import wiring as aicc"):
        _ours(lines, first, code)
    return _checked("".join(lines), source, name)


def has_call(source: bytes, name: str = "manage.py") -> bool:
    """Whether our parts are in it."""
    return _calls(_parse(source, name), CALL)


def without_call(source: bytes, name: str = "manage.py") -> bytes:
    """The source without the lines that end in our mark; unchanged if there are none."""
    ending = re.escape(MARK.strip()) + r"\s*$"
    kept = [line for line in _lines(source) if not re.search(ending, line)]
    result = _checked("".join(kept), source, name)
    left = [call for call in (CALL, GUARD) if _calls(_parse(result, name), call)]
    if left:
        raise AiccError(f"{name} calls {', '.join(left)} in lines without our mark: take them out by hand")
    return result


def diff(before: bytes, after: bytes, name: str) -> str:
    """Unified diff for a person."""
    old, new = ([line.rstrip("\r\n") for line in _lines(content)] for content in (before, after))
    return "\n".join(difflib.unified_diff(old, new, fromfile=name, tofile=f"{name} (new)", lineterm=""))


def keep_backup(file: Path) -> Path:
    """Copy the file beside itself; an older, different backup is never overwritten."""
    content = file.read_bytes()
    number = 1
    while True:
        backup = file.with_name(file.name + BACKUP_SUFFIX + (f".{number}" if number > 1 else ""))
        if not backup.exists():
            _copy(file, backup)
            return backup
        if backup.read_bytes() == content:
            return backup
        number += 1


def _copy(source: Path, target: Path) -> None:
    """The whole file or none: a full disk, or a program that is killed, leaves no half of one that the next run would keep."""
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)
    shutil.copystat(source, target)


def drop_backup(file: Path) -> bool:
    """After --undo: remove the backup if the file is the same again. Returns whether it was."""
    backup = file.with_name(file.name + BACKUP_SUFFIX)
    if not backup.is_file() or backup.read_bytes() != file.read_bytes():
        return False
    backup.unlink()
    return True


def _calls(tree: ast.Module, function: str) -> bool:
    return any(isinstance(node, ast.Call) and is_call(node, function) for node in ast.walk(tree))


def _line_after_imports(tree: ast.Module, function: ast.FunctionDef) -> int:
    """The line after the last import at the top level above drive()."""
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) and node.lineno < function.lineno]
    return max((node.end_lineno or 0 for node in imports), default=function.lineno - 1) + 1


def _indent(lines: list[str], statement: ast.stmt, name: str) -> str:
    line = lines[statement.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    end = (lines[(statement.end_lineno or 1) - 1]).encode()[statement.end_col_offset or 0 :].decode().strip()
    if len(indent.encode()) != statement.col_offset or (end and not end.startswith("#")):
        raise AiccError(f"{name} line {statement.lineno} holds more than one statement: {line.strip()!r}. Nothing was changed")
    return indent


def _ours(lines: list[str], line: int, code: str) -> None:
    """Put a line of ours before a line (numbered from 1)."""
    lines.insert(line - 1, code + MARK + _newline(lines, line))


def _newline(lines: list[str], line: int) -> str:
    """The line ending used just above a line (numbered from 1)."""
    return "\r\n" if lines[max(line - 2, 0)].endswith("\r\n") else "\n"


def _parse(source: bytes, name: str) -> ast.Module:
    try:
        return ast.parse(source, name)
    except (SyntaxError, ValueError) as error:
        raise AiccError(f"{name} is not valid Python: {error}") from error


def _encoding(source: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return "utf-8" if encoding == "utf-8-sig" else encoding  # a byte order mark stays in the text


def _lines(source: bytes) -> list[str]:
    """Lines with their endings, split where Python splits them (str.splitlines also splits at form feeds)."""
    return list(io.StringIO(source.decode(_encoding(source)), newline=""))


def _checked(text: str, source: bytes, name: str) -> bytes:
    """The text in the source's encoding, after making sure that Python accepts it."""
    result = text.encode(_encoding(source))
    try:
        compile(result, name, "exec")
    except SyntaxError as error:
        raise AiccError(f"the changed {name} would not be valid Python ({error}). Nothing was written") from error
    return result


BEGIN = "# ---- donkey_aicc: begin; `donkey-aicc install --undo` takes this block out -----------------------------------------\n"
END = "# ---- donkey_aicc: end ------------------------------------------------------------------------------------------------\n"
_NOT_HERE = ("Where the car drives", "A real car (")  # sections of our template that an installed car has no use for
_BUNDLE = re.compile(r"^(# )?AICC_BUNDLE = .*$", re.MULTILINE)


def with_settings(source: str, bundle: str | None) -> str:
    """The file with our block at its end and this bundle in it; a block that is there keeps what the user changed."""
    line = f"AICC_BUNDLE = {bundle!r}" if bundle is not None else "# AICC_BUNDLE = None"
    if BEGIN not in source:
        gap = "" if not source or source.endswith("\n") else "\n"
        return f"{source}{gap}\n{BEGIN}{_block(line)}{END}"
    before, rest = source.split(BEGIN, 1)
    return source if bundle is None else before + BEGIN + _BUNDLE.sub(lambda _: line, rest, count=1)


def without_settings(source: str) -> str:
    """The file without our block, and with everything else."""
    if BEGIN not in source or END not in source:
        return source
    before, rest = source.split(BEGIN, 1)
    return before.removesuffix("\n") + rest.split(END, 1)[1]


def _block(bundle_line: str) -> str:
    """The settings of our template, section by section."""
    sections = re.split(r"(?m)^(?=# ---- )", (template_dir() / "myconfig.py").read_text(encoding="utf-8"))[1:]
    kept = [section for section in sections if not section.removeprefix("# ---- ").startswith(_NOT_HERE)]
    return _BUNDLE.sub(lambda _: bundle_line, "".join(kept).rstrip() + "\n", count=1)


CAR_FOLDERS = ("data", "models", "logs")
CAR_FILES = ("manage.py", "config.py", "myconfig.py")
OLD_SETTINGS = "myconfig.py.before-overwrite"


def has_car(path: str | Path) -> bool:
    """Whether all files of a car are there already."""
    return all((Path(path).expanduser() / name).is_file() for name in CAR_FILES)


def create_car(path: str | Path, overwrite: bool = False) -> Path:
    """Make the car's folder and fill it; existing files are kept unless `overwrite`. Returns the folder."""
    folder = Path(path).expanduser()
    template = template_dir()
    try:
        for name in CAR_FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name in CAR_FILES:
            _put(template / name, folder / name, overwrite)
    except OSError as error:
        raise AiccError(f"the car's folder {folder} cannot be made: {error}") from error
    (folder / "manage.py").chmod(0o755)
    return folder


def _put(source: Path, target: Path, overwrite: bool) -> None:
    if target.exists() and not overwrite:
        print(f"kept {target}")
        return
    if target.exists() and target.name == "myconfig.py":
        _copy(target, target.with_name(OLD_SETTINGS))
    write_atomic(target, source.read_bytes())
    print(f"wrote {target}")
