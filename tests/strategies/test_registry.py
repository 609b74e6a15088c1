"""What all strategies have in common: causal, documented, strict, and as the table says."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dream.errors import BarsInvalid, SpecInvalid
from dream.indicators import atr, session_range
from dream.strategies import REGISTRY
from dream.types import MISSING
from tests.indicators.series import FIRST_DAY, bars_of, real, rows_of, walk
from tests.strategies import rules

RULES = {
    "VolBreakout": rules.vol_breakout,
    "IntradayMomentum": rules.intraday_momentum,
    "PullbackEntry": rules.pullback_entry,
}
NAMES = list(RULES)


def arrays(setups):
    return {
        "live": setups.live,
        "stop": setups.stop,
        "target": setups.target,
        "trigger": setups.trigger,
        **setups.levels,
    }


def assert_agrees(name, bars):
    """Every array equals the slow rule's; returns the number of days with a live bar."""
    found, said = arrays(REGISTRY[name](bars)), RULES[name](rows_of(bars))
    wanted = {key: [getattr(m, key) for m in said] for key in ("live", "stop", "target", "trigger")}
    for key, place in {"session_open": 0, "session_high": 1, "session_low": 2}.items():
        wanted[key] = [m.session[place] if m.session else MISSING for m in said]
    wanted["session_close"] = [m.session[3] if m.session else MISSING for m in said]
    wanted["session_range"] = [m.session[1] - m.session[2] if m.session else MISSING for m in said]
    wanted["swing_high"] = [m.swing for m in said]
    wanted["atr_d1"] = [MISSING if m.atr is None else rules.tick(m.atr) for m in said]
    for key, array in found.items():
        np.testing.assert_array_equal(array, wanted[key], f"{name}.{key}")
    return len(np.unique(bars.day[found["live"] != 0]))


def test_the_registry_is_in_the_order_of_the_table():
    assert list(REGISTRY) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_agrees_with_its_slow_self(name):
    days = sum(assert_agrees(name, bars_of(walk(seed, 60))) for seed in range(4))
    assert days > 5


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_agrees_with_its_slow_self_on_real_bars(name, real_bars_path):
    assert assert_agrees(name, real(real_bars_path).prefix(30_000)) > 30


def test_real_days_with_a_setup(real_bars_path):
    """Counted once with the slow rules over all 1,290 days."""
    bars = real(real_bars_path)
    live = {name: strategy(bars).live != 0 for name, strategy in REGISTRY.items()}
    days = {name: len(np.unique(bars.day[live[name]])) for name in NAMES}
    assert days == {"VolBreakout": 160, "IntradayMomentum": 184, "PullbackEntry": 161}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(seed=st.integers(0, 10), cut=st.integers(0, 2_000))
def test_a_prefix_has_the_same_setups(name, seed, cut):
    bars = bars_of(walk(seed, 24))
    whole, part = arrays(REGISTRY[name](bars)), arrays(REGISTRY[name](bars.prefix(cut)))
    for key, array in part.items():
        np.testing.assert_array_equal(array, whole[key][:cut], key)


@pytest.mark.parametrize("name", NAMES)
def test_setups_have_the_promised_form(name):
    bars = bars_of(walk(1, 20))
    setups = REGISTRY[name](bars)
    for key, array in arrays(setups).items():
        assert array.shape == (len(bars),)
        assert array.dtype == (np.int8 if key == "live" else np.int32)
        assert not array.flags.writeable
    assert set(np.unique(setups.live).tolist()) <= {0, 1}
    assert (setups.stop[setups.live != 0] != MISSING).all()
    assert (setups.target[setups.live != 0] != MISSING).all()


@pytest.mark.parametrize("name", NAMES)
def test_five_minute_bars_give_the_room_from_their_own_average(name):
    """ATR(14, M5) in place of ATR(14, M15) * sqrt(1/3)."""
    bars = bars_of(walk(3, 20, step=5), bar_minutes=5)
    end = 600 if name == "IntradayMomentum" else 420
    low = session_range(bars, 0, end).low
    expected = np.floor(low - 0.25 * atr(bars, 5) + 0.5)
    stop = REGISTRY[name](bars).stop
    known = low != MISSING
    assert known.sum() > 100
    assert (stop[known] == expected[known])[200:].all()
    assert (stop[~known] == MISSING).all()


@pytest.mark.parametrize("name", NAMES)
def test_bars_too_coarse_are_refused(name):
    with pytest.raises(BarsInvalid, match="periods of 15 minutes"):
        REGISTRY[name](bars_of([(FIRST_DAY, 120, 1, 1, 1, 1)], bar_minutes=60))


@pytest.mark.parametrize("name", NAMES)
def test_no_bars_have_no_setups(name):
    assert all(len(array) == 0 for array in arrays(REGISTRY[name](bars_of([]))).values())


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_named_has_a_default_and_is_described(name):
    _, *params = inspect.signature(REGISTRY[name]).parameters.values()
    assert params
    for param in params:
        assert param.kind is inspect.Parameter.KEYWORD_ONLY
        assert isinstance(param.default, int | float)
        assert f"        {param.name}: " in REGISTRY[name].__doc__


@pytest.mark.parametrize("name", NAMES)
def test_a_senseless_parameter_is_refused_by_name(name):
    bars = bars_of(walk(1, 2))
    for param in list(inspect.signature(REGISTRY[name]).parameters)[1:]:
        for value in (-1, float("nan"), float("inf")):
            with pytest.raises(SpecInvalid, match=rf"{name}\.{param}: expected .* found {value}"):
                REGISTRY[name](bars, **{param: value})
    for param, value in (("session_from", 0.5), ("expires_minute", 1441), ("session_to", 420.5)):
        with pytest.raises(SpecInvalid, match=rf"{name}\.{param}: expected a whole number"):
            REGISTRY[name](bars, **{param: value})


@pytest.mark.parametrize("name", ["VolBreakout", "PullbackEntry"])
def test_a_window_that_ends_before_it_starts_is_refused(name):
    with pytest.raises(SpecInvalid, match="window_to: expected a whole number from 421"):
        REGISTRY[name](bars_of(walk(1, 2)), window_to=420)


@pytest.mark.parametrize("name", NAMES)
def test_whole_floats_are_minutes_too(name):
    bars = bars_of(walk(1, 20))
    plain, floats = (
        REGISTRY[name](bars),
        REGISTRY[name](bars, session_from=0.0, entries_per_day=1.0),
    )
    assert type(floats.entries_per_day) is int
    np.testing.assert_array_equal(floats.stop, plain.stop)


@pytest.mark.parametrize("name", NAMES)
def test_a_level_beyond_all_ticks_is_missing(name):
    bars = bars_of(walk(1, 20))
    factor = "target_range" if name == "VolBreakout" else "target_risk"
    setups = REGISTRY[name](bars, **{factor: 1e12})
    without_risk = setups.stop == bars.px[:, 3]
    assert (setups.target[~without_risk] == MISSING).all()
    assert (setups.stop != MISSING).any()


def test_strategies_share_what_they_are_made_of():
    bars = bars_of(walk(1, 20))
    setups = {name: strategy(bars) for name, strategy in REGISTRY.items()}
    session = session_range(bars, 0, 420)
    for name in ("VolBreakout", "PullbackEntry"):
        assert setups[name].levels["session_high"] is session.high
    assert sorted(key for key in bars.memo if key.startswith(("atr", "session"))) == [
        "atr:1440:14",
        "atr:15:14",
        "session_range:0:420",
        "session_range:0:600",
    ]
