"""A text file in blocks of whole lines, and where the fields of a block are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from dream.bars.importers.text_head import LINE_BYTES, no_text, too_long
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dream.types import I8

BLOCK_BYTES: Final = 4 << 20
NEWLINE, QUOTE = 10, 34


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Lines of a file.

    Attributes:
        data: each ends with a newline alone, none is empty.
        line: (n,) int64, their numbers from 1. end: (n,) int64, the bytes of the newlines.
    """

    data: bytes
    line: I8
    end: I8

    @property
    def text(self) -> npt.NDArray[np.uint8]:
        """(bytes,) uint8, the data."""
        return np.frombuffer(self.data, np.uint8)


def blocks(path: Path, at: int, line: int) -> Iterator[Block]:
    """The lines from a byte on; the first of them has that number.

    Raises:
        BarsInvalid: the file cannot be read, has NUL bytes or a line of more than LINE_BYTES.
    """
    rest = b""
    try:
        with path.open("rb") as f:
            f.seek(at)
            while read := f.read(BLOCK_BYTES):
                data = rest + read
                cut = _end_of_lines(data)
                data, rest = _one_newline(data[:cut]), data[cut:]
                if data:
                    end = _newlines(data, line, path)
                    yield _block(data, line, end)
                    line += len(end)
                if len(rest) > LINE_BYTES:
                    raise too_long(path, line)
            if rest:
                data = _one_newline(rest)
                data += b"" if data.endswith(b"\n") else b"\n"
                yield _block(data, line, _newlines(data, line, path))
    except OSError as e:
        raise BarsInvalid(f"cannot read {path}: {e.strerror}; give the path of a bar file") from e


def _end_of_lines(data: bytes) -> int:
    """Where the last whole line ends; a carriage return at the very end may lack its newline."""
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1


def _one_newline(data: bytes) -> bytes:
    if b"\r" not in data:
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _newlines(data: bytes, line: int, path: Path) -> I8:
    """Where the lines end, once they are of text and not too long."""
    zero = data.find(b"\0")
    if zero >= 0:
        raise no_text(path, line + data.count(b"\n", 0, zero), 0)
    end = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE)
    length = np.diff(end, prepend=-1)
    if length.max() > LINE_BYTES:
        raise too_long(path, line + int(length.argmax()))
    return end


def _block(data: bytes, line: int, end: I8) -> Block:
    """The lines that are not empty."""
    number = np.arange(line, line + len(end))
    full = np.diff(end, prepend=-1) > 1
    if not full.all():
        text = np.frombuffer(data, np.uint8)
        keep = np.ones(len(text), np.bool_)
        keep[end[~full]] = False
        data, number = text[keep].tobytes(), number[full]
        end = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE)
    return Block(data, number, end)


def separators(block: Block, separator: str, width: int) -> I8 | None:
    """(n, width - 1) bytes of the separators, None unless all lines have so many and no quotes."""
    if b'"' in block.data:
        return None
    marks = np.flatnonzero(block.text == ord(separator))
    if len(marks) != len(block.end) * (width - 1):
        return None
    marks = marks.reshape(-1, width - 1)
    early = (marks[1:, 0] < block.end[:-1]).any()
    return None if early or (marks[:, -1] > block.end).any() else marks


def counts(block: Block, separator: str) -> tuple[I8, npt.NDArray[np.bool_]]:
    """(n,) fields of each line, where quotes hide separators; (n,) whether a quote is left open."""
    marks = np.flatnonzero(block.text == ord(separator))
    row = np.searchsorted(block.end, marks)
    still_open = np.zeros(len(block.end), np.bool_)
    if b'"' in block.data:
        quotes = np.cumsum(block.text == QUOTE, dtype=np.int32)
        before = np.append(0, quotes[block.end])
        still_open = np.diff(before) % 2 == 1
        row = row[(quotes[marks] - before[row]) % 2 == 0]
    return np.bincount(row, minlength=len(block.end)) + 1, still_open
