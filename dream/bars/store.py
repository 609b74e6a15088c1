"""Bar files: the Parquet layout of dream, plain files with UTC stamps, and writing all or nothing.

A dream file holds `timestamp` (open time, nanoseconds UTC), `open_ticks`, `high_ticks`,
`low_ticks`, `close_ticks`, `spread_ticks` (int32), `volume` (float64) and, where the bars were
made of finer ones, `atr_m5` (float64, NaN before known). Its metadata holds `dream.schema`,
`dream.instrument` (JSON), `dream.bar_ns`, `dream.source_clock`, `dream.provenance` (JSON, a list of
records) and `dream.crc32` over these five. The pages carry checksums too, so that a flipped bit is
found.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dream.bars import adopt, check, content_hash, importers, opening, with_atr_m5
from dream.bars.check import Rows, Stamps
from dream.bars.clock.clocks import iso
from dream.bars.label import Label, damaged, label_of, metadata
from dream.errors import BarsInvalid, InputError
from dream.types import Instrument

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    import numpy.typing as npt

    from dream.types import F8, Bars

__all__ = ["Label", "content_hash", "metadata", "provenance", "read", "source_clock", "write"]

PLAIN_CLOCK: Final = "utc"
_PRICE_COLUMNS: Final = ("open_ticks", "high_ticks", "low_ticks", "close_ticks")
_COLUMNS: Final = pa.schema(
    [
        pa.field("timestamp", pa.timestamp("ns", tz="UTC"), nullable=False),
        *(pa.field(name, pa.int32(), nullable=False) for name in _PRICE_COLUMNS),
        pa.field("spread_ticks", pa.int32(), nullable=False),
        pa.field("volume", pa.float64(), nullable=False),
    ]
)
GROUP_ROWS: Final = 1 << 20
"""Of a row group of the file; no more than one is copied at a time."""
_AVERAGE: Final = "atr_m5"
_MORE_COLUMNS: Final = _COLUMNS.append(pa.field(_AVERAGE, pa.float64(), nullable=False))
_ENCODINGS: Final = {
    name: "BYTE_STREAM_SPLIT" if name in {"volume", _AVERAGE} else "DELTA_BINARY_PACKED"
    for name in _MORE_COLUMNS.names
}
"""A third of the size of the defaults on five years of gold, and read faster."""


def read(
    path: str | Path,
    instrument: Instrument | None = None,
    *,
    from_ns: int | None = None,
    to_ns: int | None = None,
) -> Bars:
    """A bar series from a dream file, or from any export whose stamps say what instants they are.

    The whole file is checked, then cut.

    Args:
        path: the file.
        instrument: what an export is of (XAUUSD by default); with a dream file, its symbol and
            tick must be those of the file.
        from_ns: leave out bars that open earlier.
        to_ns: leave out bars that close later.

    Raises:
        BarsInvalid: unreadable, a wrong row, no bar in the range, or another instrument.
        SchemaUnknown: written by a later dream.
    """
    path = Path(path)
    label = _label(path)
    if label is None:
        from dream.bars import plain  # noqa: PLC0415 - readers of foreign files, only for such

        kind, average, clock = instrument or Instrument(), None, PLAIN_CLOCK
        rows, bar_ns = plain.read(path, kind)
    else:
        rows, average = _stored(path)
        clock = label.source_clock
        bar_ns, kind = label.bar_ns, _agreed(label, instrument, path)
    check.check_rows(rows)
    t = rows.at.t_open_ns
    check.check_grid(rows.at, bar_ns, clock)
    first = 0 if from_ns is None else int(np.searchsorted(t, from_ns))
    end = len(t) if to_ns is None else int(np.searchsorted(t, to_ns - bar_ns, side="right"))
    if first >= end:
        whole = f"{iso(int(t[0]))} to {iso(int(t[-1]) + bar_ns)}"
        raise BarsInvalid(f"{path}: no bar lies in the range asked for; the file has {whole}")
    cut = slice(first, end)
    px = rows.px if end - first == len(t) else rows.px[cut].copy()
    bars = adopt(kind, bar_ns, t[cut], px, rows.spread[cut].copy(), rows.volume[cut].copy())
    return bars if average is None else with_atr_m5(bars, average[cut])


def write(
    bars: Bars,
    path: str | Path,
    *,
    source_clock: str,
    provenance: Iterable[dict[str, Any]] = (),
    force: bool = False,
) -> None:
    """Write a dream file, all or nothing.

    Args:
        bars: the series, at least one bar.
        path: where to; an existing file is refused unless `force`.
        source_clock: the clock in which the source had its times, such as `utc`.
        provenance: a record of each export that they came from, none where they were made up.
        force: replace an existing file.

    Raises:
        BarsInvalid: there is no bar, or one that could not be read back, or too much provenance.
        InputError: the file exists, or the folder or disk does not take it.
    """
    if not len(bars):
        raise BarsInvalid(f"cannot write {path}: there are no bars")
    at = check.nanoseconds(bars.t_close_ns - bars.bar_ns, 1, "bars", 1)
    rows = Rows(at, bars.px, bars.spread, bars.volume)
    check.check_rows(rows)
    check.check_grid(at, check.bar_length({bars.bar_ns: 1}, at.path), source_clock)
    if bars.atr_m5 is not None and not _are_averages(bars.atr_m5):
        raise BarsInvalid(f"cannot write {path}: an average true range is negative or infinite")
    label = metadata(Label(bars.instrument, bars.bar_ns, source_clock, tuple(provenance)))
    average = bars.atr_m5
    with (
        replacing(Path(path), force=force) as file,
        writer(file, atr_m5=average is not None) as out,
    ):
        for first in range(0, len(bars), GROUP_ROWS):
            group = slice(first, first + GROUP_ROWS)
            out.write_table(table(_part(rows, group), None if average is None else average[group]))
        out.add_key_value_metadata(label)


def source_clock(path: str | Path) -> str:
    """The clock in which the source of a file had its times; `utc` for a plain file."""
    label = _label(Path(path))
    return PLAIN_CLOCK if label is None else label.source_clock


def provenance(path: str | Path) -> tuple[dict[str, Any], ...]:
    """A record of each export that a file's bars came from; none for a plain file."""
    label = _label(Path(path))
    return () if label is None else label.provenance


@contextmanager
def alone(path: Path) -> Generator[None]:
    """Keeps other appends away from a series until the block ends, where the system has locks.

    Raises:
        BarsInvalid: it cannot be read.
        InputError: another append is at it.
    """
    opening.check_regular(path)
    with path.open("rb") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as e:
                raise InputError(f"{path}: another import is adding to it; try again") from e
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                raise InputError(f"{path}: another import has just added to it; try again")
        yield


@contextmanager
def replacing(path: Path, *, force: bool) -> Generator[IO[bytes]]:
    """A temporary file beside `path` that takes its name only when the block ends well.

    The bytes are on disk (fsync) before the name is. Nothing is left behind otherwise.

    Raises:
        InputError: the file exists and `force` is not set, or it cannot be written.
    """
    temporary = path.parent / f".{path.name}.{token_hex(4)}.part"
    try:
        _check_target(path, force=force)
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _check_target(path, force=force)
        temporary.replace(path)
        _sync_folder(path.parent)
    except (OSError, pa.ArrowException) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise InputError(
            f"cannot write {path}: {reason}; nothing was written; choose another place or make room"
        ) from e
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def writer(file: IO[bytes], *, atr_m5: bool = False) -> Generator[Any]:
    """A Parquet writer of dream's columns that leaves a broken file alone."""
    columns = _MORE_COLUMNS if atr_m5 else _COLUMNS
    out: Any = pq.ParquetWriter(
        file,
        columns,
        compression="zstd",
        use_dictionary=False,
        column_encoding={name: _ENCODINGS[name] for name in columns.names},
        write_page_checksum=True,
    )
    try:
        yield out
        out.close()
    finally:
        # After a failed write there is no footer to write, which pyarrow would try on deletion.
        out.is_open = False


def table(rows: Rows, atr_m5: F8 | None = None) -> Any:
    """Checked rows as an Arrow table of dream's columns; (n,) float64 averages if there are any."""
    columns = [rows.at.t_open_ns, *rows.px.T, rows.spread, rows.volume]
    columns += [] if atr_m5 is None else [atr_m5]
    schema = _COLUMNS if atr_m5 is None else _MORE_COLUMNS
    arrays = [_array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: npt.NDArray[Any], kind: Any) -> Any:
    """(n,) numbers as an Arrow array; Arrow's own way from numpy, too, imports pandas."""
    assert values.dtype == (np.int64 if pa.types.is_timestamp(kind) else str(kind))
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [None, buffer])


def _part(rows: Rows, part: slice) -> Rows:
    at = Stamps(rows.at.path, rows.at.first_row + part.start, rows.at.t_open_ns[part])
    return Rows(at, rows.px[part], rows.spread[part], rows.volume[part])


def _are_averages(atr_m5: F8) -> bool:
    """Whether every value is unknown (NaN), or finite and not negative."""
    return bool(((atr_m5 >= 0) & (atr_m5 < np.inf) | np.isnan(atr_m5)).all())


def _check_target(path: Path, *, force: bool) -> None:
    if path.exists() and not path.is_file():
        raise InputError(f"cannot write {path}: it is not a regular file; choose another place")
    if path.exists() and not force:
        raise InputError(f"{path} exists; nothing was written; replace it with --force")


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the system lets a folder be opened."""
    with suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _label(path: Path) -> Label | None:
    """The label of a dream file, None for a plain one."""
    if not importers.is_parquet(path):
        return None
    try:
        with opening.parquet(path) as file:
            found: dict[bytes, bytes] = file.metadata.metadata or {}
    except (pa.ArrowException, OSError, UnicodeError) as e:
        raise damaged(path, e) from e
    return label_of(found, path)


def _stored(path: Path) -> tuple[Rows, F8 | None]:
    """The rows of a dream file, and its (n,) averages if it has them."""
    try:
        with opening.parquet(path) as file:
            found = file.read()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        raise damaged(path, e) from e
    known = any(found.schema.equals(columns) for columns in (_COLUMNS, _MORE_COLUMNS))
    if not known or any(c.null_count for c in found.columns):
        raise damaged(path, "its columns are not those that dream writes")
    if not len(found):
        raise damaged(path, "it has no rows")
    # Arrow's own way to numpy imports pandas where that is installed, which takes half a second.
    arrays: list[Any] = [column.combine_chunks() for column in found.columns]
    arrays[0] = arrays[0].view(pa.int64())
    columns: list[Any] = [np.from_dlpack(array) for array in arrays]
    t, *ticks, spread, volume = columns[: len(_COLUMNS)]
    average: F8 | None = columns[-1] if len(columns) > len(_COLUMNS) else None
    if average is not None and not _are_averages(average):
        raise damaged(path, "an average true range is negative or infinite")
    at = check.nanoseconds(t, 1, str(path), 1)
    return Rows(at, np.stack(ticks, axis=1), spread, volume), average


def _agreed(label: Label, instrument: Instrument | None, path: Path) -> Instrument:
    """The instrument asked for, if the file's prices are of it."""
    mine = label.instrument
    if instrument is None:
        return mine
    if (mine.symbol, mine.tick) != (instrument.symbol, instrument.tick):
        raise BarsInvalid(
            f"{path} is {mine.symbol} with tick {mine.tick:g}; asked for {instrument.symbol} with"
            f" tick {instrument.tick:g}; give the file's symbol and tick, as in dream run --set"
            f" instrument.tick={mine.tick:g}, or import it again with --round"
        )
    return instrument
