"""Every accepted setting stays inside what the kernel can count: nothing wraps, nothing is inf."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.engine.session import run_rules
from dream.errors import SpecInvalid
from dream.runs import spec as specs
from dream.runs.spec import RunSpec, check_instrument, gap_ns, make_spec
from dream.types import Instrument, Terms
from tests.gen import fixed, random_setups, rule_scene

BASE = {"bars": "gold.parquet"}
INT32 = 2**31 - 1

REFUSED = {
    "terms.spread": ["3e7", "167772.17", "-0.01", "1e300"],
    "terms.slippage": ["3e7", "167772.17", "-1e-9"],
    "terms.risk": ["1e-310", "9e-7", "0", "-0.0", "1.01", "25"],
    "terms.equity": ["1e300", "2e12", "0", "-5", "1e-310", "0.009"],
    "terms.leverage": ["0", "1e-310", "1e7", "1e308"],
    "terms.commission": ["-0.01", "1e308", "1000001"],
    "terms.swap": ["1e308", "-1e308", "1000001", "-1000001"],
    "terms.max_gap_ns": ["-1", "9223372036854775808", str(10**30), "9" * 4_000, "9" * 5_000],
    "instrument.tick": ["1e-320", "1e-300", "9e-9", "2", "0", "-0.01", "0.3", "0.7", "1.0000001",
                        "0.3333333333", "0.33333333333333"],
    "instrument.contract": ["1e-300", "1e10", "0", "-100"],
    "instrument.lot_step": ["1e-300", "1e-9", "0.3", "2", "0"],
    "instrument.lot_min": ["1e-300", "0", "1e300", "101"],
    "instrument.lot_max": ["1e18", "1e-4", "0", "2147484"],
    "instrument.symbol": ["", "X" * 33, "A\nB", "\x1b[31m", "\udcff", "X" * 4_000],
    "prompt": ["v9", "", "V1", "v" * 4_000],
}  # fmt: skip


@pytest.mark.parametrize("key", REFUSED)
def test_what_no_run_can_count_is_refused_by_its_name(key):
    name = key.rpartition(".")[2].removesuffix("_ns")
    for text in REFUSED[key]:
        with pytest.raises(SpecInvalid) as caught:
            make_spec(BASE, {key: text})
        said = str(caught.value)
        assert name in said, text
        assert len(said) < 300, "short, however long the value"


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("terms.equity", "-5", "terms: equity must be from 0.01 to 1e+12, found -5"),
        ("terms.spread", "3e5", "spread must be at most 167772 (2^24 ticks of 0.01), found 300000"),
        ("instrument.lot_max", "1e18",
         "instrument: lot_max must be from 1e-08 to 1e+09, found 1e+18"),
        ("instrument.tick", "0.3", "instrument: tick must divide 1, such as 0.01; found 0.3"),
        ("prompt", "v9", "prompt: unknown version, known: v1, or module:name; found 'v9'"),
    ],
)  # fmt: skip
def test_a_message_has_the_setting_the_range_and_what_was_found(key, text, said):
    with pytest.raises(SpecInvalid) as caught:
        make_spec(BASE, {key: text})
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "extra",
    [
        {"terms.spread": "167772.16", "terms.slippage": "167772.16"},  # 2^24 ticks
        {"terms.equity": "1e12"}, {"terms.equity": "0.01"},
        {"terms.risk": "1"}, {"terms.risk": "1e-6"},
        {"terms.max_gap_ns": "0"}, {"terms.max_gap_ns": str(10 * 366 * 86_400 * 10**9)},
        {"instrument.tick": "1e-5"}, {"instrument.tick": "0.25", "terms.spread": "0.5"},
        {"instrument.tick": "1", "terms.spread": "1"},
        {"instrument.tick": "0.05"}, {"instrument.lot_step": "0.01"},
        {"instrument.lot_max": "2147483.647"},  # 2^31 - 1 steps
        {"instrument.lot_step": "1", "instrument.lot_min": "1"},
        # a bitcoin, a share, a currency pair
        {"instrument.contract": "1", "instrument.lot_step": "1e-5", "instrument.lot_min": "1e-5"},
        {"instrument.contract": "1", "instrument.lot_step": "1", "instrument.lot_min": "1"},
        {"instrument.contract": "1e5", "instrument.tick": "1e-5", "instrument.lot_step": "0.01"},
    ],
)  # fmt: skip
def test_what_is_traded_is_accepted(extra):
    make_spec(BASE, extra)


@pytest.mark.parametrize("name", ["commission", "swap"])
def test_a_cost_of_more_than_a_lot_can_move_is_refused(name):
    """A lot of 1e-3 units and ticks of 0.01: 2^24 ticks of it are 167.77216."""
    small = {"instrument.contract": "1e-3", "terms.equity": "100"}
    with pytest.raises(SpecInvalid, match=f"{name} must be at most 167.772 "):
        make_spec(BASE, small | {f"terms.{name}": "167.78"})
    make_spec(BASE, small | {f"terms.{name}": "167.77"})
    if name == "swap":
        with pytest.raises(SpecInvalid, match="swap must be at most"):
            make_spec(BASE, small | {"terms.swap": "-167.78"})


def test_a_step_of_a_lot_that_fits_between_the_limits():
    """0.005 lots at most and steps of 0.01: nothing could ever be bought."""
    with pytest.raises(SpecInvalid, match=r"lot_max must be a lot step of 0\.01 or more"):
        make_spec(BASE, {"instrument.lot_step": "0.01", "instrument.lot_max": "0.005"})


def test_money_that_does_not_see_a_tick_is_refused():
    """A float64 counts whole units to 2^53: here the unit is 1e-13 and the account 10,000."""
    tiny = {"instrument.contract": "1e-6", "instrument.lot_step": "1e-5"}
    with pytest.raises(SpecInvalid, match=r"equity must be at most 900\.72 .*, found 10000"):
        make_spec(BASE, tiny)
    make_spec(BASE, tiny | {"terms.equity": "900"})


@pytest.mark.parametrize("minutes", [-1, math.nan, math.inf, -math.inf, 1e300, 5_270_401])
def test_a_gap_that_is_no_number_of_minutes(minutes):
    with pytest.raises(SpecInvalid, match="max_gap must be from 0 to 5,270,400 minutes"):
        gap_ns(minutes)


def test_a_gap_in_minutes():
    assert (gap_ns(0), gap_ns(1.5), gap_ns(5_270_400)) == (0, 90 * 10**9, 316_224_000 * 10**9)


def test_every_number_has_a_range():
    """A field that is added must get its range."""
    ranges = set(specs._TERMS) | set(specs._INSTRUMENT) | {"max_gap_ns"}
    numbers = {
        field.name
        for field in (*dataclasses.fields(Terms), *dataclasses.fields(Instrument))
        if isinstance(field.default, float) or field.default is None
    }
    assert ranges == numbers


def test_the_instrument_of_an_import_is_checked_like_that_of_a_run():
    for key, texts in REFUSED.items():
        group, _, name = key.partition(".")
        if group == "instrument":
            for text in texts:
                value = text if name == "symbol" else float(text)
                with pytest.raises(SpecInvalid, match=name):
                    check_instrument(replace(Instrument(), **{name: value}))
    assert check_instrument(Instrument("XAUEUR", 0.05)).symbol == "XAUEUR"


def number(low: float, high: float) -> st.SearchStrategy[float]:
    """Anywhere between the ends by its order of magnitude, and often at an end."""
    between = st.floats(math.log10(low), math.log10(high)).map(lambda e: min(10.0**e, high))
    return st.sampled_from([low, high]) | between


def part_of_one(low: float) -> st.SearchStrategy[float]:
    """1 / n."""
    return st.sampled_from([1e-8, 1e-5, 0.01, 0.25, 1.0]) | st.integers(1, round(1 / low)).map(
        lambda n: 1.0 / n
    )


@st.composite
def accepted(draw: st.DrawFn) -> RunSpec:
    """A spec of any terms and any instrument that go together."""
    tick, step = draw(part_of_one(1e-8)), draw(part_of_one(1e-8))
    lots = sorted(draw(st.tuples(*[number(1e-8, min(1e9, INT32 / 2 * step))] * 2)))
    at_most = 2**24 * tick
    contract = draw(number(max(1e-9, 0.0101 / (2**53 * tick * step)), 1e9))
    most = min(1e6, at_most * contract * 0.999)
    # A credit overnight is kept small: as interest on interest it would pass all numbers.
    return make_spec(
        BASE
        | {
            "instrument": {
                "tick": tick, "lot_step": step, "lot_min": lots[0],
                "lot_max": min(math.ceil(lots[1] / step), INT32) * step,
                "contract": contract,
            },
            "terms": {
                "equity": draw(number(0.01, min(1e12, 2**53 * tick * step * contract * 0.999))),
                "risk": draw(number(1e-6, 1.0)),
                "leverage": draw(number(1e-3, 1e6)),
                "spread": draw(st.integers(0, round(at_most / tick))) * tick,
                "slippage": draw(st.integers(0, round(at_most / tick))) * tick,
                "commission": draw(st.just(0.0) | st.floats(0.0, most)),
                "swap": draw(st.floats(-most, 0.0) | st.floats(0.0, min(most, tick * contract))),
                "intrabar": draw(st.sampled_from(["stop_first", "nearer_first"])),
                "max_gap_ns": draw(st.sampled_from([None, 0, 316_224_000 * 10**9])),
                "buy_only": False,
            },
        }
    )  # fmt: skip


def market(spec: RunSpec, seed: int, top: bool):
    """Months of bars and set-ups of that instrument; at the top of what fits into int32, too."""
    rng = np.random.default_rng(seed)
    drawn = rule_scene(seed % 1000)
    px = drawn.bars.px.astype(np.int64)
    grown = (2**31 - 1 - 2**25) // int(px.max()) if top else 1
    bars = replace(
        drawn.bars, px=(px * grown).astype(np.int32), instrument=spec.instrument, memo={}
    )
    setups = random_setups(rng, bars, int(rng.integers(1, 50)), 0.5)
    return bars, setups


@given(accepted(), st.integers(0, 2**32 - 1), st.booleans())
def test_what_is_accepted_stays_finite_and_exact(spec, seed, top):
    bars, setups = market(spec, seed, top)
    terms, inst = spec.terms, spec.instrument
    run = run_rules(bars, {"drawn": fixed(setups)}, terms)
    assert np.isfinite(run.equity).all()
    slip, floor = inst.to_ticks(terms.slippage), inst.to_ticks(terms.spread)
    assert 0 <= slip <= 2**24
    unit = inst.money_per_tick_step
    least = math.ceil(inst.lot_min / inst.lot_step - 1e-9)
    for order in run.orders:
        o = int(bars.px[order.bar, 0])
        buy = max(int(bars.spread[order.bar]), floor) + slip
        fill = o + buy if order.action == "BUY" else o - slip
        assert fill <= INT32
        if order.reason is None:
            assert order.price == inst.to_price(fill)
            assert inst.lot_min * (1 - 1e-9) <= order.lots <= inst.lot_max * (1 + 1e-9)
        if order.reason == "min_lot":
            assert 0 < order.needs_equity < math.inf
            cash = Fraction(float(run.equity[order.bar - 1]))
            away = abs(fill - inst.to_ticks(order.stop))
            assert Fraction(terms.risk) * cash / (away * Fraction(unit)) < least + 1e-6
    for trade in run.trades:
        floats = dataclasses.astuple(replace(trade, entry=None, exit=None, costs=None))
        costs = dataclasses.astuple(trade.costs)
        assert all(math.isfinite(x) for x in (*floats, *costs) if isinstance(x, float)), trade
        assert 0 < trade.entry.lots == trade.exit.lots < math.inf
        assert abs(inst.to_ticks(trade.exit.price)) <= INT32
    made = math.fsum(trade.pnl for trade in run.trades)
    largest = max(np.abs(run.equity).max(), max((abs(t.pnl) for t in run.trades), default=0.0))
    assert math.isclose(run.equity[-1] - terms.equity, made, rel_tol=1e-6, abs_tol=1e-9 * largest)


@pytest.mark.parametrize(
    "extra",
    [
        {"instrument.tick": "1"},  # with the usual spread of 0.30
        {"terms.spread": "0.004"},
        {"terms.spread": "0.305"},
        {"terms.slippage": "0.0049"},
    ],
)
def test_a_cost_that_cannot_be_charged_in_ticks_is_refused(extra):
    """It would be rounded, to nothing perhaps, while the summary showed it as charged."""
    with pytest.raises(SpecInvalid, match="must be a whole number of ticks"):
        make_spec(BASE, extra)
