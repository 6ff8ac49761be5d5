"""Values of keys in a car's myconfig.py, written by a command; everything else in the file stays as it is."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_atomic


def set_keys(path: Path, values: Mapping[str, Any]) -> None:
    """Each key's last line, a comment or not, gets its value; a key without one goes to the end of the file."""
    text = path.read_text(encoding="utf-8")
    for key, value in values.items():
        line = f"{key} = {value!r}"
        found = list(re.finditer(rf"(?m)^{key} *=.*$", text)) or list(re.finditer(rf"(?m)^# ?{key} *=.*$", text))
        if found:
            text = text[: found[-1].start()] + line + text[found[-1].end() :]
        else:
            text += ("" if not text or text.endswith("\n") else "\n") + line + "\n"
    try:
        compile(text, str(path), "exec")
    except SyntaxError as error:
        raise AiccError(f"the changed {path.name} would not be valid Python ({error}). Nothing was written") from error
    write_atomic(path, text.encode("utf-8"))
