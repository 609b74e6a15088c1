"""The definitions a second time: slow, plain Python, exact decimals, one bar at a time."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.indicators.series import Row

Price4 = tuple[int, int, int, int]


def wilder(values: Sequence[Decimal | int | None], k: int) -> list[Decimal | None]:
    """None before known."""
    known: list[Decimal] = []
    out: list[Decimal | None] = []
    before = None
    with localcontext() as context:
        context.prec = 40
        for value in values:
            if value is not None:
                known.append(Decimal(value))
                if len(known) == k:
                    before = sum(known, Decimal(0)) / k
                elif before is not None:
                    before += (Decimal(value) - before) / k
            out.append(before)
    return out


def true_range(px: Sequence[Price4]) -> list[int | None]:
    """The largest of three distances, None for the first."""
    out: list[int | None] = [None] * bool(px)
    for (_, _, _, close), (_, high, low, _) in pairwise(px):
        out.append(max(high - low, abs(high - close), abs(low - close)))
    return out


def completed(rows: Sequence[Row], minutes: int) -> list[Price4]:
    """Periods whose end by the clock is not after the close of the last row."""
    now = rows[-1][0] * 1440 + rows[-1][1]
    groups: dict[int, list[Row]] = {}
    for row in rows:
        opened = row[0] * 1440 + row[1] - 1
        groups.setdefault(opened // minutes, []).append(row)
    return [
        (part[0][2], max(r[3] for r in part), min(r[4] for r in part), part[-1][5])
        for slot, part in groups.items()
        if (slot + 1) * minutes <= now
    ]


def atr(rows: Sequence[Row], minutes: int) -> list[Decimal | None]:
    """ATR(14) after each completed period."""
    return wilder(true_range(completed(rows, minutes)), 14)


def rsi(closes: Sequence[int]) -> Decimal | None:
    """RSI(14) of the last close."""
    moves = [b - a for a, b in pairwise(closes)]
    up = wilder([max(m, 0) for m in moves], 14)
    down = wilder([max(-m, 0) for m in moves], 14)
    if not up or up[-1] is None:
        return None
    if down[-1] == 0:
        return Decimal(50) if up[-1] == 0 else Decimal(100)
    return 100 - 100 / (1 + up[-1] / down[-1])


def adx(px: Sequence[Price4]) -> Decimal | None:
    """ADX(14) of the last period, by way of both directional indicators."""
    plus: list[int | None] = [None]
    minus: list[int | None] = [None]
    for (_, high0, low0, _), (_, high1, low1, _) in pairwise(px):
        up, down = high1 - high0, low0 - low1
        plus.append(up if up > down and up > 0 else 0)
        minus.append(down if down > up and down > 0 else 0)
    dx: list[Decimal | None] = []
    ranges = wilder(true_range(px), 14)
    for p, m, r in zip(wilder(plus, 14), wilder(minus, 14), ranges, strict=False):
        if r is None:
            dx.append(None)
        elif r == 0 or p + m == 0:
            dx.append(Decimal(0))
        else:
            di_plus, di_minus = 100 * p / r, 100 * m / r
            dx.append(100 * abs(di_plus - di_minus) / (di_plus + di_minus))
    smooth = wilder(dx, 14)
    return smooth[-1] if smooth else None


def mean(closes: Sequence[int], k: int) -> Decimal | None:
    """Simple average of the last k."""
    return Decimal(sum(closes[-k:])) / k if len(closes) >= k else None


def deviation(closes: Sequence[int], k: int) -> Decimal | None:
    """Population deviation of the last k."""
    middle = mean(closes, k)
    if middle is None:
        return None
    return (sum((c - middle) ** 2 for c in closes[-k:]) / k).sqrt()


def share(values: Sequence[Decimal | None]) -> Decimal | None:
    """Share of the last 20 values at or below the last one."""
    last = [v for v in values if v is not None][-20:]
    return Decimal(sum(v <= last[-1] for v in last)) / 20 if len(last) == 20 else None


def session(rows: Sequence[Row], start: int, end: int, bar_minutes: int = 15) -> Price4 | None:
    """The last row's day's session as known at its close, None before it is over."""
    day, minute = rows[-1][:2]
    inside = [r for r in rows if r[0] == day and r[1] - bar_minutes >= start and r[1] <= end]
    if minute < end or not inside:
        return None
    return (
        inside[0][2],
        max(r[3] for r in inside),
        min(r[4] for r in inside),
        inside[-1][5],
    )


def facts(rows: Sequence[Row]) -> dict[str, Decimal | str | None]:
    """What is known at the close of the last row, prices in ticks. Rows are M15."""
    closes = [r[5] for r in rows]
    hours = completed(rows, 60)
    hour_closes = [p[3] for p in hours]
    middle, away = mean(closes, 20), deviation(closes, 20)
    days = atr(rows, 1440)
    known: dict[str, Decimal | str | None] = {
        "atr_m15": wilder(true_range([r[2:] for r in rows]), 14)[-1],
        "atr_h1": (atr(rows, 60) or [None])[-1],
        "atr_d1": (days or [None])[-1],
        "rsi": rsi(closes),
        "sma_50": mean(closes, 50),
        "sma_200": mean(closes, 200),
        "bb_low": None if middle is None else middle - 2 * away,
        "bb_mid": middle,
        "bb_high": None if middle is None else middle + 2 * away,
        "adx_h1": adx(hours) if hours else None,
        "sma_20_h1": mean(hour_closes, 20),
        "atr_d1_pct": share(days),
    }
    known["trend"] = _trend(known["adx_h1"], known["sma_20_h1"], hour_closes)
    rank = known["atr_d1_pct"]
    known["volatility"] = (
        "unknown"
        if rank is None
        else "low"
        if rank <= Decimal("0.25")
        else "high"
        if rank > Decimal("0.75")
        else "normal"
    )
    return known


def _trend(strength: Decimal | None, average: Decimal | None, closes: Sequence[int]) -> str:
    if strength is None or average is None:
        return "unknown"
    if strength < 25 or closes[-1] == average:
        return "range"
    return "up" if closes[-1] > average else "down"
