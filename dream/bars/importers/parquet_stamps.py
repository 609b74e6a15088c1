"""Opening times in Parquet: timestamps of any unit and zone, dates, epoch numbers, ISO text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from dream.bars.clock.clocks import SECOND_NS
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dream.types import I8

UTC_NAMES: Final = frozenset({"utc", "etc/utc", "z", "zulu", "gmt", "+00:00", "+0000", "-00:00"})
UNIT_NS: Final = {"s": SECOND_NS, "ms": 1_000_000, "us": 1_000, "ns": 1}
EPOCHS: Final = ((SECOND_NS, "seconds"), (1_000_000, "milliseconds"), (1_000, "microseconds"),
                 (1, "nanoseconds"))  # fmt: skip
FIRST_EPOCH_S, LAST_EPOCH_S = 10**8, 9 * 10**9
"""1973 and 2255: so the ranges of the units lie apart, and one among others is found out."""
ISO: Final = (
    r"^\s*([0-9]{4})[-./]([0-9]{2})[-./]([0-9]{2})"
    r"(?:[T ]([01][0-9]|2[0-3])(:[0-5][0-9])(:[0-5][0-9])?(\.[0-9]{1,9})?)?"
    r" ?(Z|z|UTC|GMT|[+-][0-9]{2}:?[0-5][0-9])?\s*$"
)
"""Year, month, day, hour, minute, second, fraction, zone. Digits of other scripts are none here."""
FORMATS: Final = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d ")
SHOWN_CHARS: Final = 40
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Form:
    """How a file writes its stamps.

    Attributes:
        kind: how they are read. clock: as in `sheet.Layout`. unit_ns: of the numbers.
        zoned: whether text carries a zone. notes: for the report.
    """

    kind: Literal["arrow", "epoch", "text"]
    clock: Literal["utc", "per-row", "wall", "date"]
    unit_ns: int = 1
    zoned: bool = False
    notes: tuple[str, ...] = ()


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text, also by dictionary."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def is_time_of_day(kind: Any) -> bool:
    """Whether an Arrow type may be the time of day beside a date."""
    return is_text(kind) or pa.types.is_time(kind)


def plain(column: Any) -> Any:
    """A column without dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def form(columns: Sequence[Any], names: Sequence[str], shown: str) -> Form:
    """Tell how stamps are written.

    Args:
        columns: their column in the first rows, or those of date and time of day.
        names: of these columns.
        shown: how messages call the file.

    Raises:
        BarsInvalid: in no way that can be read.
    """
    column = columns[0]
    kind = column.type
    if len(columns) > 1 or is_text(kind):
        return _text_form(columns, names[0], shown)
    says_utc = any(word in names[0].lower() for word in ("utc", "gmt"))
    if pa.types.is_timestamp(kind):
        unit_ns = UNIT_NS[kind.unit]
        if kind.tz is None:
            note = (f"column {names[0]} says UTC by its name",) if says_utc else ()
            return Form("arrow", "utc" if says_utc else "wall", unit_ns, notes=note)
        if kind.tz.lower() in UTC_NAMES:
            return Form("arrow", "utc", unit_ns)
        zone = kind.tz[:SHOWN_CHARS]
        return Form(
            "arrow", "per-row", unit_ns, notes=(f"times have the zone {zone}; read as instants",)
        )
    if pa.types.is_date(kind):
        return Form("arrow", "date", 86_400 * SECOND_NS if kind.bit_width == 32 else 1_000_000)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _epoch_form(column, names[0], shown)
    raise BarsInvalid(
        f"{shown}: column {names[0]} is {str(kind)[:SHOWN_CHARS]}; expected timestamps, dates,"
        " numbers since 1970 or ISO text; convert it"
    )


def _epoch_form(column: Any, name: str, shown: str) -> Form:
    values = column.drop_null().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    values = values[np.isfinite(values)]
    number = float(np.median(values)) if len(values) else 0.0
    if _digits_of_dates(values):
        raise BarsInvalid(
            f"{shown}: column {name} writes dates as numbers, such as {values[0]:.0f}; expected"
            " timestamps or numbers since 1970; convert it to timestamps"
        )
    for unit_ns, unit in EPOCHS:
        if FIRST_EPOCH_S <= number * unit_ns / SECOND_NS <= LAST_EPOCH_S:
            return Form("epoch", "utc", unit_ns, notes=(f"times are {unit} since 1970",))
    raise BarsInvalid(
        f"{shown}: column {name} holds numbers such as {number:g}; expected seconds, milliseconds,"
        " microseconds or nanoseconds since 1970; convert it to timestamps"
    )


def _digits_of_dates(values: npt.NDArray[np.float64]) -> bool:
    """Whether all numbers read as yyyymmdd, yyyymmddhhmm or yyyymmddhhmmss."""
    for digits in (0, 4, 6):
        day = values // 10**digits
        year, month, date = day // 10_000, day // 100 % 100, day % 100
        fits = (year >= 1970) & (year < 2200) & (month >= 1) & (month <= 12)
        fits &= (date >= 1) & (date <= 31) & (values % 100 < 60)
        if len(values) and fits.all():
            return True
    return False


def _joined(columns: Sequence[Any]) -> pl.Series:
    """Text of one column, or of date and time of day with a blank between."""
    parts: list[Any] = []
    for column in columns:
        value = plain(column)
        if len(columns) > 1 and pa.types.is_timestamp(value.type):
            value = value.cast(pa.date32(), safe=False)
        value.validate(full=True)  # polars trusts that text is UTF-8, a file may lie
        parts.append(pl.from_arrow(value.cast(pa.large_string())))
    text = parts[0]
    for part in parts[1:]:
        text = text.str.strip_chars() + " " + part.str.strip_chars()
    return text


def _text_form(columns: Sequence[Any], name: str, shown: str) -> Form:
    text = _joined(columns).drop_nulls()
    right = text.filter(text.str.contains(ISO))
    if not len(right):
        found = f"such as {text[0][:SHOWN_CHARS]!r}" if len(text) else "without a value"
        raise BarsInvalid(
            f"{shown}: column {name} is text {found}; expected timestamps, or ISO text such as"
            " 2024-01-02 23:00:00; convert it to timestamps, or export the bars as CSV"
        )
    zones = right.str.extract(ISO, 8)
    if zones[0] is not None:
        clock = "per-row" if (_ahead_min(zones.drop_nulls()) != 0).any() else "utc"
        return Form("text", clock, zoned=True)
    timed = right.str.extract(ISO, 4).is_not_null().any()
    return Form("text", "wall" if timed else "date")


def _ahead_min(zones: pl.Series) -> I8:
    """(n,) minutes ahead of UTC, of zones that match ISO; 0 where there is none."""
    digits = zones.str.replace(":", "", literal=True)
    numbers = digits.cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    size = np.abs(numbers)
    return np.sign(numbers) * (size // 100 * 60 + size % 100)


def read(form_: Form, columns: Sequence[Any]) -> tuple[I8, Mask]:
    """Stamps of some rows.

    Returns:
        (n,) int64 in units of the form since 1970, as they read or, with zones, UTC.
        (n,) whether each is one; the number is 0 where not.
    """
    column = columns[0]
    if form_.kind == "text":
        return _read_text(form_, columns)
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        with np.errstate(invalid="ignore"):
            ok = (np.abs(values) < 2.0**62) & (values == np.rint(values))
        values, ok = np.where(ok, values, 0).astype(np.int64), np.asarray(ok, np.bool_)
        return values, ok & _is_epoch(values, form_.unit_ns)
    days = pa.types.is_date32(column.type)
    numbers = column.cast(pa.int32()) if days else column
    values = numbers.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    values = values.astype(np.int64, copy=False)
    if form_.kind == "epoch":
        return values, _valid(column) & _is_epoch(values, form_.unit_ns)
    return values, _valid(column)


def _is_epoch(values: I8, unit_ns: int) -> Mask:
    per_second = SECOND_NS // unit_ns
    return (values >= FIRST_EPOCH_S * per_second) & (values <= LAST_EPOCH_S * per_second)


def _valid(column: Any) -> Mask:
    if not column.null_count:
        return np.ones(len(column), np.bool_)
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def _read_text(form_: Form, columns: Sequence[Any]) -> tuple[I8, Mask]:
    text = _joined(columns)
    # The date parser takes signs, blanks and 60 seconds too: it gets nothing but what matches.
    right = text.set(~text.str.contains(ISO), None)
    local = right.str.replace(ISO, "$1-$2-$3 $4$5$6$7")
    parsed = [local.str.to_datetime(f, time_unit="ns", strict=False) for f in FORMATS]
    stamp_ns = pl.select(pl.coalesce(parsed)).to_series().cast(pl.Int64)
    zones = right.str.extract(ISO, 8)
    ok = (stamp_ns.is_not_null() & (zones.is_not_null() == form_.zoned)).fill_null(value=False)
    if form_.clock == "date":
        ok &= right.str.extract(ISO, 4).is_null()
    values = stamp_ns.fill_null(0).to_numpy() - _ahead_min(zones) * 60 * SECOND_NS
    return values, ok.to_numpy()


def told(columns: Sequence[Any], k: int) -> str:
    """What stands in one row instead of a stamp."""
    values = [c[k].as_py() for c in columns]
    if any(v is None for v in values):
        return "the stamp is missing"
    return f"the stamp is {' '.join(map(str, values))[:SHOWN_CHARS]!r}, unlike those before"
