"""Reads the pages as a reader does: blocks in their order, tables by their heading."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PLUGGING = ROOT / "docs" / "plugging.md"
BARS = ROOT / "docs" / "bars.md"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# (\w+\.(?:py|toml))\n")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page at which it begins."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that a block says it is, None for one that is to be run or only read."""
        named = _FILE.match(self.text)
        return named[1] if named else None


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in _BLOCK.finditer(text)]


def table(page: Path, heading: str, first: str) -> list[list[str]]:
    """The cells below a heading, of the table whose first column has that name; no backticks."""
    text = page.read_text(encoding="utf-8")
    _, found, rest = text.partition(f"\n{heading}\n")
    assert found, f"{page.name} has no heading {heading!r}"
    section = re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    _, found, rest = section.partition(f"| {first} |")
    assert found, f"{page.name}, {heading}: no table of {first}"
    rows = []
    for line in rest.split("\n")[2:]:
        if not line.startswith("|"):
            break
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        rows.append([cell.strip().replace("`", "").replace("\\|", "|") for cell in cells])
    return rows


def links(page: Path) -> list[str]:
    """Targets of the page's links."""
    return re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
