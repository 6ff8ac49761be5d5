"""A page's index.html with the head that all our pages share, as a server sends it or with everything inside as a file."""

import re
from pathlib import Path

LOOK = Path(__file__).resolve().parent / "look"  # style sheets and scripts that the pages share, at look/
HEAD_HERE = "  <!-- look/head.html -->\n"


def whole_page(folder: Path) -> str:
    """As a browser gets it from a server."""
    page = (folder / "index.html").read_text(encoding="utf-8")
    return page.replace(HEAD_HERE, (LOOK / "head.html").read_text(encoding="utf-8"), 1)


def with_styles_inside(page: str, folder: Path) -> str:
    """The style sheets that it links to put into it."""

    def style(match: re.Match[str]) -> str:
        name = match[1]
        file = LOOK / name.removeprefix("look/") if name.startswith("look/") else folder / name
        return f"<style>\n{file.read_text(encoding='utf-8')}</style>"

    return re.sub(r' *<link rel="stylesheet" href="([^"]+)">', style, page)
