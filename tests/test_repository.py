"""What the repository holds stays small enough to clone: no file over 20 MB, in the tree or in its history."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 20_000_000


def git(*words: str, given: str = "") -> str:
    return subprocess.run(["git", *words], cwd=ROOT, input=given, capture_output=True, text=True, check=True).stdout


def test_no_file_over_twenty_megabytes():
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    objects = git("rev-list", "--objects", "HEAD")
    rows = git("cat-file", "--batch-check=%(objecttype) %(objectsize) %(rest)", given=objects).splitlines()
    blobs = [row.split(" ", 2) for row in rows if row.startswith("blob")]
    assert blobs
    assert [(name, size) for _, size, name in blobs if int(size) > MOST_BYTES] == []
    tracked = [ROOT / name for name in git("ls-files", "-z").split("\0") if name]
    assert [str(path) for path in tracked if path.is_file() and path.stat().st_size > MOST_BYTES] == []
