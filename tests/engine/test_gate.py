"""Planted leaks must be found, by bar and cut; honest strategies must pass; copies are copies."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dream.engine.causality import checked_setups
from dream.engine.session import Session, run_rules
from dream.errors import LeakError, SpecInvalid
from dream.types import MISSING, Bars, Setups, Terms
from tests.engine.driving import drive_scene
from tests.gen import MARKET, make_bars, make_setups, scene, walk

if TYPE_CHECKING:
    from collections.abc import Callable

N = 600


@pytest.fixture(scope="module")
def bars() -> Bars:
    px = walk(np.random.default_rng(5), N, base=200_000, scale=40)
    return make_bars(px, opens=MARKET[:N], in_ticks=True)


def closes(bars: Bars) -> np.ndarray:
    return bars.px[:, 3].astype(np.float64)


def with_arrays(bars: Bars, **arrays: np.ndarray) -> Setups:
    """Set-ups with the given arrays, levels among them as level_x."""
    levels = {k[6:]: v.astype(np.int32) for k, v in arrays.items() if k.startswith("level_")}
    live = arrays.get("live", np.zeros(len(bars)))
    known = {k: v.astype(np.int32) for k, v in arrays.items() if k in {"stop", "target", "trigger"}}
    honest = make_setups(len(bars), levels=levels)
    return replace(honest, live=live.astype(np.int8), **known)


def shifted(x: np.ndarray, fill: float) -> np.ndarray:
    return np.concatenate((x[1:], [fill]))


def centred_mean(bars: Bars) -> Setups:
    """The mean of two closes before, this one, and two after it."""
    mean = np.convolve(closes(bars), np.ones(5) / 5, mode="same")
    return with_arrays(bars, stop=mean)


def z_score(bars: Bars) -> Setups:
    """Live where the close is far from the mean of the whole sample."""
    c = closes(bars)
    return with_arrays(bars, live=c - c.mean() > c.std())


def next_close(bars: Bars) -> Setups:
    """Live where the next bar closes higher: shift(-1)."""
    c = closes(bars)
    return with_arrays(bars, live=shifted(c, c[-1]) > c)


def next_target(bars: Bars) -> Setups:
    return with_arrays(bars, target=shifted(closes(bars), MISSING))


def next_trigger(bars: Bars) -> Setups:
    return with_arrays(bars, trigger=shifted(closes(bars), MISSING))


def next_level(bars: Bars) -> Setups:
    """Nothing but a level on the board looks ahead."""
    return with_arrays(bars, level_range=shifted(closes(bars), MISSING))


def day_high(bars: Bars) -> Setups:
    """The high of the whole trading day, known from its first bar on."""
    days, row = np.unique(bars.day, return_inverse=True)
    high = np.zeros(len(days))
    np.maximum.at(high, row, bars.px[:, 1])
    return with_arrays(bars, level_day_high=high[row])


LEAKS = [centred_mean, z_score, next_close, next_target, next_trigger, next_level, day_high]


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_leak_is_found_by_bar_and_cut(bars, leak: Callable[[Bars], Setups], seed) -> None:
    with pytest.raises(LeakError, match="strategy planted") as caught:
        checked_setups({"planted": leak}, bars, seed)
    told = re.search(
        r"planted .*: (.+) at bar (\d+) \((\S+)Z\).* bars 0 to (\d+) .* bars from (\d+) ",
        str(caught.value),
    )
    assert told, str(caught.value)
    field, bar, when, last, cut = told[1], int(told[2]), told[3], int(told[4]), int(told[5])
    full, part = (arrays_of(leak(bars.prefix(n)))[field] for n in (last + 1, cut))
    assert full[bar] != part[bar]
    assert (full[:bar] == part[:bar]).all(), "it is the first bar that differs"
    assert np.datetime64(when, "ns").astype(np.int64) == bars.t_close_ns[bar]


def arrays_of(setups: Setups) -> dict[str, np.ndarray]:
    known = {name: getattr(setups, name) for name in ("live", "stop", "target", "trigger")}
    return known | {f"level {name}": values for name, values in setups.levels.items()}


@pytest.mark.parametrize("leak", [next_close, next_level])
def test_no_door_to_the_engine_is_without_the_gate(bars, leak) -> None:
    with pytest.raises(LeakError):
        run_rules(bars, {"planted": leak}, Terms())
    with pytest.raises(LeakError):
        Session(bars, {"planted": leak}, Terms(), asks=lambda b, s, f: np.ones(len(b), np.uint8))


def test_one_leak_among_honest_strategies_is_found(bars) -> None:
    with pytest.raises(LeakError, match="strategy planted"):
        checked_setups({"honest": trailing_mean, "planted": next_close}, bars, 0)


def level_that_appears(bars: Bars) -> Setups:
    """A level that exists only once the series is long."""
    return with_arrays(bars, **({"level_late": closes(bars)} if len(bars) == N else {}))


def level_that_vanishes(bars: Bars) -> Setups:
    return with_arrays(bars, **({"level_early": closes(bars)} if len(bars) < N else {}))


def exit_by_length(bars: Bars) -> Setups:
    return make_setups(len(bars), expires_minute=600 if len(bars) == N else 660)


def limit_by_length(bars: Bars) -> Setups:
    return make_setups(len(bars), entries_per_day=1 if len(bars) == N else 2)


@pytest.mark.parametrize(
    "leak", [level_that_appears, level_that_vanishes, exit_by_length, limit_by_length]
)
def test_a_shape_that_depends_on_later_bars_is_a_leak(bars, leak) -> None:
    with pytest.raises(LeakError, match="strategy planted"):
        checked_setups({"planted": leak}, bars, 0)


def trailing_mean(bars: Bars) -> Setups:
    """The mean of the last five closes: honest."""
    c = np.concatenate(([0.0], np.cumsum(closes(bars))))
    mean = np.full(len(bars), float(MISSING))
    mean[4:] = (c[5:] - c[:-5]) / 5
    return with_arrays(bars, stop=mean, live=closes(bars) > mean, level_mean=mean)


@pytest.mark.parametrize("seed", range(20))
def test_an_honest_strategy_passes_at_every_cut(bars, seed) -> None:
    setups = checked_setups({"honest": trailing_mean}, bars, seed, prefixes=30)
    assert setups["honest"].live.any()


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_the_gate_takes_the_shortest_series(n) -> None:
    rows = [(100, 101, 99, 100)] * n
    assert len(checked_setups({"any": lambda b: make_setups(len(b))}, make_bars(rows), 0)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda b: replace(make_setups(len(b)), live=np.zeros(len(b) + 1, np.int8)),
        lambda b: replace(make_setups(len(b)), stop=np.zeros(len(b), np.float64)),
        lambda b: replace(make_setups(len(b)), levels={"x": np.zeros((len(b), 2), np.int32)}),
        lambda b: None,
        lambda b: replace(make_setups(len(b)), live=[0] * len(b)),
        lambda b: replace(make_setups(len(b)), live=np.full(len(b), 2, np.int8)),
        lambda b: replace(make_setups(len(b)), live=np.full(len(b), -128, np.int8)),
        lambda b: replace(make_setups(len(b)), levels=[("x", b.px[:, 0])]),
        lambda b: replace(make_setups(len(b)), levels={1: b.px[:, 0]}),
        lambda b: replace(make_setups(len(b)), levels={"x" * 65: b.px[:, 0]}),
        lambda b: replace(make_setups(len(b)), levels={str(i): b.px[:, 0] for i in range(33)}),
        lambda b: replace(make_setups(len(b)), levels={"x": None}),
        lambda b: replace(make_setups(len(b)), expires_minute=10**30),
        lambda b: replace(make_setups(len(b)), expires_minute=600.0),
        lambda b: replace(make_setups(len(b)), expires_minute=-1),
        lambda b: replace(make_setups(len(b)), entries_per_day=True),
        lambda b: replace(make_setups(len(b)), entries_per_day=2**31),
    ],
)
def test_a_strategy_that_returns_something_else_is_refused(bars, wrong) -> None:
    with pytest.raises(SpecInvalid, match="strategy planted"):
        checked_setups({"planted": wrong}, bars, 0)


def test_a_prefix_owns_its_rows(bars) -> None:
    part = bars.prefix(10)
    assert len(part) == 10
    for name in ("t_close_ns", "minute", "day", "px", "spread", "volume"):
        rows = getattr(part, name)
        assert rows.base is None, name
        assert not rows.flags.writeable, name
        assert (rows == getattr(bars, name)[:10]).all(), name
    assert part.memo == {}


def test_a_snapshot_owns_its_rows() -> None:
    for seed in range(30):
        drawn = scene(seed)
        run = drive_scene(drawn)
        for bar, snapshot in zip(run.asked, run.snapshots, strict=True):
            first = max(0, bar - 19)
            for rows in (snapshot.window, snapshot.window_close_ns, snapshot.closed_at_minute):
                assert rows.base is None
                assert not rows.flags.writeable
                assert len(rows) == bar + 1 - first
            b = drawn.bars
            assert snapshot.now_ns == b.t_close_ns[bar] == snapshot.window_close_ns[-1]
            assert (snapshot.window_close_ns == b.t_close_ns[first : bar + 1]).all()
            assert (snapshot.closed_at_minute == b.minute[first : bar + 1]).all()
            assert (snapshot.window[:, :4] == b.px[first : bar + 1] / 100).all()
            assert (snapshot.window[:, 4] == b.volume[first : bar + 1]).all()
            assert (snapshot.window[:, 5] == b.spread[first : bar + 1] / 100).all()


def test_a_snapshot_cannot_be_written() -> None:
    run = drive_scene(scene(1))
    with pytest.raises(ValueError, match="read-only"):
        run.snapshots[0].window[0, 0] = 1.0
