"""The beginning of a text file: its separator, its first rows, and whether it is text at all."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dream.bars import opening
from dream.bars.importers import stamps
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LINE_BYTES: Final = 1 << 20
"""Longest line; also what is read to know a file."""
HEAD_ROWS: Final = 200
SEPARATORS: Final = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}
"""Comma last: in files with a decimal comma it, too, cuts every row alike."""
FEWEST: Final = 5
"""Columns of a bar: a stamp and four prices."""
NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
CONFLICT: Final = re.compile(r"<{7} .*|={7}|>{7} .*|\|{7} .*")
COMMENTS: Final = ("#", "//", "sep=")
CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")
BOM: Final = b"\xef\xbb\xbf"
EXAMPLE: Final = "2024-01-02 23:00,2060.1,2062.5,2059.3,2061.4"
SHOWN, SHOWN_CHARS = 12, 24
"""Fields shown in a message, and characters of each."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is neither blank nor a comment; its number from 1, the byte where it begins."""

    number: int
    at: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """The first lines of a text file.

    Attributes:
        separator: what stands between fields.
        lines: at most HEAD_ROWS lines, those of the header among them.
        comments: lines before them that are none.
        commented: the fields of the last comment, which may be a header, () without one.
    """

    path: Path
    separator: str
    lines: tuple[Line, ...]
    comments: int
    commented: tuple[str, ...]

    @property
    def first(self) -> tuple[str, ...]:
        """Fields of the first line."""
        return self.lines[0].fields

    @property
    def has_header(self) -> bool:
        """Whether the first line has names: no time and fewer than four numbers."""
        if any(stamps.kind(f) in {"full", "date"} for f in self.first):
            return False
        return sum(NUMBER.fullmatch(f.replace(",", "")) is not None for f in self.first) < 4

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the first line as `key` writes them, () where it is no header."""
        return tuple(map(key, self.first)) if self.has_header else ()

    def values(self, column: int, after: int) -> list[str]:
        """Non-empty fields of a column behind that many lines."""
        rows = (line.fields for line in self.lines[after:])
        return [row[column] for row in rows if len(row) > column and row[column]]


def key(name: str) -> str:
    """A column's name without case, blanks and marks: `<TICK_VOL>` is `tickvol`."""
    return "".join(c for c in name.lower() if c.isalnum())


def shown(fields: Sequence[str]) -> str:
    """Some fields for a message."""
    cut = [f if len(f) <= SHOWN_CHARS else f"{f[:SHOWN_CHARS]}..." for f in fields[:SHOWN]]
    return ", ".join(cut) + (", ..." if len(fields) > SHOWN else "")


MOST_COLUMNS: Final = 1_000


def read_head(path: Path) -> Head:
    """The head of a text file.

    Raises:
        BarsInvalid: it cannot be read, is empty, is no text, or its separators are mixed.
    """
    opening.check_regular(path)
    try:
        with path.open("rb") as f:
            raw = f.read(LINE_BYTES + 1)
    except OSError as e:
        raise BarsInvalid(f"cannot read {path}: {e.strerror}; give the path of a bar file") from e
    if not raw:
        raise BarsInvalid(f"{path} is empty; expected a Parquet or CSV file of bars")
    _check_text(raw, path)
    whole = len(raw) <= LINE_BYTES
    plain: list[tuple[int, int, str]] = []
    commented = ""
    at = len(BOM) if raw.startswith(BOM) else 0
    comments = 0
    lines = raw[at:].splitlines(keepends=True)
    if not whole and len(lines) == 1:
        raise too_long(path, 1)
    for number, line in enumerate(lines if whole else lines[:-1], 1):
        text = line.decode("utf-8", "backslashreplace").strip("\r\n")
        check_conflict(text, path, number)
        if not plain and text.lstrip().startswith(COMMENTS):
            comments, commented = comments + 1, text
        elif text.strip():
            plain.append((number, at, text))
        at += len(line)
        if len(plain) == HEAD_ROWS:
            break
    if not plain:
        raise BarsInvalid(f"{path} has no rows; download or export it again")
    _check_kind(plain[0][2], path, plain[0][0])
    separator = _separator([text for _, _, text in plain])
    columns = plain[0][2].count(separator) + 1
    if columns > MOST_COLUMNS:
        raise BarsInvalid(
            f"{path}, line {plain[0][0]}: {columns:,} columns; expected at most {MOST_COLUMNS:,}; "
            f"leave out those that are not of bars"
        )
    rows = tuple(Line(n, at, split(text, separator)) for n, at, text in plain)
    _check_mixed(rows, [text for _, _, text in plain], separator, path)
    names = split(commented.lstrip("#/ "), separator) if commented else ()
    return Head(path, separator, rows, comments, names)


def split(line: str, separator: str) -> tuple[str, ...]:
    """The fields of one line, without the blanks around them."""
    try:
        fields = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        fields = line.split(separator)
    return tuple(f.strip() for f in fields)


def check_conflict(line: str, path: Path, number: int) -> None:
    """Refuse a file that an unfinished merge left.

    Raises:
        BarsInvalid: the line is a marker.
    """
    if CONFLICT.fullmatch(line.rstrip()):
        raise BarsInvalid(
            f"{path}, line {number}: {line[:SHOWN_CHARS]!r} marks a merge conflict; expected a row"
            " of bars; resolve the conflict or fetch the file again"
        )


def too_long(path: Path, number: int) -> BarsInvalid:
    """The refusal of a line without an end."""
    return BarsInvalid(
        f"{path}, line {number}: a line is longer than {LINE_BYTES:,} bytes; expected one bar in"
        " each line; export it again"
    )


def no_text(path: Path, number: int, byte: int) -> BarsInvalid:
    """The refusal of what is no text."""
    return BarsInvalid(
        f"{path}, line {number}: the byte 0x{byte:02x} is not text, so it is not a readable CSV"
        " file; expected rows of bars as text; export it again"
    )


def _check_text(raw: bytes, path: Path) -> None:
    found = CONTROL.search(raw)
    if found:
        raise no_text(path, len(raw[: found.start()].splitlines()) or 1, found[0][0])


def _check_kind(line: str, path: Path, number: int) -> None:
    """Refuse what downloads give when they fail, and text that is no table.

    Raises:
        BarsInvalid: saying what it is.
    """
    begin = line.lstrip()[:9].lower()
    if begin.startswith(("<!", "<html", "<?xml")):
        kind, mend = "a web page or XML", "download the file itself"
    elif begin[:1] in {"{", "["}:
        kind, mend = "JSON", "write its bars as CSV"
    elif not any(mark in line for mark in SEPARATORS):
        kind = f"a line without a {', '.join(SEPARATORS.values())}"
        mend = "write the fields with one of them between"
    else:
        return
    raise BarsInvalid(
        f"{path}, line {number}: this is {kind}; expected lines such as {EXAMPLE}; found"
        f" {line[:SHOWN_CHARS]!r}; {mend}"
    )


def _separator(lines: Sequence[str]) -> str:
    """The mark that cuts most lines into the same five fields or more."""
    most: dict[str, tuple[int, int]] = {}
    for mark in SEPARATORS:
        counts = Counter(len(split(line, mark)) for line in lines)
        fields, rows = counts.most_common(1)[0]
        if fields >= FEWEST and rows * 2 > len(lines):
            return mark
        most[mark] = (fields, max(counts))
    return max(most, key=lambda mark: most[mark])


def _check_mixed(rows: Sequence[Line], texts: Sequence[str], mark: str, path: Path) -> None:
    """Refuse lines that another mark cuts as this one cuts the rest.

    Raises:
        BarsInvalid: naming the first of them.
    """
    width = Counter(len(row.fields) for row in rows).most_common(1)[0][0]
    for row, text in zip(rows, texts, strict=False):
        other = other_mark(text, mark, width) if width >= FEWEST else None
        if other:
            raise BarsInvalid(
                f"{path}, line {row.number}: the fields are separated by a {other}; expected a"
                f" {SEPARATORS[mark]} as in the other lines; write all lines with one separator"
            )


def other_mark(line: str, mark: str, width: int) -> str | None:
    """The separator of a line without the mark that another one cuts into about so many fields."""
    if mark in line:
        return None
    for other, name in SEPARATORS.items():
        if abs(len(split(line, other)) - width) <= 1:
            return name
    return None
