"""An independent engine agrees where its conventions are ours.

backtesting.py decides at the close and fills at the next open, tries stop and target on the entry
bar too, fills a stop gap at the open and takes the stop in a bar that reaches both. Left out, and
counted here:

- a target gap: there it fills at the better open, or at the stop if the bar reaches that later;
  here at the level (same bar; the price differs);
- an entry whose open lies beyond a level: there it is filled and left again on the same bar, here
  it is refused (`bracket`); both are flat at that bar's close;
- the last trade of the data.

A level that is touched exactly fills here and not there, so bars lie on even ticks and levels on
odd ones. Sizes are not compared: there they are taken at the signal, so one unit is traded.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest

from dream.types import Decision, Terms
from tests.engine.driving import NAME, drive
from tests.gen import MARKET, make_bars, make_setups, walk

N = 5_000
Exit = tuple[int, int, int, float, float]
"""Side, entry bar, exit bar, entry price, exit price."""


@pytest.fixture(scope="module")
def px() -> np.ndarray:
    """(N, 4) even ticks, with gaps, at prices that stay far above zero."""
    px = walk(np.random.default_rng(4), N, base=100_000, scale=40)
    rng = np.random.default_rng(18)
    jumps = np.where(rng.random(N) < 0.08, rng.integers(-150, 151, N), 0)
    return ((px + np.cumsum(jumps)[:, None]) // 2 * 2).astype(np.int32)


@pytest.fixture(scope="module")
def orders(px) -> dict[int, Decision]:
    """An entry for half of the bars, long or short, with levels on odd ticks."""
    rng = np.random.default_rng(19)
    out: dict[int, Decision] = {}
    for bar in range(2, N - 1):
        if rng.random() < 0.5:
            side = 1 if rng.random() < 0.5 else -1
            stop, target = 2 * rng.integers(15, 70, 2) + 1
            close = int(px[bar, 3])
            out[bar] = Decision(
                "BUY" if side > 0 else "SELL",
                NAME,
                stop=(close - side * int(stop)) / 100,
                target=(close + side * int(target)) / 100,
            )
    return out


@pytest.fixture(scope="module")
def theirs(px, orders) -> list[Exit]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas and bokeh, which are not ours to mend
        import pandas as pd  # noqa: PLC0415 - slow, and wanted here only
        from backtesting import Backtest, Strategy  # noqa: PLC0415 - the same

        class Given(Strategy):
            def init(self) -> None:
                pass

            def next(self) -> None:
                order = orders.get(len(self.data) - 1)
                if order is not None and not self.position:
                    enter = self.buy if order.action == "BUY" else self.sell
                    enter(size=1, sl=order.stop, tp=order.target)

        frame = pd.DataFrame(px / 100, columns=["Open", "High", "Low", "Close"])
        frame.index = pd.date_range("2024-01-01", periods=N, freq="15min")
        trades = Backtest(frame, Given, cash=1e9).run()["_trades"]
    columns = ("Size", "EntryBar", "ExitBar", "EntryPrice", "ExitPrice")
    return sorted(
        (int(np.sign(s)), int(a), int(b), float(p), float(q))
        for s, a, b, p, q in zip(*(trades[c] for c in columns), strict=True)
    )


def test_the_series_has_gaps(px) -> None:
    away = np.abs(px[1:, 0] - px[:-1, 3])
    assert (away > 0).mean() > 0.05
    assert away.max() > 100


def test_every_trade_agrees_where_the_conventions_do(px, orders, theirs) -> None:
    bars = make_bars(px, opens=MARKET[:N], in_ticks=True)
    terms = Terms(equity=1e9, risk=1e-6, leverage=1e9, spread=0.0, buy_only=False)
    run = drive(
        bars,
        {NAME: make_setups(N)},
        terms,
        answer=lambda bar, flat: orders.get(bar, Decision()) if flat else Decision(),
        asks=1,
    )
    left_out: Counter[str] = Counter()
    by_entry = {t[1]: t for t in theirs}
    for o in run.orders:
        if o.reason is not None:
            assert o.reason == "bracket"
            _, entry, exit_bar, _, _ = by_entry.pop(o.bar)
            assert exit_bar == entry, "they are out again on the same bar"
            left_out["bracket"] += 1
    agreed: Counter[str] = Counter()
    for t in run.trades:
        if t.exit.why == "end_of_data":
            by_entry.pop(t.entry.bar)
            left_out["end_of_data"] += 1
            continue
        side, _, exit_bar, paid, got = by_entry.pop(t.entry.bar)
        assert (side, exit_bar, paid) == (t.side, t.exit.bar, t.entry.price)
        if t.exit.why == "target_gap":
            assert got in (px[t.exit.bar, 0] / 100, t.stop), "the open, or the later stop"
            left_out["target_gap"] += 1
            continue
        assert got == t.exit.price
        agreed["ambiguous" if t.ambiguous else t.exit.why] += 1
    assert by_entry == {}, "no trade of theirs is left over"
    assert sum(agreed.values()) >= 500
    assert min(agreed[why] for why in ("stop", "stop_gap", "target", "ambiguous")) >= 20, agreed
    assert left_out["bracket"] > 10
    assert left_out["target_gap"] > 10
    assert left_out["end_of_data"] <= 1
    assert sum(left_out.values()) < sum(agreed.values()) / 2, (agreed, left_out)
