"""Wrong text files: single rows are named and left out, other faults refuse the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dream.bars.importers import text_blocks, text_rows
from dream.bars.importers.sheet import BadRow, Chunk, Hints
from dream.bars.importers.text import open_text
from dream.errors import BarsInvalid, SpecInvalid

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "time,open,high,low,close,volume"
ROWS = [f"2024-01-08 01:{m:02d}:00,2000.1,2002.5,1999.3,2001.4,{m}" for m in range(10)]
PLAIN = [HEADER, *ROWS]


def write(tmp_path: Path, lines: list[str], end: str = "\n") -> Path:
    path = tmp_path / "bars.csv"
    path.write_bytes((end.join(lines) + end).encode())
    return path


def read(path: Path, hints: Hints | None = None) -> tuple[list[Chunk], list[BadRow]]:
    chunks = list(open_text(path, hints or Hints()).chunks)
    return chunks, [bad for chunk in chunks for bad in chunk.bad]


def refusal(path: Path, hints: Hints | None = None) -> str:
    with pytest.raises(BarsInvalid) as caught:
        read(path, hints)
    said = str(caught.value)
    assert str(path) in said
    assert "; " in said
    assert "\n" not in said
    assert len(said) < 500
    return said


def with_row(row: str, at: int = 6) -> list[str]:
    """The plain file with another line of that number."""
    return [*PLAIN[: at - 1], row, *PLAIN[at:]]


STAMP = "2024-01-08 01:04:00"
BAD_FIELDS = [
    ("2023-02-29 01:04:00,1,2,1,2,4", "time is '2023-02-29 01:04:00'"),
    ("2024-01-08 24:00:00,1,2,1,2,4", "time is '2024-01-08 24:00:00'"),
    ("2024-13-08 01:04:00,1,2,1,2,4", "time is '2024-13-08 01:04:00'"),
    ("2024-00-08 01:04:00,1,2,1,2,4", "time is '2024-00-08 01:04:00'"),
    ("2024-01-00 01:04:00,1,2,1,2,4", "time is '2024-01-00 01:04:00'"),
    ("2024-01-08 01:60:00,1,2,1,2,4", "time is '2024-01-08 01:60:00'"),
    ("2024-01-08 01:04:60,1,2,1,2,4", "time is '2024-01-08 01:04:60'"),
    ("2024-01-08 01:04,1,2,1,2,4", "time is '2024-01-08 01:04'"),
    ("2024-01-08T01:04:00,1,2,1,2,4", "time is '2024-01-08T01:04:00'"),
    ("2024-01-08 01:04:00Z,1,2,1,2,4", "time is '2024-01-08 01:04:00Z'"),
    ("2024/01/08 01:04:00,1,2,1,2,4", "time is '2024/01/08 01:04:00'"),
    ("+024-01-08 01:04:00,1,2,1,2,4", "time is '+024-01-08 01:04:00'"),
    ("2024-01-08  1:04:00,1,2,1,2,4", "time is '2024-01-08  1:04:00'"),
    ("1899-01-08 01:04:00,1,2,1,2,4", "time is '1899-01-08 01:04:00'"),
    ("9999-01-08 01:04:00,1,2,1,2,4", "time is '9999-01-08 01:04:00'"),
    ("1704675840,1,2,1,2,4", "time is '1704675840'"),
    (",1,2,1,2,4", "time is ''"),
    (HEADER, "time is 'time'"),
    (f"{STAMP},1,2x,1,2,4", "high is '2x'"),
    (f"{STAMP},1,2,1,1_0,4", "close is '1_0'"),
    (f"{STAMP},1,2,1,NaN,4", "close is 'NaN'"),
    (f"{STAMP},inf,2,1,2,4", "open is 'inf'"),
    (f"{STAMP},1,1e999,1,2,4", "high is '1e999'"),
    (f"{STAMP},1,2,1,0x10,4", "close is '0x10'"),
    (f"{STAMP},1,2,-,2,4", "low is '-'"),
    (f"{STAMP},1,2,1,2,many", "volume is 'many'"),
    (f"{STAMP},1,2,1,2,nan", "volume is 'nan'"),
    (f'{STAMP},1,"2,00",1,2,4', "high is '2,00'"),
    (f'{STAMP},1,"2,0000.0",1,2,4', "high is '2,0000.0'"),
    (f"{STAMP},1,2,1,2,\N{ARABIC-INDIC DIGIT FOUR}", "volume is '\N{ARABIC-INDIC DIGIT FOUR}'"),
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("row", "said"), BAD_FIELDS)
def test_a_field_that_cannot_be_read(tmp_path: Path, row: str, said: str, end: str) -> None:
    chunks, bad = read(write(tmp_path, with_row(row), end))
    first = ", the first row has '2024-01-08 01:00:00'" if said.startswith("time ") else ""
    assert bad == [BadRow(6, "unreadable", f"{said}{first}")]
    assert [n for c in chunks for n in c.line.tolist()] == [2, 3, 4, 5, 7, 8, 9, 10, 11]
    assert [v for c in chunks for v in c.volume.tolist()] == [0, 1, 2, 3, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (f"{STAMP},1,2,1,2", "5 fields, the other rows have 6: '2024-01-08 01:04:00,1,2,1,2'"),
        (f"{STAMP},1,2,1,2,4,", "7 fields, the other rows have 6"),
        ("# a comment", "1 fields, the other rows have 6: '# a comment'"),
        (f'{STAMP},1,"2,1",1,2', "5 fields"),
    ],
)
def test_a_row_with_other_columns(tmp_path: Path, row: str, said: str) -> None:
    _, bad = read(write(tmp_path, with_row(row)))
    assert [(b.line, b.kind) for b in bad] == [(6, "columns")]
    assert bad[0].found.startswith(said)


def test_fields_too_many_and_too_few_do_not_cancel_out(tmp_path: Path) -> None:
    lines = with_row(f"{STAMP},1,2,1,2", 6)
    lines[6] += ",9"
    _, bad = read(write(tmp_path, lines))
    assert [(b.line, b.found[:8]) for b in bad] == [(6, "5 fields"), (7, "7 fields")]


def test_a_quotation_mark_left_open_spoils_its_row_alone(tmp_path: Path) -> None:
    _, bad = read(write(tmp_path, with_row(f'{STAMP},"1,2,1,2,4')))
    assert [(b.line, b.kind) for b in bad] == [(6, "unreadable")]
    assert bad[0].found.startswith("a quotation mark is not closed")


def test_bytes_that_are_no_utf_8(tmp_path: Path) -> None:
    path = write(tmp_path, with_row(f"{STAMP},1,2,1,2,@"))
    path.write_bytes(path.read_bytes().replace(b"@", b"\xff"))
    _, bad = read(path)
    assert [(b.line, b.kind, b.found[:9]) for b in bad] == [(6, "unreadable", "volume is")]


def test_what_is_long_is_cut(tmp_path: Path) -> None:
    _, bad = read(write(tmp_path, with_row(f"{STAMP},1,2,1,2,{'9' * 500}x")))
    assert len(bad[0].found) == 120
    _, bad = read(write(tmp_path, with_row("x" * 5_000)))
    assert len(bad[0].found) <= 120


def test_empty_fields_are_not_numbers(tmp_path: Path) -> None:
    chunks, bad = read(write(tmp_path, with_row(f"{STAMP},,2,1,2,")))
    assert bad == []
    assert np.isnan(chunks[0].px[4, 0])
    assert chunks[0].px[4, 1:].tolist() == [2, 1, 2]
    assert np.isnan(chunks[0].volume[4])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"])
def test_blank_lines_are_counted_and_no_rows(tmp_path: Path, end: str) -> None:
    lines = ["", "# made by hand", *PLAIN[:4], "", "   ", *PLAIN[4:], "", ""]
    chunks, bad = read(write(tmp_path, lines, end))
    assert bad == []
    read_lines = [n for c in chunks for n in c.line.tolist()]
    if end != "\r\r\n":
        assert read_lines == [4, 5, 6, 9, 10, 11, 12, 13, 14, 15]
    assert len(read_lines) == 10


def test_line_numbers_over_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [ROWS[k % 10] for k in range(1_500)]
    rows[700] = "x" + rows[700]
    rows[1_200] += ",1"
    for size in (4_096, 65_536):
        monkeypatch.setattr(text_blocks, "BLOCK_BYTES", size)
        for end in ("\n", "\r\n", "\r"):
            chunks, bad = read(write(tmp_path, [HEADER, *rows], end))
            assert [b.line for b in bad] == [702, 1_202]
            assert sum(len(c.line) for c in chunks) == 1_498
            lines = np.concatenate([c.line for c in chunks])
            volume = np.concatenate([c.volume for c in chunks])
            assert np.array_equal(volume, (lines - 2) % 10)


@pytest.mark.parametrize("mark", ["<<<<<<< HEAD", "=======", ">>>>>>> 1f0c", "||||||| base"])
@pytest.mark.parametrize("line", [1, 2, 6, 900])
def test_merge_conflicts(tmp_path: Path, mark: str, line: int) -> None:
    lines = [HEADER, *(ROWS * 100)]
    lines.insert(line - 1, mark)
    said = refusal(write(tmp_path, lines))
    assert f"line {line}: '{mark}' marks a merge conflict" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n\n", "has no rows"),
        (b"# only this\n", "has no rows"),
        (b"time,open,high,low,close", "has a header and no rows"),
        (b"\xef\xbb\xbftime,open,high,low,close\r\n\r\n", "has a header and no rows"),
        (b"\x00\x01\x02PK", "line 1: the byte 0x00 is not text"),
        (b"time,open,high,low,close\n\n\x7fELF\x01", "line 3: the byte 0x01 is not text"),
        (b"time,close,volume\n2024-01-01,1,2\n", "line 1: there are 3 columns, no column open"),
        (b"2024-01-01,1,2\n2024-01-02,1,2\n", "line 1: there are 3 columns, no column"),
        (b"20240201 000003660,2035.1,2035.4,0\n" * 3, "export bars, not ticks"),
        (b"<DATE>\t<TIME>\t<BID>\t<ASK>\t<LAST>\t<FLAGS>\n", "export bars, not ticks"),
        (b"x" * 200_000, "line 1: this is a line without a tab, semicolon, bar, comma"),
        (b"2024-01-02 01:00 1 2 1 2\n", "this is a line without a tab, semicolon, bar, comma"),
        (b"\n<!DOCTYPE html>\n<html>", "line 2: this is a web page or XML"),
        (b'[{"time": 1, "open": 2}]', "line 1: this is JSON"),
        (b"2020,1581.60,1580.67,1581.54,285\n", "line 1: no column timestamp and no header"),
        (b"x" * 3_000_000, "line 1: a line is longer than 1,048,576 bytes"),
        (b"a,b\n" + b"x" * 3_000_000, "line 1: there are 2 columns"),
        (b"hello,\nworld,\n", "there are 2 columns, no column open, high, low, close"),
        (b"time,o,h,l\n1,2,3,4\n", "no column close"),
        (b"time,open,high,low,last\n2024-01-01 00:00,1,2,3,4\n", "no column close"),
        (b"time,open,high,low,close,high\n2024-01-01 00:00,1,2,3,4,5\n", "two columns high"),
        (b"open,high,low,close,volume\n1,2,3,4,5\n", "no column timestamp"),
        (b"time,open,high,low,close\nsoon,1,2,3,4\n", "line 2: time is 'soon'; expected a time"),
        (b"time,open,high,low,close\n,1,2,3,4\n", "line 2: time is ''; expected a time"),
        (b"time,open,high,low,close\n45000.5,1,2,3,4\n", "line 2: time is '45000.5'"),
        (b"time,open,high,low,close\n2024-01-01,1,2,3,4,5,6\n", "line 2: 7 fields, the header"),
        (b"2024-01-02 01:00,2,1,3,2\n", "no header, and columns 2, 3, 4, 5 are not open, high"),
    ],
)
def test_what_is_no_file_of_bars(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "bars.csv"
    path.write_bytes(content)
    assert said in refusal(path)


def test_a_line_without_end_behind_good_ones(tmp_path: Path) -> None:
    path = write(tmp_path, [HEADER, *ROWS * 9_000, "x" * 1_100_000, ROWS[0]])
    assert "line 90002: a line is longer than" in refusal(path)
    path = write(tmp_path, [HEADER, *ROWS * 9_000, "x" * 9_000_000])
    assert "line 90002: a line is longer than" in refusal(path)


def test_a_nul_byte_behind_good_lines(tmp_path: Path) -> None:
    path = write(tmp_path, [HEADER, *ROWS * 9_000, ROWS[0] + "\0", ROWS[0]])
    assert "line 90002: the byte 0x00 is not text" in refusal(path)


def test_separators_that_change(tmp_path: Path) -> None:
    other = [row.replace(",", ";") for row in ROWS]
    said = refusal(write(tmp_path, [HEADER, *other]))
    assert "line 1: the fields are separated by a comma; expected a semicolon" in said
    said = refusal(write(tmp_path, with_row(other[4])))
    assert "line 6: the fields are separated by a semicolon; expected a comma" in said
    _, bad = read(write(tmp_path, [HEADER, *ROWS * 30, other[4]]))
    assert [(b.line, b.kind) for b in bad] == [(302, "columns")]
    assert bad[0].found.startswith("its fields are separated by a semicolon, not a comma")


def test_a_layout_that_changes_is_no_fault_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_rows, "MOST_BAD", 100)
    later = [row.replace("2024-01-08", "08.01.2024") for row in ROWS]
    said = refusal(write(tmp_path, [HEADER, *ROWS * 30, *later * 11]))
    assert "110 of the lines 2 to 411 are not like the first rows" in said
    said = refusal(write(tmp_path, [HEADER, *ROWS * 30, *["a,b"] * 101]))
    assert "101 of the lines 2 to 402" in said


def test_two_symbols_in_a_file(tmp_path: Path) -> None:
    lines = ["symbol," + HEADER, *(f"XAUUSD,{row}" for row in ROWS), f"XAGUSD,{ROWS[0]}"]
    assert "line 12: symbol is 'XAGUSD'; expected 'XAUUSD'" in refusal(write(tmp_path, lines))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"colse": "1"}, "--column colse: no such role"),
        ({"close": "last"}, "--column close=last: no column of this name"),
        ({"close": "0"}, "no column of this name"),
        ({"close": "7"}, "no column of this name"),
    ],
)
def test_hints_that_fit_no_column(tmp_path: Path, columns: dict[str, str], said: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        open_text(write(tmp_path, PLAIN), Hints(columns=columns))
    assert said in str(caught.value)


def test_days_or_months_first_is_asked_for(tmp_path: Path) -> None:
    lines = [HEADER, *(f"0{m}/02/2024 01:00,1,2,1,2,3" for m in range(1, 10))]
    said = refusal(write(tmp_path, lines))
    assert "line 2: '01/02/2024 01:00' may begin with the day or with the month" in said
    assert "--day-first or --month-first" in said


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(BarsInvalid, match="cannot read"):
            open_text(path, Hints())
