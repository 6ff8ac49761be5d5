"""The fenced blocks of a page. A comment `<!-- not run: why -->` on the line before a block says why no test runs it."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "studies").rglob("*.md"), *(ROOT / "models").glob("*.md")]
FENCE = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]+?) -->\n)?^```(?P<kind>\w*)[^\n]*\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    page: str  # below the repository
    number: int
    kind: str  # bash, python, json, text
    text: str
    not_run: str  # why, or nothing

    def __str__(self) -> str:
        return f"{self.page}:{self.number}"

    def lines(self) -> list[str]:
        """Of a shell block, without comments and where their output goes."""
        lines = [re.sub(r"(^|\s+)(#|>).*", "", line).strip() for line in self.text.splitlines()]
        return [command.strip() for line in lines if line for command in line.split("&&")]


def all_blocks() -> list[Block]:
    found = []
    for page in sorted(PAGES):
        for number, match in enumerate(FENCE.finditer(page.read_text(encoding="utf-8")), 1):
            found.append(Block(str(page.relative_to(ROOT)), number, match["kind"], match["text"], match["why"] or ""))
    return found
