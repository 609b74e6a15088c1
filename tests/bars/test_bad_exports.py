"""Exports that are wrong, typed as a command: refused with the place and the value, never more."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from dream.bars import store, synth
from dream.bars.clock import clocks
from dream.cli import main
from tests.bars import export
from tests.bars.files import names

if TYPE_CHECKING:
    from pathlib import Path

    from dream.types import Bars

BARS = synth.make(200, 3)
TEXT = export.FORMS["comma"].write(BARS, "utc")
LINES = TEXT.decode().splitlines()
FIELDS = LINES[49].split(",")
O, _, L, C = map(float, FIELDS[1:5])
CUT = LINES[81][:40].encode()


def lines(*changed: tuple[int, str]) -> bytes:
    """The export with other lines of these numbers."""
    made = list(LINES)
    for number, line in changed:
        made[number - 1] = line
    return "\n".join(made).encode() + b"\n"


def row(**fields: str) -> str:
    """Line 50 with other fields."""
    columns = LINES[0].split(",")
    return ",".join(fields.get(name, old) for name, old in zip(columns, FIELDS, strict=True))


def joined(mark: str, number: int) -> str:
    return LINES[number - 1].replace(",", mark)


def refused(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> str:
    """What the command says that refuses a file; nothing is written and no traceback shown."""
    before = names(path.parent)
    code = main(["bars", "import", str(path), "-o", str(path.with_name("out.parquet")), *options])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert names(path.parent) == before
    return " ".join(err.split())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        # Not what it should be as a whole.
        (b"", "is empty (0 bytes)"),
        (b"\x7fELF\x02\x01\x01\0" + bytes(range(256)), "byte 7 is zero, so it is no text"),
        (bytes(4_000), "byte 0 is zero"),
        (b"time,close,volume\n2024-01-02 01:00,1,2\n", "line 1: there are 3 columns"),
        # Cut off: in a row, in a record, in an archive.
        (TEXT[: TEXT.index(CUT) + 40], "line 82: 4 fields, the other rows have 7: '2024-01-02 19"),
        (export.FORMS["hst-401"].write(BARS, "utc")[:5_000],
         "ends at byte 5000 inside record 81, of which 52 of 60 bytes are there"),
        (export.FORMS["hst-400"].write(BARS, "utc")[:100], "ends at byte 100 inside its header"),
        (export.FORMS["parquet-wall"].write(BARS, "utc")[:5_000], "is not a readable Parquet file"),
        (gzip.compress(TEXT)[:2_000], "is cut off or damaged"),
        (export.zipped(TEXT)[:2_000], "is cut off or damaged"),
        # A row with other columns in the middle, also behind the rows that tell the layout.
        (lines((50, row() + ",7")), "line 50: 8 fields, the other rows have 7"),
        (lines((50, "7," + row())), "line 50: 8 fields, the other rows have 7"),
        (lines((50, ",".join(FIELDS[:3]))), "line 50: 3 fields, the other rows have 7"),
        (lines((201, LINES[200] + ",")), "line 201: 8 fields, the other rows have 7"),
        # Separators that change.
        (lines((50, joined(";", 50))), "line 50: the fields are separated by a semicolon"),
        (lines((1, joined("\t", 1))), "line 1: the fields are separated by a tab"),
        (lines((50, joined(";", 50)), (90, joined("|", 90))), "line 50: the fields are separated"),
        (lines((201, joined("\t", 201))), "line 201: its fields are separated by a tab"),
        # Times that do not exist.
        (lines((50, row(time="2023-02-29 11:00:00"))), "line 50: time is '2023-02-29 11:00:00'"),
        (lines((50, row(time="2024-02-30 11:00:00"))), "line 50: time is '2024-02-30 11:00:00'"),
        (lines((50, row(time="2024-01-02 24:00:00"))), "line 50: time is '2024-01-02 24:00:00'"),
        (lines((50, row(time="2024-01-02 11:60:00"))), "line 50: time is '2024-01-02 11:60:00'"),
        # Prices that do not.
        (lines((50, row(high="0"))), "line 50: high 0 is not positive"),
        (lines((50, row(low="-2070.12"))), "line 50: low -2070.12 is negative"),
        (lines((50, row(close="2O70.12"))), "line 50: close is '2O70.12'"),
        (lines((50, row(open=""))), "line 50: open is missing"),
        (lines((50, row(high="1.5"))), f"line 50: open {O:g}, high 1.5, low {L:g}, close {C:g}"),
        (lines((50, row(volume="-1"))), "line 50: volume -1 is negative"),
        (lines((50, row(open=f"{O - 0.005:.3f}"))), f"line 50: open {O - 0.005:.7g}"),
        # A time twice: with other values refused, backwards too.
        (lines((50, row(time=LINES[48].split(",")[0]))), "line 50 (2024-01-02T10:45:00Z)"),
        (lines((50, row(time="2024-01-02 02:07:00"))), "line 50 (2024-01-02T02:07:00Z)"),
    ],
)  # fmt: skip
def test_it_is_refused_with_its_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "XAUUSD.csv"
    path.write_bytes(content)
    message = refused(capsys, path, "--clock", "utc")
    assert said in message
    assert str(path) in message


def test_what_is_no_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "XAUUSD.csv"
    folder.mkdir()
    assert "found a folder" in refused(capsys, folder, "--clock", "utc")
    assert "No such file" in refused(capsys, tmp_path / "none.csv", "--clock", "utc")


def test_cut_candles(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "XAUUSD" / "2024" / "00" / "02"
    folder.mkdir(parents=True)
    path = folder / "BID_candles_min_1.bi5"
    path.write_bytes(export.candles(export.split(BARS, 15).between(0, 300))[:-40])
    size = path.stat().st_size
    assert f"is cut off at byte {size}" in refused(capsys, path)


def test_a_time_that_the_clock_skips(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "XAUUSD.csv"
    first = LINES[1].partition(",")[2]
    made = [LINES[0], f"2023-03-26 01:30:00,{first}", *LINES[1:]]
    path.write_text("\n".join(made), encoding="utf-8")
    message = refused(capsys, path, "--clock", "Europe/London")
    assert "line 2 (2023-03-26T01:30:00" in message
    assert "--on no_such_time=drop" in message
    made[1] = f"2023-10-29 01:30:00,{first}"
    path.write_text("\n".join(made), encoding="utf-8")
    message = refused(capsys, path, "--clock", "Europe/London")
    assert "line 2 (2023-10-29T01:30:00" in message
    assert "--on twice_time=drop" in message


@pytest.fixture(scope="module")
def tehran() -> Bars:
    """Iran set its clock back on a Tuesday at midnight, while gold traded."""
    return synth.make(400, 3, start_ns=clocks.parse_instant("2021-09-20"))


def test_an_hour_that_the_clock_shows_twice(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tehran: Bars
) -> None:
    path, out = tmp_path / "XAUUSD.csv", tmp_path / "out.parquet"
    path.write_bytes(export.FORMS["comma"].write(tehran, "Asia/Tehran"))
    message = refused(capsys, path, "--clock", "Asia/Tehran")
    assert "8 x the clock shows this time twice" in message
    assert "line 168 (2021-09-21T23:00:00" in message
    options: list[Any] = ["--clock", "Asia/Tehran", "--on", "twice_time=drop", "-o", out]
    assert main(["bars", "import", str(path), *map(str, options)]) == 0
    kept = store.read(out).t_close_ns
    lost = sorted({*tehran.t_close_ns.tolist()} - {*kept.tolist()})
    midnight = clocks.parse_instant("2021-09-21T19:30:00Z")
    assert [(t - tehran.bar_ns - midnight) // (15 * 60 * 10**9) for t in lost] == [*range(-4, 4)]


def test_a_clock_must_be_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "XAUUSD.csv"
    path.write_bytes(TEXT)
    message = refused(capsys, path)
    assert "its times carry no zone" in message
    assert "these fit: utc" in message
    assert "'eet'" in refused(capsys, path, "--clock", "eet")


@pytest.mark.parametrize(
    ("kind", "date", "option"),
    [("weekend", "2024-01-06", "weekend=drop"), ("filler", "2024-01-06", "filler=drop")],
)
def test_nothing_is_left(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, date: str, option: str
) -> None:
    """All rows lie on a Saturday; those that do not move are filler."""
    path = tmp_path / "XAUUSD.csv"
    high = 2002 if kind == "weekend" else 2000
    rows = [f"{date} {h:02d}:00,2000,{high},2000,2000,{h * (high - 2000)}" for h in range(1, 20)]
    path.write_text("\n".join(["time,open,high,low,close,volume", *rows]), encoding="utf-8")
    message = refused(capsys, path, "--clock", "utc", "--on", option)
    assert "no row is left; 19 x a bar" in message
    assert "line 2 (2024-01-06T01:00:00Z)" in message
