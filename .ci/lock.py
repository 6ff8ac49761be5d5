"""Write constraints.lock: the versions of constraints.txt with the sha256 of every file that the package indexes offer for them.

    python3 .ci/lock.py      # make lock

One file for every supported Python, as constraints.txt is: a line may end in a marker (python_version < "3.12").
torch is left out: which build of it you get (CPU, CUDA) is the choice of your index, and each build has a hash of its own.
"""

import re
import sys
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_LOCKED = ("torch",)
PYPI = "https://pypi.org/simple"
LINK = re.compile(r'href="(?P<path>[^"#]*)#sha256=(?P<hash>[0-9a-f]{64})"')
HEADER = """# Written by `make lock` from constraints.txt. make installs from it with pip --require-hashes.
# torch is not here: which build you get is the choice of your index, and every build has its own hash.
"""


def pins(path: Path) -> list[tuple[str, str, str]]:
    """(package, version, marker or nothing) of each line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pinned = (line.partition(";") for line in lines if "==" in line and not line.startswith("#"))
    return [(*pin.strip().split("=="), f"{mark}{marker}") for pin, mark, marker in pinned]


def hashes_of(name: str, version: str, indexes: list[str]) -> list[str]:
    """Of all wheels and source archives of one version, for every platform."""
    found: set[str] = set()
    for index in indexes:
        project = re.sub(r"[-_.]+", "-", name).lower()
        address = f"{index}/{project}/" + ("index.html" if index.startswith("file:") else "")
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                page = answer.read().decode()
        except OSError:
            continue
        found |= {link["hash"] for link in LINK.finditer(page) if _is_version(link["path"], project, version)}
    return sorted(found)


def _is_version(path: str, project: str, version: str) -> bool:
    file = urllib.parse.unquote(path).rsplit("/", 1)[-1].lower()
    stem = re.sub(r"[-_.]+", "-", file)
    wanted = f"{project}-{re.sub(r'[-_.]+', '-', version).lower()}"
    return bool(re.match(re.escape(wanted) + r"-(tar-gz|zip|tar-bz2|(\d\w*-)?(py|cp)\d)", stem))


def main(more_indexes: list[str]) -> int:
    lines, missing = [HEADER], []
    for name, version, marker in pins(ROOT / "constraints.txt"):
        if name in NOT_LOCKED:
            continue
        hashes = hashes_of(name, version, [PYPI, *more_indexes])
        if not hashes:
            missing.append(f"{name}=={version}")
            continue
        lines.append(" \\\n".join([f"{name}=={version}{marker}", *(f"    --hash=sha256:{value}" for value in hashes)]) + "\n")
    (ROOT / "constraints.lock").write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines) - 1} packages with hashes in constraints.lock; without: {', '.join(missing) or 'none'}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
