"""The gate: what became known at or after now cannot be seen, counted or reached."""

from __future__ import annotations

import gc
import math
import types
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import InputError, LeakError
from dream.indicators.facts import TRENDS, VOLATILITIES
from dream.memory.episodes import COLUMNS, FEATURE_COLUMNS, OUTCOME_COLUMNS, Memory
from dream.memory.features import TREND, VOLATILITY
from tests.memory.made import LATER, episode, features, past_of, some_episodes

ALL_COLUMNS = ("strategy", *COLUMNS)


def ids(past):
    return [past[row].id for row in range(len(past))]


def test_an_episode_is_hidden_at_the_moment_it_becomes_known_and_seen_one_later():
    memory = Memory()
    memory.add(episode("a", 100))
    assert (len(memory.visible(100)), memory.hidden(100)) == (0, 1)
    assert (ids(memory.visible(101)), memory.hidden(101)) == (["a"], 0)


def test_the_entry_time_opens_nothing():
    memory = Memory([episode("a", 1000, opened_ns=1)])
    assert len(memory.visible(999)) == 0


def test_a_memory_without_episodes_is_an_empty_table_with_every_column():
    past = Memory().visible(1)
    assert len(past) == 0
    assert list(past) == []
    assert all(len(past.column(name)) == 0 for name in ALL_COLUMNS)


def test_imported_episodes_wait_for_their_time_in_any_order():
    memory = Memory([episode("c", 300), episode("a", 100), episode("b", 200)])
    assert ids(memory.visible(150)) == ["a"]
    memory.add(episode("own", 200))
    assert memory.hidden(200) == 3
    assert ids(memory.visible(201)) == ["a", "b", "own"]
    assert len(memory) == 4


@given(
    imported=some_episodes(),
    own=st.lists(st.integers(1, 9), max_size=10).map(sorted),
    asks=st.lists(st.integers(1, 10), max_size=10).map(sorted),
)
def test_what_is_visible_is_what_a_filter_over_everything_would_give(imported, own, asks):
    memory = Memory(imported)
    held = list(imported)
    events = sorted([(t, 0) for t in own] + [(t, 1) for t in asks])
    for place, (t, ask) in enumerate(events):
        now = t * 10**15
        if not ask:
            held.append(episode(f"own{place}", now))
            memory.add(held[-1])
            continue
        known = sorted((e for e in held if e.known_ns < now), key=lambda e: (e.known_ns, e.id))
        past = memory.visible(now)
        assert list(past) == known
        assert memory.hidden(now) == len(held) - len(known)
        assert past.column("pnl").tolist() == [e.pnl for e in known]
        words = past.words("strategy")
        assert [words[code] for code in past.column("strategy")] == [e.strategy for e in known]


@given(some_episodes(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter_at_equal_times(episodes, shuffle):
    shuffled = list(episodes)
    shuffle.shuffle(shuffled)
    a, b = past_of(episodes), past_of(sorted(shuffled, key=lambda e: e.known_ns))
    assert ids(a) == ids(b)
    for name in COLUMNS:
        np.testing.assert_array_equal(a.column(name), b.column(name))


def test_own_trades_of_one_moment_are_in_the_order_of_their_ids():
    memory = Memory()
    for name in ("b", "c", "a"):
        memory.add(episode(name, 100))
    assert ids(memory.visible(101)) == ["a", "b", "c"]


def test_every_column_says_what_its_episode_says():
    known = episode(
        "a",
        100,
        opened_ns=42,
        features=features(
            atr_m15=2.0,
            atr_d1=math.e,
            sessions=6,
            trend="down",
            volatility="low",
            rsi=31.5,
            distance=-0.75,
            weekday=4,
            hour=23,
        ),
        strategy="PullbackEntry",
        side=-1,
        pnl=-12.5,
        r=-1.25,
        mae=3.0,
        mfe=0.5,
        confidence=0.8,
    )
    past = past_of([known])
    found = {name: past.column(name).tolist()[0] for name in ALL_COLUMNS}
    assert found == {
        "strategy": 0,
        "known_ns": 100,
        "opened_ns": 42,
        "atr_m15": 2.0,
        "atr_d1": math.e,
        "log_atr_m15": math.log(2.0),
        "log_atr_d1": 1.0,
        "sessions": 6,
        "trend": 3,
        "volatility": 1,
        "situation": 6 + 8 * 3 + 32 * 1,
        "rsi": 31.5,
        "distance": -0.75,
        "weekday": 4,
        "hour": 23,
        "side": -1,
        "confidence": 0.8,
        "pnl": -12.5,
        "negative": True,
        "r": -1.25,
        "mae": 3.0,
        "mfe": 0.5,
    }
    assert past.words("strategy") == ("PullbackEntry",)
    assert past.words("trend")[3] == "down"
    assert past.words("volatility")[1] == "low"


def test_unknown_values_are_nan_and_a_break_even_is_not_negative():
    bare = features(atr_m15=math.nan, atr_d1=0.0, distance=None)
    past = past_of([episode(features=bare, pnl=0.0, r=None, mae=None, mfe=None, confidence=None)])
    for name in ("log_atr_m15", "log_atr_d1", "distance", "r", "mae", "mfe", "confidence"):
        assert math.isnan(past.column(name)[0])
    assert not past.column("negative")[0]


def test_the_regime_words_are_those_of_the_indicators():
    assert (TREND, VOLATILITY) == (TRENDS, VOLATILITIES)


def test_features_and_outcomes_are_apart():
    assert not set(FEATURE_COLUMNS) & set(OUTCOME_COLUMNS)
    assert {"pnl", "negative", "r", "mae", "mfe"} == set(OUTCOME_COLUMNS)


def test_columns_stay_right_while_the_storage_grows():
    memory = Memory()
    tables = {}
    for i in range(300):
        memory.add(episode(f"{i:03}", 100 + i, pnl=float(i)))
        if i % 7 == 0:
            tables[i] = memory.visible(101 + i)
    for i, past in tables.items():
        assert len(past) == i + 1
        assert past.column("pnl").tolist() == [float(j) for j in range(i + 1)]
        assert past[i].id == f"{i:03}"
        with pytest.raises(IndexError):
            past[i + 1]


def test_a_table_reads_like_a_sequence():
    past = past_of([episode("a", 1), episode("b", 2)])
    assert past[-1].id == "b"
    assert [e.id for e in past] == ["a", "b"]
    for row in (2, -3):
        with pytest.raises(IndexError, match="2 episodes"):
            past[row]
    with pytest.raises(KeyError, match=r"no column 'profit'.*pnl"):
        past.column("profit")


SENTINEL_NS, SENTINEL_PNL = 7_777_777_777_777, -31_415.926535


def with_one_hidden():
    """A table at a moment at which a last, marked episode is held but not known."""
    memory = Memory([episode("hidden-import", SENTINEL_NS, pnl=SENTINEL_PNL, strategy="Hidden")])
    for i in range(100):
        memory.add(episode(f"{i:03}", 100 + i, pnl=float(i)))
    memory.add(episode("hidden-own", SENTINEL_NS, pnl=SENTINEL_PNL, strategy="Hidden"))
    return memory, memory.visible(SENTINEL_NS)


@pytest.mark.parametrize("name", ALL_COLUMNS)
def test_a_column_lies_in_immutable_bytes_of_its_own_length(name):
    """So no base leads to another row, shown or hidden, nor to memory that can be written."""
    memory, past = with_one_hidden()
    column = past.column(name)
    assert len(column) == 100
    assert type(column.base) is bytes
    assert column.base == column.tobytes()
    # and the marked rows would have been there, had they been visible
    assert len(memory.visible(SENTINEL_NS + 1).column(name)) == 102
    assert past.column(name).base == column.base


def test_no_reference_leads_from_the_table_to_a_hidden_episode():
    memory, past = with_one_hidden()
    assert memory.hidden(SENTINEL_NS) == 2
    seen, stack = {id(past): past}, [past]
    strings, numbers = set(), set()
    while stack:
        at = stack.pop()
        if isinstance(at, str):
            strings.add(at)
        elif isinstance(at, int | float):
            numbers.add(at)
        for other in gc.get_referents(at):
            if id(other) in seen or isinstance(other, type | types.ModuleType | types.FunctionType):
                continue
            seen[id(other)] = other
            stack.append(other)
    assert "099" in strings
    assert "VolBreakout" in strings
    assert not strings & {"hidden-import", "hidden-own", "Hidden"}
    assert SENTINEL_PNL not in numbers
    assert id(memory) not in seen


@pytest.mark.parametrize("name", ALL_COLUMNS)
def test_a_column_cannot_be_written(name):
    column = past_of([episode()]).column(name)
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        column.flags.writeable = True


def test_a_row_that_got_in_too_early_is_caught_where_it_is_read():
    memory = Memory([episode("a", 100)])
    past = memory.visible(101)
    memory._episodes[0] = replace(past[0], known_ns=200)
    with pytest.raises(AssertionError, match="before it was known"):
        past[0]
    with pytest.raises(AssertionError, match="too early"):
        memory.visible(150)


def test_a_question_from_an_earlier_moment_is_refused():
    memory = Memory([episode("a", 100)])
    memory.visible(200)
    with pytest.raises(LeakError, match="150 ns after 200 ns"):
        memory.visible(150)


def test_a_trade_known_before_the_newest_one_is_refused():
    memory = Memory()
    memory.add(episode("a", 100))
    with pytest.raises(LeakError, match="episode b was known at 99 ns and arrives after a trade"):
        memory.add(episode("b", 99))
    assert len(memory) == 1


def test_a_trade_that_an_asked_question_should_have_seen_is_refused():
    memory = Memory()
    memory.visible(200)
    with pytest.raises(LeakError, match="after a question at 200 ns"):
        memory.add(episode("a", 199))
    memory.add(episode("a", 200))
    assert ids(memory.visible(201)) == ["a"]


def test_an_id_is_taken_once():
    memory = Memory([episode("a", 100)])
    with pytest.raises(InputError, match=r"episode a .* is in memory already"):
        memory.add(episode("a", 300))
    with pytest.raises(InputError, match="already"):
        Memory([episode("a", 100), episode("a", 200)])
    assert len(memory) == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"pnl": math.nan}, "pnl"),
        ({"pnl": math.inf}, "pnl"),
        ({"side": 0}, "side"),
        ({"known_ns": 2**63, "opened_ns": 0}, "known_ns"),
        ({"opened_ns": 101}, "opened_ns"),
        ({"features": features(trend="sideways")}, "trend"),
        ({"features": features(volatility="extreme")}, "volatility"),
        ({"features": features(sessions=8)}, "sessions"),
        ({"features": features(sessions=-1)}, "sessions"),
        ({"features": features(weekday=7)}, "weekday"),
        ({"features": features(hour=24)}, "hour"),
    ],
)
def test_an_impossible_episode_is_refused_by_id_and_field(changes, field):
    memory = Memory()
    with pytest.raises(InputError, match=f"episode odd: {field}: expected .*found"):
        memory.add(replace(episode("odd", 100), **changes))
    assert len(memory) == 0
    assert len(memory.visible(LATER)) == 0


def test_an_episode_without_an_id_is_refused():
    with pytest.raises(InputError, match="seq 0: it has no id"):
        Memory([episode("")])
