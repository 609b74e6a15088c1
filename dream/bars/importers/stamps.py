"""Stamp layouts: a template such as `yyyy-mm-dd hh:nn:ss` says where each digit of a time stands.

The times are read by place, not by a date parser: those take `:60`, signs and blanks for times, and
are slow where a row has an offset or AM and PM.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import numpy.typing as npt

from dream.bars.clock.clocks import FIRST_YEAR, LAST_YEAR, SECOND_NS, year_start_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dream.types import I4, I8

Mask = npt.NDArray[np.bool_]
Text = npt.NDArray[np.uint8]
Kind = Literal["full", "date", "time", "epoch"]

FIELDS: Final = "ymdhinsfpqguv"
"""Year, month, day, hour, 12-hour, minute, second, fraction, A or P, the M after it, sign and hours
and minutes of the offset. Literals are never small letters."""
DATE: Final = "ymd"
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH: Final = rf"(?i)({'|'.join(MONTHS)})[a-z]*\.?"
SINGLE: Final = r"\b([0-9])\b"
TENTHS: Final = r"(:[0-9]{2}\.[0-9])\b"
"""Tenths of seconds get two zeros, so that SINGLE does not put one before them."""
BUDDHIST_YEARS: Final = 543
FIRST_EPOCH_S: Final = 100_000_000
"""Epoch numbers begin in 1973: seconds among milliseconds would read as January 1970."""
DAY_NS: Final = 86_400 * SECOND_NS
MOST_AHEAD_MIN: Final = 14 * 60

_YEAR: Final = r"(?:19|2[014567])\d\d"
_DATES: Final = (
    (re.compile(rf"{_YEAR}([-./])\d\d\1\d\d"), "yyyy-mm-dd"),
    (re.compile(r"\d\d([-./])\d\d\1\d{4}"), "dd-mm-yyyy"),
    (re.compile(r"\d\d([./])\d\d\1\d\d"), "dd-mm-yy"),
    (re.compile(rf"{_YEAR}[01]\d[0-3]\d"), "yyyymmdd"),
    (re.compile(r"\d\d([- /])@\d\d\1\d{4}"), "dd-@mm-yyyy"),
    (re.compile(r"@\d\d \d\d, \d{4}"), "@mm dd, yyyy"),
    (re.compile(r"@\d\d \d\d \d{4}"), "@mm dd yyyy"),
)
_TIME: Final = re.compile(r"(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)( ?[AaPp][Mm])?|\d{6}|\d{4}")
_COMPACT: Final = re.compile(r"(\d{8})()(\d{6}|\d{4})")
_JOINED: Final = re.compile(r"(.*?\d)( +|T|_)(\d\d:\d\d.*|\d{6}|\d{4})")
_ZONE: Final = re.compile(r"(.*?(?:\d|[AaPp][Mm]))( ?(?:GMT|UTC)?)((?: ?)[+-]\d\d(?::?\d\d)?| ?Z)?")
_EPOCH: Final = re.compile(r"(\d{9,10}|\d{12,13}|\d{15,16}|\d{18,19})(?:\.0+)?")


@dataclass(frozen=True, slots=True)
class Stamp:
    """How the opening times of a file are written.

    Attributes:
        template: place of every digit; letters of FIELDS, other characters stand for themselves;
            two columns are joined by a blank. "" where times are numbers since 1970.
        unit_ns: nanoseconds of such a number, else 0.
        buddhist: whether years count from 543 years earlier.
    """

    template: str
    unit_ns: int = 0
    buddhist: bool = False

    @property
    def clock(self) -> Literal["utc", "per-row", "wall", "date"]:
        """What the stamps are, as `sheet.Layout.clock`; offsets that are all zero count as one."""
        if self.unit_ns or self.template.endswith(("Z", "UTC", "GMT")):
            return "utc"
        if "g" in self.template:
            return "per-row"
        return "wall" if "n" in self.template else "date"

    @property
    def days_and_months(self) -> bool:
        """Whether day and month are both two digits with the year behind them."""
        return self.template[:2] in {"dd", "mm"} and self.template[3:5] in {"dd", "mm"}

    def months_first(self) -> Stamp:
        """The same with days and months the other way round."""
        return replace(self, template=self.template.translate({100: "m", 109: "d"}))

    def read(self, text: Text) -> tuple[I8, Mask]:
        """Nanoseconds since 1970, as the stamps read or, with offsets, UTC.

        Args:
            text: (width, n) uint8, the characters.

        Returns:
            (n,) int64, anything where the stamp is none; (n,) whether it is one.
        """
        rows = text.shape[1]
        begins = np.ones(rows, np.bool_)  # most rows have the date of the row before
        begins[1:] = False
        for code, row in zip(self.template, text, strict=True):
            if code in DATE:
                begins[1:] |= row[1:] != row[:-1]
        first = np.flatnonzero(begins)
        days, fine = self._days(text[:, first])
        times = np.diff(np.append(first, rows))
        ok = np.repeat(fine, times)
        of_day_ns, fine = self._of_day(text)
        ok &= fine
        return np.repeat(days * DAY_NS, times) + of_day_ns, ok

    def _days(self, text: Text) -> tuple[I8, Mask]:
        """(n,) int64 dates as days since 1970; (n,) whether they are such."""
        part, ok = self._numbers(text, dates=True)
        year, month, day = part["y"], part["m"], part["d"]
        if self.template.count("y") == 2:
            year = year + np.where(year < 70, 2000, 1900)  # as strptime of C reads them
        elif self.buddhist:
            year = year - BUDDHIST_YEARS
        ok &= (year >= FIRST_YEAR) & (year <= LAST_YEAR) & (month >= 1) & (month <= 12) & (day >= 1)
        months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
        dates = months.astype("M8[D]") + (day - 1)
        ok &= dates.astype("M8[M]") == months  # no 30 February
        return dates.astype(np.int64), ok

    def _of_day(self, text: Text) -> tuple[I8, Mask]:
        """(n,) int64 nanoseconds since midnight, of stamps with offsets since that of UTC."""
        part, ok = self._numbers(text, dates=False)
        none = np.zeros(1, np.int32)
        hour, minute, second = (part.get(code, none) for code in "hns")
        if "i" in part:
            ok &= (part["i"] >= 1) & (part["i"] <= 12)
            hour = part["i"] % 12 + 12 * part["p"]
        ahead_min = part.get("u", none) * 60 + part.get("v", none)
        ok &= (hour < 24) & (minute < 60) & (second < 60)
        ok &= (ahead_min <= MOST_AHEAD_MIN) & (part.get("v", none) < 60)
        ahead_min = ahead_min * (1 - 2 * part.get("g", none))
        t_ns = (((hour * 60) + minute - ahead_min) * 60 + second) * np.int64(SECOND_NS)
        if "f" in part:
            t_ns = t_ns + part["f"].astype(np.int64) * 10 ** (9 - self.template.count("f"))
        return t_ns, ok

    def _numbers(self, text: Text, *, dates: bool) -> tuple[dict[str, I4], Mask]:
        """The fields of dates, or all others, as (n,) int32; (n,) whether they can be such."""
        ok = np.ones(text.shape[1], np.bool_)
        part: dict[str, I4] = {}
        for code, row in zip(self.template, text, strict=True):
            if (code in DATE) != dates:
                continue
            if code not in FIELDS:
                ok &= row == ord(code)
            elif code in "pqg":
                low, high = {"p": (b"ap"), "q": (b"mm"), "g": (b"+-")}[code]
                plain = row if code == "g" else row | 0x20
                ok &= (plain == low) | (plain == high)
                part[code] = (plain == high).astype(np.int32)
            else:
                digit = row - 48  # wraps around where it is none
                ok &= digit <= 9
                part[code] = part[code] * 10 + digit if code in part else digit.astype(np.int32)
        return part, ok

    def read_epoch(self, values: I8) -> tuple[I8, Mask]:
        """The same of (n,) int64 numbers since 1970."""
        unit_ns = self.unit_ns
        low, high = FIRST_EPOCH_S * SECOND_NS // unit_ns, year_start_ns(LAST_YEAR + 1) // unit_ns
        ok = (values >= low) & (values < high)
        return np.where(ok, values, 0) * unit_ns, ok

    def day_first(self, text: Text) -> bool | None:
        """What (width, n) characters say of the order of days and months, None if nothing."""
        first, second = ((text[k].astype(np.int64) - 48) * 10 + text[k + 1] - 48 for k in (0, 3))
        days = int(((first > 12) & (first < 32) & (second <= 12)).sum())
        months = int(((second > 12) & (second < 32) & (first <= 12)).sum())
        return None if days == months == 0 else days >= months


def tidy(text: str) -> str:
    """A stamp with two digits in every place and @11 for November."""
    named = re.sub(MONTH, lambda m: f"@{MONTHS.index(m[1].lower()) + 1:02d}", text)
    return re.sub(SINGLE, r"0\1", re.sub(TENTHS, r"\g<1>00", named))


def kind(text: str) -> Kind | None:
    """What a field may be: a whole stamp, half of one, a number since 1970 or none of them."""
    plain = tidy(text)
    if _date(plain) is not None:
        return "date"
    if _template(plain) is not None:
        return "full"
    if _EPOCH.fullmatch(plain):
        return "epoch"
    return "time" if _TIME.fullmatch(plain) else None


def find(values: Iterable[str]) -> Stamp | None:
    """The layout of the most of some stamps, days before months where that is open."""
    found: Counter[Stamp] = Counter()
    for value in values:
        plain = tidy(value)
        template = _template(plain)
        if template is None:
            number = _EPOCH.fullmatch(plain)
            if number:
                found[Stamp("", 10 ** (9 - 3 * ((len(number[1]) - 9) // 3)))] += 1
            continue
        at = template.find("yyyy")
        found[Stamp(template, 0, at >= 0 and plain[at : at + 2] in {"24", "25", "26", "27"})] += 1
    return found.most_common(1)[0][0] if found else None


def characters(values: Sequence[str], stamp: Stamp) -> Text:
    """(width, n) uint8 of the tidied stamps that are as long as the template."""
    plain = [v.encode() for v in map(tidy, values)]
    plain = [v for v in plain if len(v) == len(stamp.template)]
    return np.frombuffer(b"".join(plain), np.uint8).reshape(-1, len(stamp.template)).T


def _date(text: str) -> str | None:
    for form, template in _DATES:
        match = form.fullmatch(text)
        if match:
            return template.replace("-", match[1]) if form.groups else template
    return None


def _time(text: str) -> str | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    if match[1] is None:
        return "hhnnss"[: len(text)]
    clock = "hh:nn:ss.fffffffff"[: len(match[1])]
    if match[2] is None:
        return clock
    return clock.replace("h", "i") + (" pq" if match[2][0] == " " else "pq")


def _template(text: str) -> str | None:
    """The template of a tidied date, or date and time, None if it is neither."""
    if (date := _date(text)) is not None:
        return date
    zone = _ZONE.fullmatch(text)
    for local, behind in ((text, ""), (zone[1], _behind(zone)) if zone else (text, "")):
        match = _COMPACT.fullmatch(local) or _JOINED.fullmatch(local)
        if match:
            date, time = _date(match[1]), _time(match[3])
            if date and time:
                return date + match[2] + time + behind
    return None


def _behind(zone: re.Match[str]) -> str:
    """The template of what follows a time: a name, an offset or both."""
    offset = zone[3] or ""
    return zone[2] + (offset if "Z" in offset else _digits_of(offset))


def _digits_of(offset: str) -> str:
    codes = iter("guuvv")
    return "".join(c if c in " :" else next(codes) for c in offset)
