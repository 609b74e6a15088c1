"""Bar series, set-ups and decisions for tests: made by hand, or drawn from a seed.

The trading clock is New York + 7 h. In January that is UTC + 2 h, which is all that this file uses,
so that nothing here depends on the code that it helps to test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from dream.types import MINUTE_NS, MISSING, Bars, Decision, Instrument, Setups, Strategy, Terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DAY_MIN = 1440
CLOCK_AHEAD_MIN = 120
"""Minutes by which the trading clock is ahead of UTC in January."""

ALWAYS, WHEN_FLAT, WHEN_IN = 3, 1, 2
LOTS = Instrument(lot_step=0.01, lot_min=0.01)
"""Gold with the lot step of the hand-computed cases."""


def clock(text: str) -> int:
    """Trading-clock minutes since 1970 of a text such as 2024-01-09T01:00."""
    return int(np.datetime64(text, "m").astype(np.int64))


def _market(days: int, first: str) -> np.ndarray:
    start = clock(first)
    opens = [
        start + d * DAY_MIN + m
        for d in range(days)
        if np.is_busday(np.datetime64(first, "D") + d)
        for m in range(60, DAY_MIN, 15)
    ]
    return np.array(opens, np.int64)


MARKET = _market(700, "2024-01-01T00:00")
"""Open times (trading-clock minutes) of 15-minute bars: weekdays, 01:00 to 24:00, 92 a day."""


def grid(n: int, start: str = "2024-01-09T01:00") -> np.ndarray:
    """The first n open times of the market at or after the start."""
    i = int(np.searchsorted(MARKET, clock(start)))
    return MARKET[i : i + n]


def make_bars(
    rows: Sequence[Sequence[float]],
    *,
    opens: Sequence[int] | str = "2024-01-09T01:00",
    spread: float | Sequence[float] = 0.0,
    instrument: Instrument = LOTS,
    in_ticks: bool = False,
    minutes: int = 15,
) -> Bars:
    """Bars from rows of open, high, low, close.

    Args:
        rows: in quote currency, or in ticks if so said (the spread likewise).
        opens: trading-clock minutes at which the bars open, or the text where a full grid starts.
        spread: of every bar, or one each.
        instrument: gold with a lot step of 0.01 unless said otherwise.
        in_ticks: whether prices are ticks already.
        minutes: length of a bar.
    """
    n = len(rows)
    at = grid(n, opens) if isinstance(opens, str) else np.asarray(opens, np.int64)
    assert len(at) == n, "one open time a row"
    scale = 1.0 if in_ticks else 1.0 / instrument.tick
    px = np.rint(np.asarray(rows, np.float64).reshape(n, 4) * scale).astype(np.int32)
    paid = np.rint(np.broadcast_to(np.asarray(spread, np.float64), (n,)) * scale)
    arrays = (
        (at + minutes - CLOCK_AHEAD_MIN) * MINUTE_NS,
        (at % DAY_MIN + minutes).astype(np.int16),
        (at // DAY_MIN).astype(np.int32),
        px,
        paid.astype(np.int32),
        np.full(n, 100.0),
    )
    for a in arrays:
        a.flags.writeable = False
    return Bars(instrument, minutes * MINUTE_NS, *arrays)


def make_setups(n: int, *, live: Mapping[int, int] | None = None, **over: Any) -> Setups:
    """Set-ups that say nothing but what is given: live by bar, the rest as arrays or one number."""
    arrays = {}
    for name in ("stop", "target", "trigger"):
        arrays[name] = np.full(n, 0, np.int32)
        arrays[name][:] = over.pop(name, MISSING)
    alive = np.zeros(n, np.int8)
    for bar, side in (live or {}).items():
        alive[bar] = side
    return Setups(alive, **arrays, levels=over.pop("levels", {}), **over)


def fixed(setups: Setups) -> Strategy:
    """A strategy that says what was written down before, as far as the bars reach: causal."""

    def strategy(bars: Bars, **params: float) -> Setups:
        n = len(bars)
        return replace(
            setups,
            live=setups.live[:n].copy(),
            stop=setups.stop[:n].copy(),
            target=setups.target[:n].copy(),
            trigger=setups.trigger[:n].copy(),
            levels={k: v[:n].copy() for k, v in setups.levels.items()},
        )

    return strategy


@dataclass(frozen=True)
class Scene:
    """Everything that a run needs, with an answer ready for every bar, flat or in a position."""

    seed: int
    bars: Bars
    setups: dict[str, Setups]
    terms: Terms
    asks: np.ndarray
    when_flat: tuple[Decision, ...]
    when_in: tuple[Decision, ...]
    limit: int | None

    def answer(self, bar: int, flat: bool) -> Decision:
        """The decision at the close of a bar."""
        return (self.when_flat if flat else self.when_in)[bar]


def pick(rng: np.random.Generator, *options: Any) -> Any:
    """One of the options."""
    return options[int(rng.random() * len(options))]


def walk(rng: np.random.Generator, n: int, *, base: int, scale: int) -> np.ndarray:
    """(n, 4) int32 ticks: a walk with gaps, flat runs and opens far from the close before."""
    gap = rng.integers(-4 * scale, 4 * scale + 1, n) * (rng.random(n) < pick(rng, 0.0, 0.15, 0.6))
    body = rng.integers(-scale, scale + 1, n)
    up, down = rng.integers(0, scale + 1, (2, n))
    wide = rng.random(n) < 0.1
    up[wide] *= 4
    down[wide] *= 4
    flat = rng.random(n) < pick(rng, 0.0, 0.2)
    for part in (body, up, down):
        part[flat] = 0
    gap[0] = 0
    c = base + np.cumsum(gap + body)
    o = c - body
    px = np.column_stack([o, np.maximum(o, c) + up, np.minimum(o, c) - down, c])
    return (px + max(0, 1 - int(px.min()))).astype(np.int32)


def times(rng: np.random.Generator, n: int, kind: str = "") -> np.ndarray:
    """(n,) open times: a full grid, one with holes, or a sparse one that crosses days and weeks."""
    steps = np.ones(n, np.int64)
    kind = kind or pick(rng, "full", "holes", "sparse")
    if kind == "holes":
        steps += (rng.random(n) < 0.15) * rng.integers(1, 5, n)
    elif kind == "sparse":
        steps = rng.integers(1, 40, n)
    at = int(rng.integers(0, 1000)) + np.cumsum(steps)
    return MARKET[at]


def spreads(rng: np.random.Generator, n: int, scale: int) -> np.ndarray:
    """(n,) spreads in ticks: none, small, or now and then huge."""
    kind = pick(rng, "none", "small", "huge")
    if kind == "none":
        return np.zeros(n, np.int32)
    out = rng.integers(0, max(2, scale // 2), n)
    if kind == "huge":
        out += (rng.random(n) < 0.1) * 6 * scale
    return out.astype(np.int32)


def terms(rng: np.random.Generator, scale: int) -> Terms:
    """Terms of trade from harmless to ruinous."""
    return Terms(
        equity=pick(rng, 50.0, 2_000.0, 10_000.0, 1_000_000.0),
        risk=pick(rng, 0.0025, 0.01, 0.3, 3.0),
        leverage=pick(rng, 20.0, 500.0, 1e6, 1e6),
        spread=pick(rng, 0.0, 0.02, 0.3) if scale > 8 else pick(rng, 0.0, 0.01),
        slippage=pick(rng, 0.0, 0.0, 0.01, 0.03),
        commission=pick(rng, 0.0, 3.5),
        swap=pick(rng, 0.0, -7.25, 2.5),
        intrabar=pick(rng, "stop_first", "target_first", "nearer_first"),
        buy_only=rng.random() < 0.15,
        autonomy="filter" if rng.random() < 0.1 else "free",
        max_gap_ns=pick(rng, 0, 30, 600) * MINUTE_NS if rng.random() < 0.2 else None,
    )


def instrument(rng: np.random.Generator) -> Instrument:
    """Gold by default; else a coarse lot, a low ceiling, another contract."""
    return pick(
        rng,
        LOTS,
        Instrument(),
        Instrument(lot_step=0.1, lot_min=0.3, lot_max=2.0),
        Instrument(contract=5000.0, lot_step=0.01, lot_min=0.01, lot_max=50.0),
    )


def random_setups(rng: np.random.Generator, bars: Bars, scale: int, busy: float) -> Setups:
    """Set-ups near the close, mostly on the right side, sometimes missing or senseless."""
    n, close = len(bars), bars.px[:, 3].astype(np.int64)
    draw, other = rng.random((2, n))
    live = np.where(draw < busy * 0.6, 1, np.where(draw < busy, -1, 0)).astype(np.int8)
    side = np.where(live == 0, np.where(other < 0.5, 1, -1), live)
    stop = close - np.where(other < 0.05, -side, side) * rng.integers(0, 3 * scale + 2, n)
    target = close + side * rng.integers(0, 4 * scale + 2, n)
    stop[rng.random(n) < 0.03] = MISSING
    target[rng.random(n) < 0.03] = MISSING
    return Setups(
        live=live,
        stop=stop.astype(np.int32),
        target=target.astype(np.int32),
        trigger=np.where(other < 0.5, close + side, MISSING).astype(np.int32),
        levels={"mark": np.where(other < 0.9, close, MISSING).astype(np.int32)},
        expires_minute=int(bars.minute[n - 1 - int(n * other[0] / 2)]) if draw[0] < 0.35 else 0,
        entries_per_day=pick(rng, 0, 0, 1, 2),
    )


NONSENSE = (float("nan"), float("inf"), float("-inf"), 0.0, -5.0, 1e300, 3e9, 0.001)


def decisions(
    rng: np.random.Generator, close: np.ndarray, scale: int, names: list[str], *, flat: bool
) -> tuple[Decision, ...]:
    """One decision a bar.

    Flat, mostly entries; in a position, mostly HOLD or CLOSE; each now and then the other way
    round. Levels lie near the close, are left out, or are nonsense; prices are off the tick too.
    """
    n = len(close)
    usual, unusual = (("BUY", "SELL"), ("HOLD", "CLOSE"))[:: 1 if flat else -1]
    draw = rng.random((6, n)).tolist()
    away = rng.integers(1, 4 * scale + 2, (2, n)).tolist()
    strange = pick(rng, 0.0, 0.05, 0.3)
    out: list[Decision] = []
    for i, c in enumerate(close.tolist()):
        rare, which, who, off = draw[0][i], draw[1][i], draw[2][i], draw[3][i]
        action = (unusual if rare < 0.15 else usual)[which > 0.6]
        name: str | None = names[int(who * len(names))]
        if off < strange / 4:
            name = None if who < 0.5 else "nobody"
        side = 1 if action == "BUY" else -1
        levels: list[float | None] = []
        for k, way in enumerate((-side, side)):
            kind = draw[4 + k][i]
            price = (c + way * away[k][i] + (off - 0.5) * 0.8) * 0.01
            if kind > 0.92:
                levels.append(None)
            elif kind < strange / 2:
                levels.append(NONSENSE[i % len(NONSENSE)])
            elif kind < strange:
                levels.append((c - way * int(3 * off)) * 0.01)
            else:
                levels.append(price)
        out.append(Decision(action, name, stop=levels[0], target=levels[1]))
    return tuple(out)


def scene(seed: int, *, length: tuple[int, int] = (1, 40), kind: str = "") -> Scene:
    """A whole scene from one number; the same number gives the same scene.

    Args:
        seed: the number.
        length: least and most bars.
        kind: of the time grid, full, holes or sparse; drawn if left out.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(length[0], length[1] + 1))
    scale = pick(rng, 2, 8, 40)
    bars = make_bars(
        walk(rng, n, base=pick(rng, 50, 2_000, 200_000), scale=scale),
        opens=times(rng, n, kind),
        spread=spreads(rng, n, scale),
        instrument=instrument(rng),
        in_ticks=True,
    )
    close = bars.px[:, 3]
    names = ["b_first", "a_second", "c_third"][: pick(rng, 1, 1, 2, 3)]
    busy = pick(rng, 0.15, 0.5)
    return Scene(
        seed,
        bars,
        {name: random_setups(rng, bars, scale, busy) for name in names},
        terms(rng, scale),
        np.where(rng.random(n) < pick(rng, 0.3, 0.9), rng.integers(1, 4, n), 0).astype(np.uint8),
        decisions(rng, close, scale, names, flat=True),
        decisions(rng, close, scale, names, flat=False),
        int(rng.integers(1, n // 2 + 2)) if rng.random() < 0.3 else None,
    )


def rule_scene(seed: int) -> Scene:
    """A scene of months: the rules do nothing before every value that is shown exists."""
    return scene(seed, length=(400, 700), kind="sparse")


def seeds() -> st.SearchStrategy[int]:
    """Seeds for `scene`."""
    return st.integers(min_value=0, max_value=2**32 - 1)
