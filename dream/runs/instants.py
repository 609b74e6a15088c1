"""Instants as a journal writes them: ISO 8601 in UTC."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

_UTC = re.compile(r"(?a)(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{9}))?Z")


# Many lines of a run share a day, and numpy's dates are slow one by one.
@lru_cache(maxsize=64)
def _date(day: int) -> str:
    return str(np.datetime64(day, "D"))


@lru_cache(maxsize=64)
def _day(date: str) -> int:
    return int(np.datetime64(date, "D").astype(np.int64))


def iso_utc(t_ns: int) -> str:
    """An instant as ISO 8601 in UTC; nine decimals only where it is not a whole second."""
    seconds, rest_ns = divmod(t_ns, 1_000_000_000)
    day, second = divmod(seconds, 86_400)
    whole = f"{_date(day)}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return f"{whole}.{rest_ns:09d}Z" if rest_ns else f"{whole}Z"


def ns_utc(text: str) -> int:
    """The int64 nanoseconds UTC that `iso_utc` wrote.

    Raises:
        ValueError: text has another form, or is no instant that fits (1677 ... 2262).
    """
    if found := _UTC.fullmatch(text):
        date, hour, minute, second, rest = found.groups()
        seconds = _day(date) * 86_400 + int(hour) * 3600 + int(minute) * 60 + int(second)
        t_ns = seconds * 1_000_000_000 + int(rest or 0)
        if -(2**63) < t_ns < 2**63 and rest != "000000000":
            return t_ns
    raise ValueError(f"not an instant in UTC as dream writes it: {text!r}")
