"""Rows of a block: at once where every field is as expected, else with the wrong ones named."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from dream.bars.importers import text_blocks
from dream.bars.importers.sheet import BadRow, Chunk
from dream.bars.importers.stamps import MONTH, MONTHS, SINGLE, TENTHS, Stamp
from dream.bars.importers.text_head import SEPARATORS, check_conflict, other_mark
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dream.bars.importers.columns import Roles
    from dream.bars.importers.text_blocks import Block
    from dream.types import F8, I8

Mask = npt.NDArray[np.bool_]
Text = npt.NDArray[np.uint8]
MOST_BAD: Final = 10_000
"""Wrong rows of one block, out of some ten thousand: more are another layout."""
FOUND_CHARS: Final = 120
POINT: Final = r"^[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?$"
COMMA: Final = r"^[+-]?(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+)?(?:,[0-9]*)?(?:[eE][+-]?[0-9]+)?$"
AMOUNTS: Final = {"K": 1e3, "M": 1e6, "B": 1e9}


@dataclass(frozen=True, slots=True)
class Sheet:
    """All that is needed to read the rows of a file.

    Attributes:
        width: fields of a row. divisor: stored prices per unit of quote currency.
        decimal_comma: whether 1.737,81 is a number and 1,737.81 is none.
        same: column to the value that every row must have, such as the symbol.
        like: the stamp of the first row.
        begins: of columns that are empty at first, the line of the first value; 0 is read before.
    """

    path: Path
    separator: str
    width: int
    roles: Roles
    stamp: Stamp
    decimal_comma: bool
    divisor: float
    same: dict[int, str]
    like: str
    begins: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def used(self) -> list[int]:
        """The columns that are read, in their order."""
        return sorted({*self.roles.stamp, *self.numbers.values(), *self.same})

    @property
    def numbers(self) -> dict[str, int]:
        """Names of the columns with numbers to their places."""
        roles = self.roles
        found = dict(zip(("open", "high", "low", "close"), roles.px, strict=True))
        found |= {} if roles.volume is None else {"volume": roles.volume}
        return found | ({} if roles.spread is None else {"spread": roles.spread})


def rows(block: Block, sheet: Sheet) -> Chunk:
    """The rows of a block.

    Raises:
        BarsInvalid: what is no fault of single rows: another symbol, another layout, a conflict.
    """
    return _at_once(block, sheet) or _one_by_one(block, sheet)


def _at_once(block: Block, sheet: Sheet) -> Chunk | None:
    """The rows, None where there is anything to complain of or to look at more closely."""
    if sheet.decimal_comma:
        return None
    marks = text_blocks.separators(block, sheet.separator, sheet.width)
    frame = None if marks is None else _parsed(block, sheet)
    if frame is None or marks is None or len(frame) != len(block.line):
        return None
    if sheet.stamp.unit_ns:
        stamps = frame[str(sheet.roles.stamp[0])]
        t_ns, ok = sheet.stamp.read_epoch(stamps.fill_null(-1).to_numpy())
    else:
        text = _characters(block, marks, sheet)
        if text is None:
            return None
        t_ns, ok = sheet.stamp.read(text)
    plain = {name: _finite(frame[str(k)]) for name, k in sheet.numbers.items()}
    values = {name: column for name, column in plain.items() if column is not None}
    same = all(frame[str(k)].eq_missing(value).all() for k, value in sheet.same.items())
    if not (ok.all() and same and len(values) == len(plain)):
        return None
    return _chunk(block.line, t_ns, values, sheet, ())


def _parsed(block: Block, sheet: Sheet) -> pl.DataFrame | None:
    """The columns that are read, None where a field is not what its column holds."""
    schema: dict[str, Any] = {str(k): pl.String for k in range(sheet.width)}
    schema |= {str(k): pl.Float64 for k in sheet.numbers.values()}
    used = {*sheet.numbers.values(), *sheet.same}
    if sheet.stamp.unit_ns:
        schema[str(sheet.roles.stamp[0])] = pl.Int64
        used.add(sheet.roles.stamp[0])
    try:
        return pl.read_csv(
            block.data,
            has_header=False,
            schema=schema,
            columns=sorted(used),
            separator=sheet.separator,
            quote_char=None,
        )
    except pl.exceptions.PolarsError:
        return None


def _finite(column: pl.Series) -> F8 | None:
    """NaN where a field is empty, None where one is an infinity or the word NaN."""
    values = column.to_numpy()
    odd = len(values) - int(np.isfinite(values).sum())
    return values if odd == column.null_count() else None


def _characters(block: Block, marks: I8, sheet: Sheet) -> Text | None:
    """(width, n) uint8 of the stamps, None unless all are as long as the template."""
    lines: list[Text] = []
    for k in sheet.roles.stamp:
        begin = np.append(0, block.end[:-1] + 1) if k == 0 else marks[:, k - 1] + 1
        end = block.end if k == marks.shape[1] else marks[:, k]
        width = int(end[0] - begin[0])
        if (end - begin != width).any() or width > len(sheet.stamp.template):
            return None
        window = np.lib.stride_tricks.sliding_window_view(block.text, width)
        lines += [np.full((1, len(begin)), ord(" "), np.uint8)] if lines else []
        lines.append(np.ascontiguousarray(window[begin].T))
    text = lines[0] if len(lines) == 1 else np.concatenate(lines)
    return text if len(text) == len(sheet.stamp.template) else None


def _chunk(
    line: I8, t_ns: I8, values: dict[str, F8], sheet: Sheet, bad: tuple[BadRow, ...]
) -> Chunk:
    px = np.stack([values[name] for name in ("open", "high", "low", "close")], axis=1)
    if sheet.divisor != 1:
        px /= sheet.divisor
    nothing = np.zeros(len(line))
    values |= {
        name: np.where((line < first) & np.isnan(values[name]), 0.0, values[name])
        for name, first in sheet.begins.items()
    }
    return Chunk(line, t_ns, px, values.get("volume", nothing), values.get("spread", nothing), bad)


def _one_by_one(block: Block, sheet: Sheet) -> Chunk:
    """The rows that can be read, and the others by name."""
    found, still_open = text_blocks.counts(block, sheet.separator)
    right = (found == sheet.width) & ~still_open
    begins = np.append(0, block.end + 1)
    bad: dict[int, BadRow] = {}
    wrong = np.flatnonzero(~right)
    _check_number(len(wrong), block, sheet)
    for k in wrong.tolist():
        text = block.data[begins[k] : begins[k + 1] - 1].decode("utf-8", "backslashreplace")
        line = int(block.line[k])
        check_conflict(text, sheet.path, line)
        if text.strip():
            bad[line] = _wrong_columns(
                text, line, int(found[k]), still_open=bool(still_open[k]), sheet=sheet
            )
    lines = block.line[right]
    frame = _strings(block, right, sheet)
    _check_same(frame, lines, sheet)
    t_ns, ok = _stamps(frame, sheet)
    values: dict[str, F8] = {}
    faults: list[tuple[str, Mask, str | None]] = [(_stamp_name(sheet), ok, None)]
    for name, k in sheet.numbers.items():
        column, fine = _numbers(frame[str(k)], sheet.decimal_comma, name == "volume")
        values[name] = column
        faults.append((sheet.roles.names[k] or name, fine, str(k)))
        ok = ok & fine
    _check_number(int((~ok).sum()), block, sheet)
    for row in np.flatnonzero(~ok).tolist():
        name, _, k = next(fault for fault in faults if not fault[1][row])
        value = _stamp_text(frame[row], sheet)[0] if k is None else frame[k][row]
        said = f"{name[:40]} is {value!r}"
        said += f", the first row has {sheet.like[:40]!r}" if k is None else ""
        line = int(lines[row])
        bad[line] = BadRow(line, "unreadable", said[:FOUND_CHARS])
    kept = {name: column[ok] for name, column in values.items()}
    named = tuple(bad[line] for line in sorted(bad))
    return _chunk(lines[ok], t_ns[ok], kept, sheet, named)


def first_value(block: Block, sheet: Sheet, column: int) -> int | None:
    """The first line of a block with something in a column, None where it is empty in all."""
    found, still_open = text_blocks.counts(block, sheet.separator)
    right = (found == sheet.width) & ~still_open
    filled = (_strings(block, right, sheet)[str(column)] != "").to_numpy()
    lines = block.line[right][filled]
    return int(lines[0]) if len(lines) else None


def stamp_text(block: Block, sheet: Sheet) -> Text:
    """(width, m) uint8 of the stamps of a block that are as long as the template."""
    found, still_open = text_blocks.counts(block, sheet.separator)
    frame = _strings(block, (found == sheet.width) & ~still_open, sheet)
    return _matrix(tidied(_stamp_text(frame, sheet)), len(sheet.stamp.template))[0]


def _strings(block: Block, right: Mask, sheet: Sheet) -> pl.DataFrame:
    """The fields of the lines that have all of them, as text without the blanks around it."""
    data = block.data
    if not right.all():
        keep = np.repeat(right, np.diff(block.end, prepend=-1))
        data = block.text[keep].tobytes()
    schema = {str(k): pl.String for k in range(sheet.width)}
    nothing = pl.DataFrame(schema={str(k): pl.String for k in sheet.used})
    if not data:
        return nothing
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            schema=schema,
            columns=sheet.used,
            separator=sheet.separator,
            quote_char='"',
            encoding="utf8-lossy",
        )
    except pl.exceptions.PolarsError:
        frame = nothing
    if len(frame) != int(right.sum()):
        raise BarsInvalid(
            f"{sheet.path}, lines {block.line[0]} to {block.line[-1]}: the quotation marks do not"
            " stand around whole fields; expected them so or none at all; export it again"
        )
    return frame.select(pl.all().fill_null("").str.strip_chars())


def _wrong_columns(text: str, line: int, found: int, *, still_open: bool, sheet: Sheet) -> BadRow:
    if still_open:
        return BadRow(line, "unreadable", f"a quotation mark is not closed: {text[:60]!r}")
    other = other_mark(text, sheet.separator, sheet.width)
    separated = f" separated by a {other}, not a {SEPARATORS[sheet.separator]}" if other else ""
    said = f"{found} fields, the other rows have {sheet.width}: {text[:50]!r}"
    said = f"its fields are{separated}: {text[:50]!r}" if other else said
    return BadRow(line, "columns", said[:FOUND_CHARS])


def _check_number(wrong: int, block: Block, sheet: Sheet) -> None:
    if wrong > MOST_BAD:
        raise BarsInvalid(
            f"{sheet.path}: {wrong:,} of the lines {block.line[0]:,} to {block.line[-1]:,} are not"
            f" like the first rows of the file; expected one layout; cut the file where it changes"
        )


def _check_same(frame: pl.DataFrame, lines: I8, sheet: Sheet) -> None:
    for k, value in sheet.same.items():
        other = frame[str(k)] != value
        if other.any():
            row = other.arg_max() or 0
            raise BarsInvalid(
                f"{sheet.path}, line {lines[row]}: {sheet.roles.names[k][:40]} is"
                f" {frame[str(k)][row][:40]!r}; expected {value[:40]!r} as in the first row;"
                " keep the rows of one series in a file"
            )


def _stamp_name(sheet: Sheet) -> str:
    names = [sheet.roles.names[k] for k in sheet.roles.stamp]
    return " and ".join(names) or "timestamp"


def _stamp_text(frame: pl.DataFrame, sheet: Sheet) -> pl.Series:
    columns = [pl.col(str(k)) for k in sheet.roles.stamp]
    return frame.select(pl.concat_str(columns, separator=" ").alias("stamp"))["stamp"]


def _stamps(frame: pl.DataFrame, sheet: Sheet) -> tuple[I8, Mask]:
    """(n,) times of the rows; (n,) whether they are such."""
    text = _stamp_text(frame, sheet)
    if sheet.stamp.unit_ns:
        values = text.str.replace(r"^([0-9]+)\.0+$", "$1").cast(pl.Int64, strict=False)
        return sheet.stamp.read_epoch(values.fill_null(-1).to_numpy())
    width = len(sheet.stamp.template)
    t_ns, ok = np.zeros(len(text), np.int64), np.zeros(len(text), np.bool_)
    for form in (pl.Series.rechunk, tidied):  # few files are untidy, and it takes time
        rest = np.flatnonzero(~ok)
        if len(rest):
            matrix, fits = _matrix(form(text.gather(rest)), width)
            t_ns[rest[fits]], ok[rest[fits]] = sheet.stamp.read(matrix)
    return t_ns, ok


def tidied(text: pl.Series) -> pl.Series:
    """What `stamps.tidy` does, for many."""
    named = text.str.contains(r"[A-Za-z]{3}").any()
    if named:
        lower = text.str.extract(MONTH).str.to_lowercase()
        number = lower.replace_strict(
            list(MONTHS), [f"@{k:02d}" for k in range(1, 13)], default=None, return_dtype=pl.String
        )
        bare = pl.select(
            pl.when(number.is_not_null())
            .then(
                pl.concat_str(
                    [
                        text.str.extract(rf"^(.*?){MONTH}"),
                        number,
                        text.str.extract(rf"{MONTH}(.*)$", 2),
                    ]
                )
            )
            .otherwise(text)
        ).to_series()
        text = bare
    return text.str.replace(TENTHS, "${1}00").str.replace_all(SINGLE, "0$1")


def _matrix(text: pl.Series, width: int) -> tuple[Text, Mask]:
    """(width, m) uint8 of the texts of that length in bytes; (n,) which they are."""
    fits = (text.str.len_bytes() == width).fill_null(value=False)
    joined = "".join(text.filter(fits).to_list()).encode()
    return np.frombuffer(joined, np.uint8).reshape(-1, width).T, fits.to_numpy()


def _numbers(column: pl.Series, decimal_comma: bool, amounts: bool) -> tuple[F8, Mask]:
    """(n,) values, NaN where a field is empty; (n,) whether the field is empty or a number."""
    values = np.full(len(column), np.nan)
    if not decimal_comma:
        values = column.cast(pl.Float64, strict=False).to_numpy(writable=True)
    ok = np.isfinite(values) | (column == "").to_numpy()
    rest = np.flatnonzero(~ok)
    if len(rest):
        values[rest], ok[rest] = _written(column.gather(rest), decimal_comma, amounts)
    return values, ok


def _written(text: pl.Series, decimal_comma: bool, amounts: bool) -> tuple[F8, Mask]:
    """The same of numbers with marks between thousands, a decimal comma or K, M, B behind them."""
    factor = 1.0
    if amounts:
        unit = text.str.extract("([KMB])$")
        factor = unit.replace_strict(AMOUNTS, default=1.0, return_dtype=pl.Float64).to_numpy()
        text = text.str.replace("[KMB]$|^-$", "")
    form = text.str.contains(COMMA if decimal_comma else POINT).to_numpy()
    plain = text.str.replace_all("." if decimal_comma else ",", "", literal=True)
    plain = plain.str.replace(",", ".", literal=True)
    values = plain.cast(pl.Float64, strict=False).to_numpy() * factor
    return values, (form & np.isfinite(values)) | (text == "").to_numpy()
