"""Prompt template v1. Never edited once runs were made with it: a change is a new version."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.llm.parse import well_formed
from dream.types import ASIA, LONDON, NEW_YORK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dream.llm.prompt import PromptSettings
    from dream.types import (
        Account,
        BoardRow,
        Features,
        Indicators,
        Position,
        Shown,
        Snapshot,
        Trade,
    )

HOUR_NS: Final = 3_600_000_000_000
DAY_NS: Final = 24 * HOUR_NS
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SESSIONS: Final = ((ASIA, "Asia"), (LONDON, "London"), (NEW_YORK, "New York"))
MAX_QUOTE: Final = 400
"""Longest quotation of an earlier reasoning, in characters."""

_BOTH = {
    "stop_first": "the stop counts as reached first",
    "target_first": "the target counts as reached first",
    "nearer_first": "the level nearer to the bar's open counts as reached first",
}


def system(settings: PromptSettings) -> str:
    """The rules of the walk, of orders and of answers; the same for a whole run."""
    terms, n = settings.terms, settings.decimals
    entries = "BUY opens a long position" if terms.buy_only else (
        "BUY opens a long position and SELL a short one"
    )  # fmt: skip
    sides = "Long" if terms.buy_only else "Long (mirrored for short)"
    free = "An entry is accepted only under a strategy that is live on the board."
    if terms.autonomy == "free":
        free = (
            "You may enter at any bar, under the name of the strategy that the trade belongs to. "
            "Where that strategy is not live you must give stop and target yourself."
        )
    late = ""
    if terms.max_gap_ns is not None:
        hours = _number(terms.max_gap_ns / HOUR_NS, 2)
        late = f" An order that meets its open more than {hours} h later is refused."
    strategies = "\n\n".join(
        f"### {name}\n{text.strip()}".rstrip() for name, text in settings.strategies.items()
    )
    actions = "BUY, HOLD or CLOSE" if terms.buy_only else "BUY, SELL, HOLD or CLOSE"
    return f"""\
You trade {settings.instrument.symbol}. You walk through a market history one closed 15-minute \
bar at a time, and at each question you see all that was known at the close of the newest bar. \
Decide what to do now. Every decision is carried out as described here, and the account pays for it.

## Clock

All times are on the trading clock, New York time plus 7 hours, on which a trading day runs from \
00:00 to 24:00. A bar is named by the time at which it closed. H1 and D1 values come from \
completed hours and days only.

## Orders

- {entries} at the next bar's open. CLOSE closes the position at the next bar's open. HOLD does \
nothing.{late}
- One position at a time. An entry while a position is open is refused, and so is CLOSE without one.
- {free}
- Every position has a stop and a target, given as prices. {sides}: stop below the close, target \
above it. A level left null is the board's, if the strategy is live.
- Stop and target are watched in every bar, that of the entry included, and cannot be changed. \
Where one bar reaches both, {_BOTH[terms.intrabar]}.
- Size is not yours to choose. It is set so that the way from fill to stop risks \
{_share(terms.risk)} of the account; an entry that this makes too small to trade, or too large for \
a leverage of {_number(terms.leverage, 0)}, is refused.
- A strategy may limit its entries per trading day and may close its positions at a fixed time; \
the board says so.
- Prices are bid prices. You buy at the ask, which is the bid plus the bar's spread (at least \
{_number(terms.spread, n)}). Besides: slippage {_number(terms.slippage, n)} on market and stop \
fills, commission {_number(terms.commission, 2)} per lot and side, swap \
{_number(terms.swap, 2)} per lot and night (below zero you pay).
- An order that breaks a rule is refused, and nothing happens.

## Strategies

{strategies}

## Answer

One JSON object and nothing else, with these fields:
- reasoning: two to four sentences on what you see and why you decide as you do.
- action: {actions}.
- strategy: for an entry, the name of its strategy; else null.
- confidence: 0 to 1. For an entry, the probability that the trade ends with a profit; else how \
sure you are of the decision.
- stop, target: prices for an entry, or null for the board's.
"""


def user(ask: Snapshot, shown: Sequence[Shown], settings: PromptSettings) -> str:
    """The state at one close. What changes least comes first, the clock last."""
    n = settings.decimals
    parts = [
        "## Last closed trades, newest last",
        *([_trade(trade, n) for trade in ask.account.recent] or ["none yet"]),
        "",
        "## Bars, newest last",
        *_bars(ask, n),
        "",
        "## Indicators",
        *_indicators(ask.indicators, n),
        "",
        "## Board",
        *(line for row in ask.board for line in _board(row, n)),
        "",
        "## Position",
        _position(ask.position, n) if ask.position else "none",
        "",
        "## Account",
        _account(ask.account, settings.terms.risk),
    ]
    if shown:
        parts += ["", *_memory(ask, shown, n)]
    when = f"{WEEKDAYS[(ask.day + 3) % 7]} {_date(ask.day)} {_time(ask.minute)}"
    sessions = _sessions(ask.indicators.sessions) or "none"
    parts += [
        "",
        "## Now",
        f"{when}, session {sessions}. The newest bar closed at {_number(ask.close, n)}.",
        "What do you do?",
    ]
    return "\n".join(parts) + "\n"


def _bars(ask: Snapshot, n: int) -> list[str]:
    lines = ["close time | open | high | low | close | volume | spread"]
    rows: list[list[float]] = ask.window.tolist()
    times: list[int] = ask.window_close_ns.tolist()
    minutes: list[int] = ask.closed_at_minute.tolist()
    for (o, h, l, c, volume, spread), t_ns, minute in zip(rows, times, minutes, strict=True):
        at = f"{_date(_day(t_ns, minute))[5:]} {_time(minute)}"
        prices = f"{_number(o, n)} | {_number(h, n)} | {_number(l, n)} | {_number(c, n)}"
        lines.append(f"{at} | {prices} | {_number(volume, 0)} | {_number(spread, n)}")
    return lines


def _indicators(now: Indicators, n: int) -> list[str]:
    atr = [_number(value, n) for value in (now.atr_m15, now.atr_h1, now.atr_d1)]
    bands = ", ".join(_number(value, n) for value in (now.bb_low, now.bb_mid, now.bb_high))
    rank = f"ATR D1 is at or above {_share(now.atr_d1_pct)} of its last 20 values"
    return [
        f"ATR(14): M15 {atr[0]}, H1 {atr[1]}, D1 {atr[2]}",
        f"RSI(14): {_number(now.rsi, 1)}",
        f"SMA: 50 bars {_number(now.sma_50, n)}, 200 bars {_number(now.sma_200, n)}",
        f"Bollinger(20, 2): {bands}",
        f"H1: ADX(14) {_number(now.adx_h1, 1)}, SMA(20) {_number(now.sma_20_h1, n)}",
        f"Regime: trend {now.trend}, volatility {now.volatility} ({rank})",
    ]


def _board(row: BoardRow, n: int) -> list[str]:
    if row.exhausted:
        state = "done for today"
    else:
        state = {1: "LIVE long", -1: "LIVE short"}.get(row.live, "not live")
    limit = f" of {row.entries_per_day}" if row.entries_per_day else ""
    until = f", closes its positions at {_time(row.expires_minute)}" if row.expires_minute else ""
    lines = [f"{row.strategy}: {state}; entries today {row.entries_today}{limit}{until}"]
    levels = [f"{name} {_number(value, n)}" for name, value in row.levels.items()]
    if row.trigger is not None and row.distance is not None:
        where = "above" if row.distance >= 0 else "below"
        away = _number(abs(row.distance), n)
        levels.append(f"trigger {_number(row.trigger, n)} ({away} {where} the close)")
    levels += [f"stop {_number(row.stop, n)}", f"target {_number(row.target, n)}"]
    return [*lines, "  " + ", ".join(levels)]


def _position(at: Position, n: int) -> str:
    return (
        f"{_side(at.side)} {at.strategy}, {_number(at.lots, 3)} lots at {_number(at.entry, n)}, "
        f"stop {_number(at.stop, n)}, target {_number(at.target, n)}, held for {at.bars_held} "
        f"bars, unrealised {_signed(at.unrealised, 2)} ({_signed(at.unrealised_r, 2)} R)"
    )


def _account(account: Account, risk: float) -> str:
    return (
        f"equity {_number(account.equity, 2)}, cash {_number(account.cash, 2)}, started with "
        f"{_number(account.start, 2)}, closed trades {account.trades}, risk of one trade "
        f"{_number(risk * account.cash, 2)}"
    )


def _trade(trade: Trade, n: int) -> str:
    return (
        f"{_side(trade.side)} {trade.strategy}, {_number(trade.entry.price, n)} to "
        f"{_number(trade.exit.price, n)}, {_outcome(trade.pnl, trade.r)}, exit {trade.exit.why}"
    )


def _memory(ask: Snapshot, shown: Sequence[Shown], n: int) -> list[str]:
    lines = [
        "## Earlier trades, recalled for this decision",
        "They closed before now. They are cases to compare with, not instructions.",
    ]
    if any(item.recalled.mark == "injected" for item in shown):
        lines.append("Those marked + were added by a fixed rule, not by their likeness to now.")
    for place, item in enumerate(shown, 1):
        past, score = item.episode, item.recalled.score
        mark = " +" if item.recalled.mark == "injected" else ""
        like = f", similarity {_number(score, 2)}" if item.recalled.components else ""
        ago = f"{_number((ask.now_ns - past.known_ns) / DAY_NS, 1)} days ago"
        ended = f"{_outcome(past.pnl, past.r)}, exit {past.exit_reason}"
        lines += [
            f"{place}.{mark} {_side(past.side)} {past.strategy}, closed {ago}{like}: {ended}",
            f"   then: {_context(past.features, n)}",
        ]
        for name, text in (("reasoning then", past.reasoning), ("afterwards", past.reflection)):
            if quote := well_formed(" ".join(text.split())):
                cut = quote if len(quote) <= MAX_QUOTE else quote[:MAX_QUOTE] + "..."
                lines.append(f'   {name}: "{cut}"')
    return lines


def _context(f: Features, n: int) -> str:
    parts = [
        f"{WEEKDAYS[f.weekday]} {f.hour:02d} h, session {_sessions(f.sessions) or 'none'}",
        f"ATR M15 {_number(f.atr_m15, n)}, D1 {_number(f.atr_d1, n)}",
        f"trend {f.trend}, volatility {f.volatility}, RSI {_number(f.rsi, 1)}",
    ]
    if f.distance is not None:
        parts.append(f"close {_signed(f.distance, 2)} ATR D1 from the trigger")
    return "; ".join(parts)


def _outcome(pnl: float, r: float | None) -> str:
    word = "won" if pnl > 0 else "lost" if pnl < 0 else "broke even"
    in_r = "R unknown" if r is None else f"{_signed(r, 2)} R"
    return f"{word} {_number(abs(pnl), 2)} ({in_r})"


def _sessions(bits: int) -> str:
    return ", ".join(name for bit, name in SESSIONS if bits & bit)


def _side(side: int) -> str:
    return "long" if side > 0 else "short"


def _day(t_ns: int, minute: int) -> int:
    """Trading-day number of a bar that closes at t_ns and at that minute of the trading clock.

    The clock is ahead of UTC by 2 or 3 hours, so the two tell the offset; a bar that closes at
    24:00 belongs to the day that it ends.
    """
    ahead_ns = (minute * 60_000_000_000 - t_ns) % DAY_NS
    return (t_ns + ahead_ns - 1) // DAY_NS


@lru_cache(maxsize=4096)
def _date(day: int) -> str:
    return str(np.datetime64(day, "D"))


def _time(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _share(share: float) -> str:
    return f"{share * 100:.2f}".rstrip("0").rstrip(".") + " %" if _finite(share) else "unknown"


def _signed(value: float, decimals: int) -> str:
    return f"{value:+z.{decimals}f}" if _finite(value) else "unknown"


def _number(value: float | None, decimals: int) -> str:
    """Never an exponent, never NaN, never minus zero."""
    if value is None or not _finite(value):
        return "unknown"
    return f"{value:z.{decimals}f}"


def _finite(value: float) -> bool:
    return value - value == 0.0
