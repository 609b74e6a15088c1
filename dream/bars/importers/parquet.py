"""Any Parquet file with bars: columns by common names, prices as they are or in integers."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dream.bars import opening
from dream.bars.importers import parquet_columns
from dream.bars.importers import parquet_stamps as stamps
from dream.bars.importers.parquet_columns import PRICES, SHOWN, SHOWN_CHARS
from dream.bars.importers.records import RECORDS_AT_ONCE, chunk, told_divisor
from dream.bars.importers.sheet import BadRow, Layout, Opened
from dream.errors import BarsInvalid
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from dream.bars.importers.sheet import Chunk, Hints
    from dream.types import F8

_PERIOD: Final = re.compile(r"(?:PERIOD_)?(?:([MHD])(\d+)|(\d+) ?(m|min|h|d))")
_PERIOD_MIN: Final = {"M": 1, "H": 60, "D": 1440, "m": 1, "min": 1, "h": 60, "d": 1440}
GOLD: Final = re.compile(r"XAU|GOLD|^GC", re.IGNORECASE)
LEAST_GOLD, MOST_GOLD = 200.0, 10_000.0
"""USD per ounce since 1979."""
DIVISORS: Final = (1, 100, 1_000, 100_000)
"""Stored integers per USD that are in use, the most likely first."""
MOST_DECIMALS: Final = 12
FIRST_ROWS: Final = 10_000
"""So many are looked at for the kind of stamps, integers and spread."""
BUFFER_BYTES: Final = 1 << 20


def open_parquet(path: Path, hints: Hints) -> Opened:
    """The bars of a Parquet file; only the columns that are needed are read, batch by batch.

    Args:
        path: the file.
        hints: columns where their names do not say what they are, and price_divisor.

    Raises:
        BarsInvalid: damaged, empty, columns missing, twice, or of another type, or more than one
            symbol or length of bar; also while the chunks are walked.
        SpecInvalid: a hint names no column.
    """
    opening.check_regular(path)
    with _reading(path) as file:
        rows = file.metadata.num_rows
        opening.check_rows(rows, path)
        columns = parquet_columns.locate(file.schema_arrow, path, hints)
        _check_types(file.schema_arrow, columns, path)
        names = list(dict.fromkeys(columns.values()))
        first = next(file.iter_batches(FIRST_ROWS, columns=names, use_threads=False), None)
        if not rows or first is None:
            raise BarsInvalid(f"{path} has no rows; export it again")
        plan = _planned(_Plan(path, columns, rows), first, hints)
        others = tuple(n for n in file.schema_arrow.names if n not in plan.columns.values())
    return Opened(replace(plan.layout, unused=others), _chunks(plan))


_UNTOLD: Final = Layout("Parquet", "wall")
_UNREAD: Final = stamps.Form("arrow", "wall")


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a file is read.

    Attributes:
        columns: role to name. rows: as the footer says. form: of the stamps.
        divisor: of the prices. labels: values of the symbol and the period in the first row.
    """

    path: Path
    columns: dict[str, str]
    rows: int
    layout: Layout = _UNTOLD
    form: stamps.Form = _UNREAD
    divisor: int = 1
    labels: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def stamp_names(self) -> list[str]:
        """The column of the stamps, or those of date and time of day."""
        return [self.columns[r] for r in ("timestamp", "clock_time") if r in self.columns]


@contextmanager
def _reading(path: Path) -> Generator[pq.ParquetFile]:
    """A Parquet file; what pyarrow says of damage becomes BarsInvalid."""
    try:
        # Buffered, so that a column of one large row group is not held whole.
        with pq.ParquetFile(
            path, buffer_size=BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
        ) as file:
            yield file
    except UnicodeEncodeError:
        raise BarsInvalid(
            f"{path}: the path is not UTF-8, and Parquet can only be read under one that is;"
            " rename the file or its folder"
        ) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as e:
        reason = str(e).split("\n", maxsplit=1)[0][:120]
        raise BarsInvalid(f"{path} is not a readable Parquet file: {reason}; copy it again") from e


def _check_types(schema: Any, columns: dict[str, str], path: Path) -> None:
    for role in (*PRICES, "volume", "spread"):
        if role not in columns:
            continue
        kind = schema.field(columns[role]).type
        if not (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        ):
            nested = "flatten" if pa.types.is_nested(kind) else "convert"
            raise BarsInvalid(
                f"{path}: column {columns[role][:SHOWN_CHARS]} is {str(kind)[:SHOWN_CHARS]};"
                f" expected a number type; {nested} it"
            )


# What the first rows tell


def _planned(plan: _Plan, first: Any, hints: Hints) -> _Plan:
    """The plan with what the first rows tell."""
    columns, labels = dict(plan.columns), dict[str, str]()
    for role in ("symbol", "period"):
        label = _label(first, columns.get(role))
        if label is None or (role == "period" and not _PERIOD.fullmatch(label)):
            columns.pop(role, None)
        else:
            labels[role] = label
    plan = replace(plan, columns=columns, labels=labels)
    found = [first.column(name) for name in plan.stamp_names]
    form = stamps.form(found, plan.stamp_names, str(plan.path))
    divisor, notes = _divisor(plan, first, hints)
    unit, unit_notes = _spread_unit(plan, first)
    layout = Layout(
        "Parquet",
        form.clock,
        has_volume="volume" in columns,
        has_spread="spread" in columns,
        spread_unit=unit,
        bar_ns=_bar_ns(labels.get("period")),
        symbol=labels.get("symbol"),
        point=1 / divisor if divisor > 1 else None,
        notes=(*form.notes, *notes, *unit_notes),
    )
    return replace(plan, layout=layout, form=form, divisor=divisor)


def _label(rows: Any, name: str | None) -> str | None:
    """The first value of a column of text, None where there is none."""
    if name is None or not stamps.is_text(rows.column(name).type):
        return None
    values = stamps.plain(rows.column(name)).drop_null()
    return str(values[0].as_py()) if len(values) else None


def _bar_ns(period: str | None) -> int | None:
    match = _PERIOD.fullmatch(period or "")
    if match is None:
        return None
    unit, count = match[1] or match[4], int(match[2] or match[3])
    return count * _PERIOD_MIN[unit] * MINUTE_NS or None


def _divisor(plan: _Plan, first: Any, hints: Hints) -> tuple[int, tuple[str, ...]]:
    """Stored integers per unit of quote currency.

    Raises:
        BarsInvalid: prices are integers of which nobody can tell.
    """
    columns = [first.column(plan.columns[p]) for p in PRICES]
    single = any(pa.types.is_floating(c.type) and c.type.bit_width < 64 for c in columns)
    notes = ("prices are single-precision; read to seven digits",) if single else ()
    told = told_divisor(hints)
    if told is not None:
        return told, (*notes, f"prices divided by {told:,} as told")
    if not all(pa.types.is_integer(c.type) for c in columns):
        return 1, notes
    values = _numbers(columns[3])
    values = values[np.isfinite(values)]
    price = float(np.median(values)) if len(values) else 0.0
    symbol = plan.labels.get("symbol")
    fits = (d for d in DIVISORS if LEAST_GOLD <= price / d < MOST_GOLD)
    divisor = next(fits, None) if symbol is None or GOLD.search(symbol) else None
    if divisor is None:
        raise BarsInvalid(
            f"{plan.path}: prices are integers such as {price:.0f}"
            + (f" of {symbol[:SHOWN_CHARS]}" if symbol else "")
            + "; say how many make one unit of the quote currency with --price-divisor"
        )
    said = f"prices are integers such as {price:.0f}; "
    said += f"divided by {divisor:,}, as gold costs" if divisor > 1 else "taken as they are"
    return divisor, (*notes, said)


def _spread_unit(plan: _Plan, first: Any) -> tuple[Literal["points", "price"], tuple[str, ...]]:
    """Points where the column has whole numbers: integers, or integers that had a gap once."""
    if "spread" not in plan.columns:
        return "price", ()
    values = _numbers(first.column(plan.columns["spread"]))
    values = values[np.isfinite(values)]
    integer = pa.types.is_integer(first.column(plan.columns["spread"]).type)
    if integer or (len(values) and (values == np.rint(values)).all() and values.max() >= 2):
        return "points", ("the spread is whole numbers: taken as points",)
    return "price", ("the spread has fractions: taken as a price",)


# Rows


def _chunks(plan: _Plan) -> Iterator[Chunk]:
    names = list(dict.fromkeys(plan.columns.values()))
    done = 0
    with _reading(plan.path) as file:
        for batch in file.iter_batches(RECORDS_AT_ONCE, columns=names, use_threads=False):
            if not batch.num_rows:
                continue
            _check_labels(plan, batch)
            part = _chunk(plan, batch, done + 1)
            done += batch.num_rows
            opening.check_rows(done, plan.path)
            yield part
    if done != plan.rows:
        raise BarsInvalid(
            f"{plan.path} has {done:,} rows; expected {plan.rows:,} as its footer says; copy it"
            " again"
        )


def _chunk(plan: _Plan, batch: Any, first: int) -> Chunk:
    n = batch.num_rows
    columns = [batch.column(name) for name in plan.stamp_names]
    stamp, fine = stamps.read(plan.form, columns)
    if first == 1 and not fine.any():
        raise BarsInvalid(
            f"{plan.path}, row {first}: {stamps.told(columns, 0)}, and so are the {n:,} from here;"
            " expected the times at which bars open; export it again"
        )
    line = np.arange(first, first + n)
    px = np.empty((n, 4))
    for k, price in enumerate(PRICES):
        px[:, k] = _numbers(batch.column(plan.columns[price]))
    if plan.divisor != 1:
        px /= plan.divisor
    volume, spread = (
        _numbers(batch.column(plan.columns[role])) if role in plan.columns else np.zeros(n)
        for role in ("volume", "spread")
    )
    if fine.all():
        return chunk(line, stamp, plan.form.unit_ns, px, (volume, spread))
    bad = tuple(
        BadRow(int(line[k]), "unreadable", stamps.told(columns, int(k)))
        for k in np.flatnonzero(~fine)
    )
    amounts = (volume[fine], spread[fine])
    return chunk(line[fine], stamp[fine], plan.form.unit_ns, px[fine], amounts, bad)


def _numbers(column: Any) -> F8:
    """(n,) float64, NaN where there is none; single-precision numbers as they were written."""
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if pa.types.is_decimal(column.type) and 0 <= column.type.scale <= MOST_DECIMALS:
        return np.round(values, column.type.scale)  # the cast is off by the last bit
    if not (pa.types.is_floating(column.type) and column.type.bit_width < 64):
        return np.asarray(values, np.float64)
    with np.errstate(all="ignore"):  # zeros, infinities and NaN stay what they are
        scale = 10.0 ** (6 - np.floor(np.log10(np.abs(values))))
        whole = np.rint(values * scale) / scale
    return np.where(np.isfinite(whole), whole, values)


def _check_labels(plan: _Plan, batch: Any) -> None:
    """Refuse a second symbol or a second length of bar.

    Raises:
        BarsInvalid: naming all of them.
    """
    for role, label in plan.labels.items():
        name = plan.columns[role]
        values = batch.column(name).unique().drop_null().to_pylist()
        if values and values != [label]:
            found = _all_labels(plan.path, name)
            what = "symbols" if role == "symbol" else "lengths of bars"
            raise BarsInvalid(
                f"{plan.path} has {len(found)} {what} in column {name[:SHOWN_CHARS]}:"
                f" {', '.join(f[:SHOWN_CHARS] for f in found[:SHOWN])}; expected one; write each"
                " to a file of its own"
            )


def _all_labels(path: Path, name: str) -> list[str]:
    found: dict[str, None] = {}
    with _reading(path) as file:
        for batch in file.iter_batches(RECORDS_AT_ONCE, columns=[name], use_threads=False):
            values = batch.column(0).unique().drop_null().to_pylist()
            found |= dict.fromkeys(map(str, values))
    return list(found)
