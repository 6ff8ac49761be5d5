"""The pages: what they import exists, what they link to is there."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "studies").rglob("*.md"), *(ROOT / "models").glob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL))
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_code_on_the_pages_imports_what_exists():
    imports = [
        (page.name, *found)
        for page in PAGES
        for found in re.findall(r"^ *from (donkey_aicc[\w.]*) import ([\w, ]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert imports
    for _, module, names in imports:
        for name in names.split(","):
            name = name.split(" as ")[0].strip()
            if not hasattr(importlib.import_module(module), name):
                importlib.import_module(f"{module}.{name}")  # a module, or an error that names it
