"""MetaTrader 4 history (.hst), versions 400 and 401: a header, then records of one length."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars import opening
from dream.bars.clock.clocks import SECOND_NS
from dream.bars.importers.records import RECORDS_AT_ONCE, chunk, refuse_hints
from dream.bars.importers.sheet import Layout, Opened
from dream.errors import BarsInvalid
from dream.files import open_regular
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dream.bars.importers.sheet import Chunk, Hints
    from dream.types import F8

HEADER: Final = struct.Struct("<i64s12s4i13i")
"""Version, copyright, symbol, period in minutes, digits, two times, 13 integers without use."""
RECORDS: Final = {
    400: np.dtype(
        # The low stands before the high.
        [(name, "<f8" if name != "time" else "<i4") for name in
         ("time", "open", "low", "high", "close", "volume")]
    ),
    401: np.dtype(
        [("time", "<i8"), *((name, "<f8") for name in ("open", "high", "low", "close")),
         ("volume", "<i8"), ("spread", "<i4"), ("real_volume", "<i8")]
    ),
}  # fmt: skip
TESTER_VERSION: Final = 405
"""Of an .fxt file, which begins alike."""
MOST_PERIOD_MIN: Final = 43_200
"""A month."""
MOST_DIGITS: Final = 8
FIRST_RECORDS: Final = 1_000
"""So many are looked at for digits that the header does not state."""
SINGLE_PRECISION: Final = 1e-7
"""Of a price; programs that write such files often kept it in four bytes before."""


def open_hst(path: Path, hints: Hints) -> Opened:
    """The bars of a MetaTrader 4 history. Its times are server time: the clock must be given.

    Args:
        path: the file.
        hints: nothing of them is needed.

    Raises:
        SpecInvalid: a hint that makes no sense here.
        BarsInvalid: another version, an impossible header, or not a whole number of records; also
            while the chunks are walked, where the file cannot be read.
    """
    refuse_hints(hints, "a MetaTrader history")
    try:
        with open_regular(path, "bars", error=BarsInvalid) as f:
            head = f.read(HEADER.size)
            size = f.seek(0, 2)
            version, layout = _header(head, path)
            records = _count(size, version, path)
            f.seek(HEADER.size)
            first = np.fromfile(f, RECORDS[version], min(records, FIRST_RECORDS))
    except OSError as e:
        raise _unreadable(path, e) from e
    layout = replace(layout, notes=layout.notes + _off_grid(_prices(first), layout.point))
    return Opened(layout, _chunks(path, version, records))


def _header(head: bytes, path: Path) -> tuple[int, Layout]:
    """The version, and what else the header says.

    Raises:
        BarsInvalid: it cannot be the header of a history.
    """
    version = int.from_bytes(head[:4], "little", signed=True)
    if version not in RECORDS:
        also = " (test data of MetaTrader's tester)" if version == TESTER_VERSION else ""
        raise BarsInvalid(
            f"{path}: version {version} at byte 0{also}; expected a MetaTrader 4 history of version"
            " 400 or 401; export the bars from its history centre as CSV"
        )
    if len(head) < HEADER.size:
        raise BarsInvalid(
            f"{path} ends at byte {len(head)} inside its header of {HEADER.size} bytes; copy it"
            " again"
        )
    _, copyright_, symbol, period_min, digits, *_ = HEADER.unpack(head)
    for fault, found, expected in (
        (not 0 < period_min <= MOST_PERIOD_MIN, f"a period of {period_min} minutes at byte 80",
         f"1 to {MOST_PERIOD_MIN:,}"),
        (not 0 <= digits <= MOST_DIGITS, f"{digits} digits at byte 84", f"0 to {MOST_DIGITS}"),
    ):  # fmt: skip
        if fault:
            raise BarsInvalid(
                f"{path}: {found}; expected {expected}; it is no history or is damaged: copy it"
                " again"
            )
    notes = ()
    if b"opyright" not in copyright_:
        notes = ("the header has no copyright of MetaQuotes: another program wrote the file",)
    name = symbol.split(b"\0")[0].decode("ascii", "replace").strip()
    return version, Layout(
        f"MetaTrader 4 history, version {version}",
        "wall",
        has_spread=version != 400,
        spread_unit="points",
        bar_ns=period_min * MINUTE_NS,
        symbol=name if name and name.isprintable() else None,
        point=float(f"1e-{digits}"),
        unused=("real_volume",) if version != 400 else (),
        notes=notes,
        row="record",
    )


def _count(size: int, version: int, path: Path) -> int:
    records, rest = divmod(size - HEADER.size, RECORDS[version].itemsize)
    if rest:
        raise BarsInvalid(
            f"{path} ends at byte {size} inside record {records + 1:,}, of which {rest} of"
            f" {RECORDS[version].itemsize} bytes are there; copy it again while the terminal is"
            " closed"
        )
    if not records:
        raise BarsInvalid(f"{path} has a header and no records; load the symbol's history first")
    opening.check_rows(records, path)
    return records


def _chunks(path: Path, version: int, records: int) -> Iterator[Chunk]:
    with open_regular(path, "bars", error=BarsInvalid) as f:
        f.seek(HEADER.size)
        for start in range(0, records, RECORDS_AT_ONCE):
            wanted = min(RECORDS_AT_ONCE, records - start)
            try:
                part = np.fromfile(f, RECORDS[version], wanted)
            except OSError as e:
                raise _unreadable(path, e) from e
            if len(part) < wanted:
                raise BarsInvalid(f"{path} became shorter while it was read; import it again")
            yield chunk(
                np.arange(start + 1, start + 1 + wanted),
                part["time"].astype(np.int64),
                SECOND_NS,
                _prices(part),
                (
                    part["volume"].astype(np.float64),
                    part["spread"].astype(np.float64) if version != 400 else np.zeros(wanted),
                ),
            )


def _prices(part: np.ndarray) -> F8:
    return np.stack([part[name] for name in ("open", "high", "low", "close")], axis=1)


def _off_grid(px: F8, point: float | None) -> tuple[str, ...]:
    """A note where the first prices have more digits than the header says."""
    assert point is not None
    with np.errstate(all="ignore"):  # records may hold anything; they are judged later
        scaled = px / point
        off = np.abs(scaled - np.rint(scaled)) * point > np.abs(px) * SINGLE_PRECISION
    rows = int(off.any(axis=1).sum())
    if not rows:
        return ()
    found = f"{rows:,} of the first {len(px):,} records"
    return (f"prices have more digits than the point of {point:g} in the header: {found}",)


def _unreadable(path: Path, e: OSError) -> BarsInvalid:
    return BarsInvalid(f"cannot read {path}: {e.strerror or e}; copy it again")
