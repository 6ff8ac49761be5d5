"""What the repository holds: small enough to clone, and one version with one date in every place that names it."""

import re
import subprocess
from pathlib import Path

import pytest

import donkey_aicc

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


def test_changelog_and_citation_name_the_version_and_its_date():
    version, date = re.search(
        r"^## \[(\d\S*)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    ).groups()
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert version == donkey_aicc.__version__ and f"version: {version}" in cited and f"date-released: {date}" in cited
    title = "Anomaly-Informed Confidence Calibration for Vision-Based Safety Prediction"
    assert title in cited and title in (ROOT / "README.md").read_text(encoding="utf-8")
    assert (ROOT / "donkey_aicc" / "py.typed").is_file()
