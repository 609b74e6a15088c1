"""Text files of bars: one engine for every format that is lines of fields."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from dream.bars.importers import (
    columns,
    dukascopy,
    histdata,
    investing,
    metatrader,
    plain_text,
    stamps,
    text_rows,
    tradingview,
    yahoo,
)
from dream.bars.importers.ahead import in_order
from dream.bars.importers.sheet import Layout, Opened
from dream.bars.importers.text_blocks import blocks
from dream.bars.importers.text_head import Head, key, read_head, shown
from dream.bars.importers.text_rows import Sheet
from dream.errors import BarsInvalid
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dream.bars.importers.columns import Roles
    from dream.bars.importers.sheet import Chunk, Hints
    from dream.bars.importers.stamps import Stamp
    from dream.bars.importers.text_form import Form
    from dream.bars.importers.text_head import Line

TEXT_FORMATS: Final[tuple[Form, ...]] = (
    *yahoo.FORMS,
    *metatrader.FORMS,
    *investing.FORMS,
    *dukascopy.FORMS,
    *tradingview.FORMS,
    *histdata.FORMS,
    *plain_text.FORMS,
)
"""Tried in this order, by the head of the file."""
ZERO_OFFSET: Final = re.compile(r".*[+-]00:?(00)?")
WHOLE: Final = re.compile(r"\d+(\.0+)?")
FRACTION: Final = re.compile(r"\d*\.\d*[1-9]\d*")
PERIODS: Final = {"M": 1, "MIN": 1, "H": 60, "D": 1440, "": 1}
PERIOD: Final = re.compile(r"(?P<a>\d{1,4})?\s?(?P<unit>M|MIN|H|D|)(?P<b>\d{1,3})?")
LOW_GOLD: Final = 1000
"""Whole-numbered prices are divided by the power of ten that brings them to four digits."""


def open_text(path: Path, hints: Hints) -> Opened:
    """A text file of bars: UTF-8, with or without a mark, and any line ends.

    Args:
        path: the file.
        hints: what the user says of it.

    Raises:
        BarsInvalid: it is no text, has no rows, or its layout is not known; while the chunks are
            walked also what no single row is to blame for, such as a second symbol.
        SpecInvalid: a hint names a column that does not exist.
    """
    head = read_head(path)
    form = next(form for form in TEXT_FORMATS if form.recognise(head))
    roles, rows = _columns(head, form, hints)
    data = [line for line in rows if len(line.fields) == len(roles.names)]
    notes = [f"{head.comments} comment lines skipped"] if head.comments > 1 else []
    notes += ["1 comment line skipped"] if head.comments == 1 else []
    values = _stamps(data, roles)
    stamp = stamps.find(values)
    if stamp is None:
        raise _no_time(data, roles, path)
    same = {k: data[0].fields[k] for k in (roles.symbol, roles.period) if k is not None}
    width = len(roles.names)
    divisor = _divisor(roles, data, hints, notes)
    comma = _decimal_comma(data, roles)
    sheet = Sheet(path, head.separator, width, roles, stamp, comma, divisor, same, values[0])
    stamp = _ordered(stamp, values, sheet, rows[0], hints)
    sheet = _without_empty(replace(sheet, stamp=stamp), data, rows[0], notes)
    layout = _layout(form, sheet, data, values, notes)
    if form.symbol_line is not None and len(head.lines[form.symbol_line].fields) > 1:
        layout = _of_symbol(layout, head.lines[form.symbol_line].fields[1])
    return Opened(layout, _chunks(sheet, rows[0]))


def _chunks(sheet: Sheet, first: Line) -> Iterator[Chunk]:
    walk = blocks(sheet.path, first.at, first.number)
    for chunk in in_order(lambda block: text_rows.rows(block, sheet), walk):
        if len(chunk.line) or chunk.bad:
            yield chunk


def _columns(head: Head, form: Form, hints: Hints) -> tuple[Roles, tuple[Line, ...]]:
    """What the columns hold, and the lines of the head that are rows.

    Raises:
        BarsInvalid: columns are missing, there is no row, or none has as many fields as the header.
    """
    if not head.has_header:
        prices = {key(name) for name in head.commented} & {"high", "low"}
        if len(prices) == 2 and len(head.commented) == len(head.first):
            return columns.locate(head.commented, head, form, hints), head.lines
        return columns.by_place(head, form, hints), head.lines
    data = head.lines[form.header_lines :]
    widths = Counter(len(line.fields) for line in data)
    names = list(head.first)
    if len(names) not in widths and len(names) + 1 in widths:
        longer = [line.fields for line in data if len(line.fields) == len(names) + 1]
        if not any(row[-1] for row in longer):
            names.append("")  # a separator at the end of every row
        elif all(stamps.kind(row[0]) for row in longer):
            names.insert(0, "")  # an index without a name
    roles = columns.locate(names, head, form, hints)
    if not data:
        empty = "" if form.name == plain_text.NAME else f": an empty download ({form.name})"
        raise BarsInvalid(
            f"{head.path} has a header and no rows{empty}; download or export it again"
        )
    if len(names) not in widths:
        line = data[0]
        raise BarsInvalid(
            f"{head.path}, line {line.number}: {len(line.fields)} fields, the header has"
            f" {len(names)}; found {shown(line.fields)}; expected one field for each name; mend"
            " the header"
        )
    return roles, data


def _without_empty(sheet: Sheet, data: Sequence[Line], first: Line, notes: list[str]) -> Sheet:
    """The sheet without a volume or spread that is always empty.

    One that is empty in the first rows alone begins later: it is read, and 0 before.
    """
    for role in ("volume", "spread"):
        at: int | None = getattr(sheet.roles, role)
        if at is None or any(line.fields[at] for line in data):
            continue
        name, walk = sheet.roles.names[at][:40], blocks(sheet.path, first.at, first.number)
        told = (text_rows.first_value(block, sheet, at) for block in walk)
        begin = next((line for line in told if line is not None), None)
        if begin is None:
            notes.append(f"the column {name} is empty in all rows: not used")
            sheet = replace(sheet, roles=replace(sheet.roles, **{role: None}))
        else:
            notes.append(f"the column {name} begins in line {begin:,}: taken for 0 before")
            sheet = replace(sheet, begins={**sheet.begins, role: begin})
    return sheet


def _stamps(data: Sequence[Line], roles: Roles) -> list[str]:
    """The stamps of the head, two columns joined by a blank."""
    parts = [[line.fields[k] for k in roles.stamp] for line in data]
    return [" ".join(part) for part in parts if all(part)]


def _no_time(data: Sequence[Line], roles: Roles, path: Path) -> BarsInvalid:
    name = " and ".join(shown([roles.names[k]]) for k in roles.stamp)
    value = " ".join(data[0].fields[k] for k in roles.stamp)
    return BarsInvalid(
        f"{path}, line {data[0].number}: {name} is {value[:40]!r}; expected a time such as"
        " 2024-01-02T23:00:00Z, 2024.01.02 23:00 or 1704236400; say with --column which column"
        " has the times, or write them so"
    )


def _ordered(stamp: Stamp, values: Sequence[str], sheet: Sheet, first: Line, hints: Hints) -> Stamp:
    """The stamp with days and months in their order: as told, or as some day above 12 shows.

    Raises:
        BarsInvalid: no row of the file shows it.
    """
    if not stamp.days_and_months:
        return stamp
    day_first = hints.day_first
    if day_first is None:
        day_first = stamp.day_first(stamps.characters(values, stamp))
    if day_first is None and stamp.template[2] == ".":
        day_first = True
    if day_first is None:
        walk = blocks(sheet.path, first.at, first.number)
        told = (stamp.day_first(text_rows.stamp_text(block, sheet)) for block in walk)
        day_first = next((answer for answer in told if answer is not None), None)
    if day_first is None:
        raise BarsInvalid(
            f"{sheet.path}, line {first.number}: {values[0][:40]!r} may begin with the day or with"
            " the month, and no row tells, as none has a day above 12; say which with --day-first"
            " or --month-first"
        )
    return stamp if day_first else stamp.months_first()


def _decimal_comma(data: Sequence[Line], roles: Roles) -> bool:
    fields = [line.fields[k] for line in data for k in roles.px]
    comma = sum(re.fullmatch(text_rows.COMMA, f) is not None for f in fields)
    return comma > sum(re.fullmatch(text_rows.POINT, f) is not None for f in fields)


def _divisor(roles: Roles, data: Sequence[Line], hints: Hints, notes: list[str]) -> float:
    """Stored prices per unit of quote currency."""
    if hints.price_divisor is not None:
        return hints.price_divisor
    if not roles.integer:
        return 1
    opens = [line.fields[roles.px[0]] for line in data]
    whole = [int(f) for f in opens if f.isdecimal() and len(f) < 12]
    if not whole:
        return 1
    price, divisor = median(whole), 1
    while roles.integer == "int" and price / divisor >= 10 * LOW_GOLD:
        divisor *= 10
    divisor = 100 if roles.integer == "cents" else divisor
    notes.append(
        f"prices are whole numbers, divided by {divisor}: they begin near {price / divisor}"
    )
    return divisor


def _clock(
    form: Form, sheet: Sheet, values: Sequence[str], notes: list[str]
) -> Literal["utc", "per-row", "wall", "date"]:
    """What the stamps are; what a format says comes before what a zone of zero says."""
    clock = sheet.stamp.clock
    if clock == "per-row" and all(map(ZERO_OFFSET.fullmatch, values)):
        clock = "utc"
    if form.clock == "wall" and clock == "utc":
        if not sheet.stamp.unit_ns:
            notes.append(f"{form.name} gives server time: the zone of the times is not believed")
        return "wall"
    if clock != "wall":
        return clock
    if form.clock is None and sheet.roles.says_utc:
        notes.append(f"the column {sheet.roles.names[sheet.roles.stamp[0]][:40]} says UTC")
        return "utc"
    return form.clock or clock


def _spread_unit(
    form: Form, sheet: Sheet, data: Sequence[Line], notes: list[str]
) -> Literal["points", "price"]:
    at = sheet.roles.spread
    if at is None:
        return form.spread_unit or "price"
    named = key(sheet.roles.names[at]).endswith(("points", "pts"))
    values = [line.fields[at] for line in data]
    if form.spread_unit == "points" and any(map(FRACTION.fullmatch, values)):
        notes.append("the spread column has fractions: taken for prices, not for points")
        return "price"
    if form.spread_unit:
        return form.spread_unit
    whole = all(map(WHOLE.fullmatch, values)) and any(v.strip("0.") for v in values)
    if whole and not named:
        notes.append("the spread column has whole numbers: taken for points")
    return "points" if named or whole else "price"


def _layout(
    form: Form, sheet: Sheet, data: Sequence[Line], values: Sequence[str], notes: list[str]
) -> Layout:
    roles = sheet.roles
    clock = _clock(form, sheet, values, notes)
    spread_unit = _spread_unit(form, sheet, data, notes)
    if sheet.stamp.buddhist:
        notes.append("years are Buddhist (2563 is 2020): 543 are taken off")
    if sheet.decimal_comma:
        notes.append("numbers have a decimal comma")
    period = None if roles.period is None else data[0].fields[roles.period]
    symbol = None if roles.symbol is None else data[0].fields[roles.symbol]
    return Layout(
        form.name,
        clock,
        has_volume=roles.volume is not None,
        has_spread=roles.spread is not None,
        spread_unit=spread_unit,
        bar_ns=_bar_ns(period),
        symbol=symbol or None,
        unused=roles.unused,
        notes=(*notes, *form.notes),
    )


def _of_symbol(layout: Layout, symbol: str) -> Layout:
    futures = symbol.upper().endswith("=F")
    notes = (f"{symbol[:20]} is a future, not spot",) if futures else ()
    return replace(layout, symbol=symbol or None, notes=(*layout.notes, *notes))


def _bar_ns(period: str | None) -> int | None:
    """The length that M15, 15m, H1, 1d or 15 (minutes) states."""
    match = PERIOD.fullmatch(period.strip().upper()) if period else None
    if match is None or (match["a"] is None) == (match["b"] is None):
        return None
    return int(match["a"] or match["b"]) * PERIODS[match["unit"]] * MINUTE_NS or None
