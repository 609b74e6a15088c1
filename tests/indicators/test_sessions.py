"""Sessions and their ranges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import SpecInvalid
from dream.indicators import facts, session_range, sessions_at
from dream.types import ASIA, LONDON, MISSING, NEW_YORK
from tests.indicators import slow
from tests.indicators.series import GRID, bars_of, real, rows_of, walk

NAMES = ("open", "high", "low", "close", "range")


def shown(session, i):
    return tuple(int(getattr(session, name)[i]) for name in NAMES)


@pytest.mark.parametrize(
    ("minute", "bits"),
    [
        (0, 0),
        (15, ASIA),
        (75, ASIA),
        (600, ASIA),
        (615, LONDON),
        (900, LONDON),
        (915, LONDON | NEW_YORK),
        (1140, LONDON | NEW_YORK),
        (1155, NEW_YORK),
        (1440, NEW_YORK),
    ],
)
def test_sessions_by_the_minute_of_the_close(minute, bits):
    assert sessions_at(minute) == bits


def test_sessions_of_bars_are_those_of_their_minutes():
    bars = bars_of([(1, m, 9, 9, 9, 9) for m in GRID])
    assert facts(bars).sessions.tolist() == [sessions_at(m) for m in GRID]


def test_a_session_by_hand():
    rows = [
        (1, 390, 99, 999, 1, 99),  # opens before the session
        (1, 405, 50, 60, 45, 55),
        (1, 420, 55, 58, 40, 42),
        (1, 435, 42, 70, 42, 70),  # after it: changes nothing
        (2, 405, 80, 81, 79, 80),  # another day: not over yet
    ]
    session = session_range(bars_of(rows), 390, 420)
    known = (50, 60, 40, 42, 20)
    assert [shown(session, i) for i in range(5)] == [
        (MISSING,) * 5,
        (MISSING,) * 5,
        known,
        known,
        (MISSING,) * 5,
    ]


def test_a_session_without_its_last_bar_is_known_at_the_next():
    rows = [(1, 405, 50, 60, 45, 55), (1, 435, 42, 70, 42, 70)]
    session = session_range(bars_of(rows), 0, 420)
    assert shown(session, 0) == (MISSING,) * 5
    assert shown(session, 1) == (50, 60, 45, 55, 15)


def test_a_bar_across_the_end_is_not_in_the_session():
    rows = [(1, 415, 50, 60, 45, 55), (1, 430, 42, 70, 42, 70)]
    assert shown(session_range(bars_of(rows), 0, 420), 1) == (50, 60, 45, 55, 15)


def test_a_day_without_a_bar_in_the_session_has_none():
    rows = [(1, 420, 5, 6, 4, 5), (2, 435, 50, 60, 45, 55), (2, 1440, 50, 60, 45, 55)]
    session = session_range(bars_of(rows), 0, 420)
    assert [shown(session, i) for i in (1, 2)] == [(MISSING,) * 5] * 2


def test_a_session_that_is_over_stays_as_it_was_when_the_clock_is_set_back():
    rows = [(1, 525, 5, 6, 4, 5), (1, 540, 5, 6, 4, 5), (1, 525, 50, 60, 45, 55)]
    session = session_range(bars_of(rows), 480, 540)
    assert [shown(session, i) for i in (1, 2)] == [(5, 6, 4, 5, 2)] * 2


@pytest.mark.parametrize("window", [(0, 420), (0, 600), (600, 1140), (900, 1440), (70, 100)])
def test_sessions_agree_with_their_definition(window):
    rows = walk(21, 12)
    session = session_range(bars_of(rows), *window)
    for i in range(len(rows)):
        expected = slow.session(rows[: i + 1], *window)
        if expected is None:
            assert shown(session, i) == (MISSING,) * 5
        else:
            assert shown(session, i) == (*expected, expected[1] - expected[2])


@given(st.integers(0, 40), st.integers(0, 700))
def test_a_prefix_knows_the_same_sessions(seed, cut):
    bars = bars_of(walk(seed, 8))
    whole, part = session_range(bars, 0, 420), session_range(bars.prefix(cut), 0, 420)
    for name in NAMES:
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[:cut])


def test_real_sessions(real_bars_path):
    """One bar of the day tells the whole day's session: the last."""
    bars = real(real_bars_path)
    session = session_range(bars, 0, 420)
    by_day: dict[int, list] = {}
    for row in rows_of(bars):
        by_day.setdefault(row[0], []).append(row)
    last = -1
    for rows in by_day.values():
        last += len(rows)
        expected = slow.session(rows, 0, 420)
        if expected is None:
            assert session.high[last] == MISSING
        else:
            assert shown(session, last)[:4] == expected


@pytest.mark.parametrize("window", [(-1, 420), (420, 420), (600, 420), (0, 1441)])
def test_a_senseless_session_is_refused(window):
    with pytest.raises(SpecInvalid, match=f"found from {window[0]} to {window[1]}"):
        session_range(bars_of(walk(1, 1)), *window)


def test_a_session_is_made_once_and_cannot_be_written():
    bars = bars_of(walk(1, 2))
    session = session_range(bars, 0, 420)
    assert session_range(bars, 0, 420) is session
    assert session_range(bars, 0, 600) is not session
    assert not any(getattr(session, name).flags.writeable for name in NAMES)
