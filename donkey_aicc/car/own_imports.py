"""Libraries that somebody's manage.py imports and this computer lacks: found before a drive fails on them."""

import ast
import subprocess
import sys
from pathlib import Path

MOST_S = 120.0  # tensorflow takes its time
_TRY = """
import contextlib, io, sys
for line in {lines!r}:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(line, {{}})
    except ModuleNotFoundError as error:
        print(error.name)
    except BaseException:
        pass
"""


def missing_imports(source: bytes, folder: Path) -> list[str]:
    """Names of modules, in order. Asked for is what the file always imports, at its top and in its functions; in a process of its
    own, because what donkeycar's parts import cannot be read from the file."""
    tree = ast.parse(source)
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.FunctionDef))]
    lines = [ast.unparse(node) for body in bodies for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    try:
        command = [sys.executable, "-c", _TRY.format(lines=lines)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=MOST_S, check=False)
    except subprocess.TimeoutExpired:
        return []
    return list(dict.fromkeys(name.partition(".")[0] for name in done.stdout.split()))
