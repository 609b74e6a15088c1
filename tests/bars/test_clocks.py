"""The trading clock against known instants and against zoneinfo, one instant at a time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars.clock import clocks
from dream.errors import SpecInvalid
from dream.types import MINUTE_NS

M15 = 15 * MINUTE_NS
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ns(text: str) -> int:
    return int((datetime.fromisoformat(text) - EPOCH).total_seconds()) * 10**9


def clock(*texts: str, bar_ns: int = M15) -> list[tuple[str, int]]:
    minute, day = clocks.trading_clock(np.array([ns(t) for t in texts]), bar_ns)
    assert (minute.dtype, day.dtype) == (np.int16, np.int32)
    days = [(date(1970, 1, 1) + timedelta(days=int(d))).isoformat() for d in day]
    return list(zip(days, minute.tolist(), strict=True))


@pytest.mark.parametrize(
    ("opens", "day", "minute"),
    [
        ("2024-01-01T23:00Z", "2024-01-02", 75),  # winter: 18:00 New York is 23:00 UTC
        ("2024-07-01T22:00Z", "2024-07-02", 75),  # summer: 22:00 UTC
        ("2024-03-11T22:00Z", "2024-03-12", 75),  # America has switched, Europe has not
        ("2024-03-08T23:00Z", "2024-03-09", 75),  # the Friday before
        ("2024-10-30T22:00Z", "2024-10-31", 75),  # Europe has switched back, America has not
        ("2024-11-04T23:00Z", "2024-11-05", 75),
        ("2024-01-02T21:45Z", "2024-01-02", 1440),  # the last bar of a day closes at its end
        ("2024-07-02T20:45Z", "2024-07-02", 1440),
        ("2024-01-02T22:00Z", "2024-01-03", 15),  # the closed hour heads the next day
        ("2024-01-05T21:45Z", "2024-01-05", 1440),  # Friday's last
        ("2024-01-07T23:00Z", "2024-01-08", 75),  # Sunday evening is Monday
        ("2024-03-10T06:45Z", "2024-03-10", 540),  # 01:45 New York, then the clock jumps to
        ("2024-03-10T07:00Z", "2024-03-10", 615),  # 03:00
        ("2024-11-03T05:45Z", "2024-11-03", 540),  # 01:45, and then again
        ("2024-11-03T06:00Z", "2024-11-03", 495),  # 01:00
        ("2006-03-26T22:00Z", "2006-03-27", 0 + 15),  # until 2006 America switched in April
        ("2006-04-03T22:00Z", "2006-04-04", 75),
    ],
)
def test_known_instants(opens: str, day: str, minute: int) -> None:
    assert clock(opens) == [(day, minute)]


def test_the_minute_counts_from_the_day_in_which_a_bar_opens() -> None:
    assert clock("2024-01-02T21:00Z", bar_ns=60 * MINUTE_NS) == [("2024-01-02", 1440)]
    assert clock("2024-01-01T22:00Z", bar_ns=1440 * MINUTE_NS) == [("2024-01-02", 1440)]
    assert clock("2024-01-01T23:00Z", bar_ns=MINUTE_NS) == [("2024-01-02", 61)]


def test_nothing_in_nothing_out() -> None:
    minute, day = clocks.trading_clock(np.empty(0, np.int64), M15)
    assert len(minute) == len(day) == 0


MINUTES = st.integers(ns("1902-01-01T00:00Z") // MINUTE_NS, ns("2198-12-31T00:00Z") // MINUTE_NS)


@given(st.lists(MINUTES, min_size=1, max_size=20))
def test_every_instant_agrees_with_the_time_zone_database(minutes: list[int]) -> None:
    minute, day = clocks.trading_clock(np.array(minutes) * MINUTE_NS, M15)
    for k, instant in enumerate(minutes):
        new_york = (EPOCH + timedelta(minutes=instant)).astimezone(ZoneInfo("America/New_York"))
        wall = new_york.replace(tzinfo=None) + timedelta(hours=7)
        assert day[k] == (wall.date() - date(1970, 1, 1)).days
        assert minute[k] == wall.hour * 60 + wall.minute + 15


@given(st.lists(st.integers(-20_000, 80_000), min_size=1, max_size=20), st.integers(60, 1439))
def test_instants_undo_the_clock(days: list[int], minute: int) -> None:
    # Sundays are left out: New York changes its clock in their small hours, the market is closed.
    day = np.array([d for d in days if (d + 4) % 7] or [4], np.int64)
    t_ns = clocks.instants(day, minute)
    closes, again = clocks.trading_clock(t_ns, 0)
    assert again.tolist() == day.tolist()
    assert set(closes.tolist()) == {minute}


def test_instants_of_session_opens() -> None:
    days = np.array([(date(2024, 1, 2) - date(1970, 1, 1)).days, 19906])
    assert days[1] == (date(2024, 7, 2) - date(1970, 1, 1)).days
    assert [clocks.iso(int(t)) for t in clocks.instants(days, 60)] == [
        "2024-01-01T23:00:00Z",
        "2024-07-01T22:00:00Z",
    ]


@pytest.mark.parametrize(
    ("t_ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_704_150_000_000_000_000, "2024-01-01T23:00:00Z"),
        (-1_000_000_000, "1969-12-31T23:59:59Z"),
        (1_500_000_000, "1970-01-01T00:00:01.5Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
    ],
)
def test_iso(t_ns: int, text: str) -> None:
    assert clocks.iso(t_ns) == text


def test_day_text() -> None:
    assert clocks.day_text(0) == "1970-01-01"
    assert clocks.day_text(19906) == "2024-07-02"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2024-01-02", "2024-01-02T00:00:00Z"),  # a bare date is the start of that UTC day
        ("2024-01-02T23:00:00Z", "2024-01-02T23:00:00Z"),
        ("2024-01-02T23:00Z", "2024-01-02T23:00:00Z"),
        ("2024-01-02T18:00:00-05:00", "2024-01-02T23:00:00Z"),
        ("2024-01-02T23:00:00.25Z", "2024-01-02T23:00:00.25Z"),
    ],
)
def test_parse_instant(text: str, same: str) -> None:
    assert clocks.iso(clocks.parse_instant(text)) == same


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yesterday", "not a date"),
        ("2024-02-30", "not a date"),
        ("", "not a date"),
        ("2024-01-02T23:00:00", "no time zone"),
        ("20240102", "no time zone"),
        ("1850-01-01", "outside"),
        ("9999-12-31", "outside"),
    ],
)
def test_parse_instant_refuses(text: str, why: str) -> None:
    with pytest.raises(SpecInvalid, match=why) as caught:
        clocks.parse_instant(text)
    assert "expected a date such as 2024-01-02" in str(caught.value)
