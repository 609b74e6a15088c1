"""Source clocks against zoneinfo one stamp at a time, and against switches known by hand."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dream.bars.clock import clocks, zones
from dream.errors import SpecInvalid
from dream.types import MINUTE_NS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR_NS = 60 * MINUTE_NS
RULES = {
    "utc": (UTC, 0),
    "per-row": (UTC, 0),
    "fixed:+03:00": (timezone(timedelta(hours=3)), 0),
    "fixed:-05:30": (timezone(timedelta(hours=-5, minutes=-30)), 0),
    "ny+7": (ZoneInfo("America/New_York"), 7),
    "eet-eu": (ZoneInfo("Europe/Helsinki"), 0),
    "london-5": (ZoneInfo("Europe/London"), -5),
    "Europe/London": (ZoneInfo("Europe/London"), 0),
    "Asia/Kathmandu": (ZoneInfo("Asia/Kathmandu"), 0),
    "Australia/Lord_Howe": (ZoneInfo("Australia/Lord_Howe"), 0),
    "Pacific/Apia": (ZoneInfo("Pacific/Apia"), 0),
}


def ns(text: str) -> int:
    """An ISO text as nanoseconds; without a zone as a wall clock reads."""
    moment = datetime.fromisoformat(text)
    return int((moment.replace(tzinfo=moment.tzinfo or UTC) - EPOCH).total_seconds()) * 10**9


def utc(clock: str, *walls: str) -> zones.Converted:
    return zones.to_utc(np.array([ns(w) for w in walls]), zones.parse_clock(clock))


SECONDS = st.integers(ns("1990-01-01T00:00") // 10**9, ns("2037-12-30T00:00") // 10**9)


@pytest.mark.parametrize("text", RULES)
@settings(max_examples=settings.default.max_examples // 3)
@given(seconds=st.lists(SECONDS, min_size=1, max_size=40))
def test_every_rule_agrees_with_the_time_zone_database(text: str, seconds: list[int]) -> None:
    zone, hours = RULES[text]
    t_ns = np.array(seconds) * 10**9
    wall = zones.to_wall(t_ns, zones.parse_clock(text))
    for k, second in enumerate(seconds):
        local = (EPOCH + timedelta(seconds=second)).astimezone(zone).replace(tzinfo=None)
        assert wall[k] == ns((local + timedelta(hours=hours)).isoformat())
    back = zones.to_utc(wall, zones.parse_clock(text))
    assert not back.missing.any()
    assert np.array_equal(back.t_ns[~back.doubled], t_ns[~back.doubled])


@pytest.mark.parametrize("text", RULES)
@settings(max_examples=settings.default.max_examples // 3)
@given(seconds=st.lists(SECONDS, min_size=1, max_size=40))
def test_every_wall_time_is_read_as_the_time_zone_database_does(
    text: str, seconds: list[int]
) -> None:
    zone, hours = RULES[text]
    found = zones.to_utc(np.array(seconds) * 10**9, zones.parse_clock(text))
    for k, second in enumerate(seconds):
        naive = (EPOCH + timedelta(seconds=second)).replace(tzinfo=None) - timedelta(hours=hours)
        first, second_time = (naive.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        instants = [m.astimezone(UTC) for m in (first, second_time)]
        assert found.t_ns[k] == ns(instants[0].isoformat())
        exists = instants[0].astimezone(zone).replace(tzinfo=None) == naive
        assert found.missing[k] == (not exists)
        assert found.doubled[k] == (exists and instants[0] != instants[1])


@pytest.mark.parametrize(
    ("clock", "wall", "instant"),
    [
        ("ny+7", "2024-03-08T23:45", "2024-03-08T21:45Z"),  # UTC+2 until America switches
        ("ny+7", "2024-03-11T01:00", "2024-03-10T22:00Z"),  # UTC+3 from then on
        ("ny+7", "2024-11-01T23:45", "2024-11-01T20:45Z"),
        ("ny+7", "2024-11-04T01:00", "2024-11-03T23:00Z"),
        ("ny+7", "2006-03-27T01:00", "2006-03-26T23:00Z"),  # until 2006 America waited for April
        ("eet-eu", "2024-03-11T00:00", "2024-03-10T22:00Z"),  # the day begins an hour earlier
        ("eet-eu", "2024-04-01T01:00", "2024-03-31T22:00Z"),
        ("eet-eu", "2024-10-28T00:00", "2024-10-27T22:00Z"),
        ("london-5", "2024-01-01T18:00", "2024-01-01T23:00Z"),
        ("london-5", "2024-04-01T18:00", "2024-04-01T22:00Z"),
        ("Europe/London", "2024-10-20T23:05", "2024-10-20T22:05Z"),
        ("Europe/London", "2024-10-27T22:05", "2024-10-27T22:05Z"),
        ("fixed:+05:30", "2025-03-03T04:30", "2025-03-02T23:00Z"),
        ("fixed:-03:30", "2025-03-03T04:30", "2025-03-03T08:00Z"),
        ("Asia/Tokyo", "2025-03-03T08:00", "2025-03-02T23:00Z"),
    ],
)
def test_switches_known_by_hand(clock: str, wall: str, instant: str) -> None:
    found = utc(clock, wall)
    assert clocks.iso(int(found.t_ns[0])) == clocks.iso(ns(instant))
    assert not found.missing[0]
    assert not found.doubled[0]


def test_hours_that_a_clock_skips_or_shows_twice() -> None:
    spring = utc("eet-eu", *(f"2024-03-31T{t}" for t in ("02:59", "03:00", "03:59", "04:00")))
    assert spring.missing.tolist() == [False, True, True, False]
    assert not spring.doubled.any()
    autumn = utc("eet-eu", *(f"2024-10-27T{t}" for t in ("02:59", "03:00", "03:59", "04:00")))
    assert autumn.doubled.tolist() == [False, True, True, False]
    assert not autumn.missing.any()
    firsts = [clocks.iso(int(t))[11:16] for t in autumn.t_ns]
    assert firsts == ["23:59", "00:00", "00:59", "02:00"]


def test_many_rows_in_any_order_are_converted_as_one_by_one() -> None:
    rng = np.random.default_rng(5)
    wall = rng.integers(ns("2000-01-01T00:00"), ns("2030-01-01T00:00"), 200_000)
    clock = zones.parse_clock("eet-eu,ny+7@2021-01-04")
    for stamps in (wall, np.sort(wall)):
        whole = zones.to_utc(stamps, clock)
        for k in range(0, len(stamps), 20_011):
            one = zones.to_utc(stamps[k : k + 1], clock)
            assert whole.t_ns[k] == one.t_ns[0]
            assert (whole.missing[k], whole.doubled[k]) == (one.missing[0], one.doubled[0])


def test_nothing_in_nothing_out() -> None:
    clock = zones.parse_clock("eet-eu,ny+7@2021-01-04")
    nothing = np.empty(0, np.int64)
    found = zones.to_utc(nothing, clock)
    assert len(found.t_ns) == len(found.missing) == len(found.doubled) == 0
    assert len(zones.to_wall(nothing, clock)) == 0


def test_stamps_from_the_date_on_are_read_by_the_new_rule() -> None:
    walls = ("2020-03-16T12:00", "2021-01-03T23:59", "2021-01-04T00:00", "2021-03-15T12:00")
    found = utc("eet-eu,ny+7@2021-01-04", *walls)
    assert [clocks.iso(int(t))[:16] for t in found.t_ns] == [
        "2020-03-16T10:00",  # European dates
        "2021-01-03T21:59",
        "2021-01-03T22:00",
        "2021-03-15T09:00",  # American dates
    ]
    assert not (found.missing | found.doubled).any()


def test_a_clock_put_forward_skips_the_time_before_midnight() -> None:
    walls = ("2021-01-03T21:59", "2021-01-03T22:00", "2021-01-03T23:59", "2021-01-04T00:00")
    found = utc("utc,fixed:+02:00@2021-01-04", *walls)
    assert found.missing.tolist() == [False, True, True, False]
    assert clocks.iso(int(found.t_ns[0])) == "2021-01-03T21:59:00Z"
    assert clocks.iso(int(found.t_ns[3])) == "2021-01-03T22:00:00Z"


def test_a_clock_put_back_shows_the_time_before_midnight_twice() -> None:
    walls = ("2021-01-03T21:59", "2021-01-03T22:00", "2021-01-03T23:59", "2021-01-04T00:00")
    found = utc("fixed:+02:00,utc@2021-01-04", *walls)
    assert found.doubled.tolist() == [False, True, True, False]
    assert [clocks.iso(int(t))[11:16] for t in found.t_ns] == ["19:59", "20:00", "21:59", "00:00"]


@pytest.mark.parametrize(
    "text",
    [
        "eet-eu,ny+7@2021-03-14",  # on the day of America's switch
        "ny+7,eet-eu@2021-03-28",  # and of Europe's
        "Europe/London,Asia/Tokyo@2021-03-28,America/New_York@2021-03-30",
        "Asia/Tokyo,America/New_York@2021-03-14,Pacific/Auckland@2021-11-07,utc@2022-01-01",
    ],
)
def test_instants_ascend_or_are_marked(text: str) -> None:
    clock = zones.parse_clock(text)
    wall = np.arange(ns("2021-03-01T00:00"), ns("2022-01-10T00:00"), 10 * MINUTE_NS)
    found = zones.to_utc(wall, clock)
    clear = ~(found.missing | found.doubled)
    assert (np.diff(found.t_ns[clear]) > 0).all()
    assert np.array_equal(zones.to_wall(found.t_ns[clear], clock), wall[clear])
    t_ns = np.arange(ns("2021-03-01T00:00"), ns("2022-01-10T00:00"), 10 * MINUTE_NS)
    back = zones.to_utc(zones.to_wall(t_ns, clock), clock)
    assert not back.missing.any()
    assert np.array_equal(back.t_ns[~back.doubled], t_ns[~back.doubled])


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("utc", "utc"),
        ("UTC", "utc"),
        ("per-row", "per-row"),
        ("fixed:+00:00", "utc"),
        ("fixed:-05:30", "fixed:-05:30"),
        ("NY+7", "ny+7"),
        ("eet-us", "ny+7"),
        ("eet-eu", "eet-eu"),
        ("london-5", "london-5"),
        ("America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ("eet-eu,ny+7@2021-01-04", "eet-eu,ny+7@2021-01-04"),
        (
            "utc,EET-us@2019-12-31,Europe/London@2021-01-04",
            "utc,ny+7@2019-12-31,Europe/London@2021-01-04",
        ),
    ],
)
def test_the_text_of_a_clock_is_read_as_that_clock(text: str, canonical: str) -> None:
    clock = zones.parse_clock(text)
    assert clock.text == canonical
    assert zones.parse_clock(clock.text) == clock


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no rule and no time zone"),
        ("mars", "no rule and no time zone"),
        ("europe/london", "did you mean Europe/London"),
        ("../../etc/passwd", "no rule and no time zone"),
        ("Europe", "no rule and no time zone"),
        ("localtime", "no rule and no time zone"),
        ("Europe/London\x00", "no rule and no time zone"),
        ("fixed:+15:00", "14 hours"),
        ("fixed:3", "no rule"),
        ("fixed:+03:60", "no rule"),
        ("fixed:+٠٣:00", "no rule"),
        ("utc@2021-01-04", "first rule takes no date"),
        ("utc,ny+7", "no date from which"),
        ("utc,ny+7@", "not a date"),
        ("utc,ny+7@2021-02-30", "not a date"),
        ("utc,ny+7@20210104", "not a date"),
        ("utc,ny+7@1850-01-01", "outside 1900"),
        ("utc,ny+7@2021-01-04,utc@2021-01-04", "not ascending"),
        ("utc,per-row@2021-01-04", "per-row cannot change"),
        ("per-row,utc@2021-01-04", "per-row cannot change"),
        ("fixed:+14:00,fixed:-12:00@2021-01-04,fixed:+14:00@2021-01-05", "within hours"),
        ("utc" + ",utc@2021-01-04" * 50, "more than 20"),
        ("x" * 100_000, "no rule"),
    ],
)
def test_what_is_no_clock_is_refused(text: str, why: str) -> None:
    with pytest.raises(SpecInvalid, match=why) as caught:
        zones.parse_clock(text)
    assert "there are: utc, per-row, a fixed offset such as fixed:+03:00" in str(caught.value)
    assert len(str(caught.value)) < 500


@settings(max_examples=settings.default.max_examples // 3)
@given(st.text(max_size=30))
def test_no_text_gives_another_error(text: str) -> None:
    with suppress(SpecInvalid):
        zones.parse_clock(text)


def test_every_zone_can_be_a_source_clock() -> None:
    names = sorted(available_timezones() - {"localtime", "Factory", "posixrules"})
    for name in names:
        assert zones.parse_clock(name).rules[0].zone in {name, None}


def test_a_machine_without_a_time_zone_database() -> None:
    program = """
import sys, zoneinfo
zoneinfo.reset_tzpath(to=[])
sys.modules["tzdata"] = None
import numpy as np
from dream.bars.clock import clocks, zones
from dream.errors import SpecInvalid
assert zones.to_utc(np.array([5]), zones.parse_clock("fixed:+00:30")).t_ns[0] < 0
for act in (
    lambda: zones.parse_clock("Europe/London"),
    lambda: zones.to_utc(np.array([5]), zones.parse_clock("ny+7")),
    lambda: clocks.trading_clock(np.array([5]), 0),
):
    try:
        act()
    except SpecInvalid as e:
        print(e)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert all("pip install tzdata" in line for line in lines)
