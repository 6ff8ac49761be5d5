"""Writing files so that a crash leaves either the old file or the new one, never half of one; reading JSON."""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.untrusted import read_untrusted_json


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it replaces `path` only if the block succeeds.

    The temporary name keeps the suffix, because many writers choose the format by it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(6)}{path.suffix}")
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


def write_atomic(path: str | Path, content: str | bytes) -> None:
    """Replace the file at path with content (text is UTF-8)."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def write_json(path: str | Path, value: Any, default: Callable[[Any], Any] | None = None) -> None:
    """Write indented JSON atomically; NaN is refused because other readers choke on it."""
    write_atomic(path, json.dumps(value, indent=2, allow_nan=False, default=default) + "\n")


def read_json(path: str | Path, advice: str) -> Any:
    """The content of a JSON file; a missing or damaged one is named together with what to do about it."""
    try:
        return read_untrusted_json(path)
    except (OSError, AiccError) as error:
        raise AiccError(f"{path} cannot be read ({error}); {advice}") from error


def sha256_of(path: str | Path) -> str:
    """Hex digest of a file's bytes."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
