"""Writing files so that a crash leaves either the old file or the new one, never half of one; reading JSON."""

import contextlib
import csv
import ctypes
import fcntl
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.errors import AiccError
from donkey_aicc.untrusted import read_untrusted_json

if TYPE_CHECKING:
    from torch import Tensor

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
_LEFTOVER = re.compile(r"(\d{1,9})-[0-9A-Za-z_]+")  # the number of the process, and what makes the name its own


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it replaces `path` only if the block succeeds.

    The temporary name keeps the suffix, because many writers choose the format by it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}-{secrets.token_hex(6)}{path.suffix}")
    # Made here and with the usual mode, so that the umask decides as for any new file; a file that stands keeps its own.
    # Set again at the end, because some writers (safetensors) put a private file of their own in its place.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    mode = (path if path.exists() else temporary).stat().st_mode
    try:
        yield temporary
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(path: Path) -> None:
    """What a process that was killed while it wrote `path` has left beside it; its name has the process's number."""
    begin, end = f".{path.stem}.", path.suffix
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(begin) and entry.name.endswith(end)]
    for name in names:
        mark = _LEFTOVER.fullmatch(name[len(begin) : len(name) - len(end)])
        if mark and not _is_alive(int(mark[1])):
            left = path.with_name(name)
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True


@contextmanager
def only_one(folder: Path, what: str) -> Iterator[None]:
    """Hold the folder while the block runs; a second program that wants it is refused. The end of a process lets go of it."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise AiccError(f"another {what} works in {folder}: wait for its end, or write somewhere else") from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(handle)


def write_atomic(path: str | Path, content: str | bytes) -> None:
    """Replace the file at path with content (text is UTF-8)."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def csv_text(*rows: Iterable[Any]) -> str:
    """Rows of cells as CSV with plain line ends."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def write_json(path: str | Path, value: Any, default: Callable[[Any], Any] | None = None) -> None:
    """Write indented JSON atomically; NaN is refused because other readers choke on it."""
    write_atomic(path, json.dumps(value, indent=2, allow_nan=False, default=default) + "\n")


def read_json(path: str | Path, advice: str) -> Any:
    """The content of a JSON file; a missing or damaged one is named together with what to do about it."""
    try:
        return read_untrusted_json(path)
    except (OSError, AiccError) as error:
        raise AiccError(f"{path} cannot be read ({error}); {advice}") from error


def exchange(one: Path, other: Path) -> bool:
    """Let two files or folders change places in one step, so that neither is ever missing; False where the system cannot."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # no such function: another system, or an old one
        call = ctypes.CDLL(None, use_errno=True).renameat2
        return int(call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)) == 0
    return False


def sha256_of(path: str | Path) -> str:
    """Hex digest of a file's bytes."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def save_tensors(path: Path, tensors: Mapping[str, "Tensor"], metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file; a full disk is an OSError like any other."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file(dict(tensors), path, metadata=metadata)
    except SafetensorError as error:
        raise OSError(f"{path} could not be written: {error}") from error
