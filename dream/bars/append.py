"""A series made longer by a newer export of the same feed.

What both have must agree bar for bar in prices: nothing else tells that they are of one feed and
one clock. The bars of the old series stay as they are, so that runs over them stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from dream.bars import series, with_atr_m5
from dream.bars.clock.clocks import DAY_MIN, iso, trading_clock
from dream.bars.overview import CLOSED_MIN
from dream.errors import BarsInvalid
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from dream.types import I4, I8, Bars

QUIET_MIN: Final = 60
"""Trading minutes without a bar that are no gap: feeds differ by an hour in when they close early,
and the last minutes of a week often have no tick."""
SHIFTS_H: Final = 14
"""A clock read wrongly is off by at most so many hours."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A time without bars where two series meet.

    Attributes:
        from_ns, to_ns: close of the bar before, open of the bar after.
        trading_min: minutes of it in which the market is open, if none of its days is a holiday:
            18:00 to 17:00 New York, Sunday evening to Friday. A weekend has none.
    """

    from_ns: int
    to_ns: int
    trading_min: int


@dataclass(frozen=True, slots=True, eq=False)
class Appended:
    """The longer series, and what was found where the two meet.

    Attributes:
        bars: the old bars and behind them what the new export has beyond their end; before them
            what it has from before their begin, if that was asked for.
        added: bars taken from the new export. earlier: bars that it has from before the old
            begin, taken or left out.
        overlapped: bars that both have, with equal prices. other_spread, other_volume: how many
            of these differ so; the old value is kept.
        only_old, only_new: bars that one of them lacks in the time that both cover; those that
            the old one lacks are left out.
        gaps: where more than an hour of trading is missing between the two: a hole or a holiday.
        notes: what else a reader should know, in words.
    """

    bars: Bars
    added: int
    earlier: int
    overlapped: int
    other_spread: int
    other_volume: int
    only_old: int
    only_new: int
    gaps: tuple[Gap, ...]
    notes: tuple[str, ...]


def append(old: Bars, new: Bars, *, earlier: bool = False) -> Appended:
    """The old bars made longer by those of a newer export.

    Args:
        old: the series so far, at least one bar.
        new: of the same symbol, tick and bar length, at least one bar.
        earlier: whether to take bars from before the old begin too.

    Raises:
        BarsInvalid: one has no bars, they are not of one kind, or a bar that both have has other
            prices in the new one; the first such bar is shown.
    """
    _check_kind(old, new)
    i, j = _in_both(old.t_close_ns, new.t_close_ns)
    differ = np.flatnonzero((old.px[i] != new.px[j]).any(axis=1))
    if len(differ):
        _refuse(old, new, (i, j), differ)
    first, last = (int(t) for t in old.t_close_ns[[0, -1]])
    before = int(np.searchsorted(new.t_close_ns, first))
    after = int(np.searchsorted(new.t_close_ns, last, side="right"))
    head, tail = new.between(0, before if earlier else 0), new.between(after, len(new))
    notes = (
        [] if len(i) else ["the two have no bar in common: nothing tells that they are one feed"]
    )
    shared = _within(old.t_close_ns, new.t_close_ns)
    bars = _joined(old, [part for part in (head, old, tail) if len(part)], notes)
    return Appended(
        bars=bars,
        added=len(head) + len(tail),
        earlier=before,
        overlapped=len(i),
        other_spread=int((old.spread[i] != new.spread[j]).sum()),
        other_volume=int((old.volume[i] != new.volume[j]).sum()),
        only_old=shared - len(i),
        only_new=after - before - len(i),
        gaps=(*_gap(head, old), *_gap(old, tail)),
        notes=tuple(notes),
    )


def _check_kind(old: Bars, new: Bars) -> None:
    """Refuse series that are not of one kind.

    Raises:
        BarsInvalid: naming both.
    """
    for name, bars in (("old", old), ("new", new)):
        if not len(bars):
            raise BarsInvalid(f"the {name} series has no bars; expected at least one")

    def kind(bars: Bars) -> str:
        mine = bars.instrument
        return f"{bars.bar_ns // MINUTE_NS}-minute bars of {mine.symbol} with tick {mine.tick:g}"

    if kind(old) != kind(new):
        raise BarsInvalid(
            f"the old series has {kind(old)}, the new one {kind(new)}; expected the same symbol,"
            " tick and bar length; give an export of the same kind"
        )


def _in_both(a: I8, b: I8) -> tuple[I8, I8]:
    """Rows of equal values in two increasing arrays."""
    at = np.minimum(np.searchsorted(b, a), len(b) - 1)
    rows = np.flatnonzero(b[at] == a)
    return rows, at[rows]


def _within(a: I8, b: I8) -> int:
    """How many values of an increasing array lie between the first and the last of another."""
    return int(np.searchsorted(a, b[-1], side="right") - np.searchsorted(a, b[0]))


def _refuse(old: Bars, new: Bars, common: tuple[I8, I8], differ: I8) -> NoReturn:
    """Raise BarsInvalid for bars with other prices."""
    (i, j), row = common, int(differ[0])
    opens = iso(int(old.t_close_ns[i[row]]) - old.bar_ns)
    if len(differ) == 1 and i[row] == len(old) - 1:
        advice = "it is the last of the old series and may not have been complete; leave it out"
    else:
        hours = _shift(old, new)
        advice = "expected one feed and one clock"
        if hours:
            ahead = "later" if hours > 0 else "earlier"
            advice += f"; they agree where the new one is {abs(hours)} h {ahead}: correct its clock"
    raise BarsInvalid(
        f"the prices of {len(differ):,} of the {len(i):,} bars that both series have differ, first"
        f" those of the bar that opens at {opens}: {_prices(old, i[row])} in the old one,"
        f" {_prices(new, j[row])} in the new one; {advice}"
    )


def _prices(bars: Bars, row: int) -> str:
    to_price = bars.instrument.to_price
    return " ".join(f"{to_price(ticks):.10g}" for ticks in bars.px[row].tolist())


def _shift(old: Bars, new: Bars) -> int:
    """Hours by which the new series is to be moved so that most bars agree, 0 where none do."""
    for hours in sorted(range(-SHIFTS_H, SHIFTS_H + 1), key=abs):
        i, j = _in_both(old.t_close_ns, new.t_close_ns + hours * 60 * MINUTE_NS)
        if len(i) > 1 and (old.px[i] == new.px[j]).all(axis=1).mean() > 0.9:
            return hours
    return 0


def _joined(old: Bars, parts: list[Bars], notes: list[str]) -> Bars:
    """One series of parts that follow each other; what is to be said of it goes to the notes.

    Raises:
        BarsInvalid: a part begins inside the last bar of the one before it.
    """
    for one, other in pairwise(parts):
        opens = int(other.t_close_ns[0]) - other.bar_ns
        if opens < one.t_close_ns[-1]:
            raise BarsInvalid(
                f"a bar that opens at {iso(opens)} begins inside the one that closes at"
                f" {iso(int(one.t_close_ns[-1]))}: the two series have bars on other grids;"
                " expected one grid; resample both from finer bars"
            )
    t_open_ns = np.concatenate([part.t_close_ns for part in parts]) - old.bar_ns
    px: I4 = np.concatenate([part.px for part in parts])
    spread: I4 = np.concatenate([part.spread for part in parts])
    volume = np.concatenate([part.volume for part in parts])
    bars = series(old.instrument, old.bar_ns, t_open_ns, px, spread, volume)
    averages: list[Any] = [part.atr_m5 for part in parts if part.atr_m5 is not None]
    if averages and len(averages) == len(parts):
        average = np.concatenate(averages)
        unknown = int(np.isnan(average).sum() - np.isnan(averages[0]).sum())
        if unknown:
            notes.append(
                f"the average of 5-minute bars is not known in {unknown:,} bars at the seam"
            )
        return with_atr_m5(bars, average)
    if averages:
        notes.append("only one of the two has the average of 5-minute bars: it was left out")
    return bars


def _gap(before: Bars, after: Bars) -> tuple[Gap, ...]:
    """The gap between two series, if there is one."""
    if not len(before) or not len(after):
        return ()
    from_ns, to_ns = int(before.t_close_ns[-1]), int(after.t_close_ns[0]) - after.bar_ns
    minute, day = trading_clock(np.array([from_ns, to_ns]), 0)
    passed = _trading_minutes(minute.astype(np.int64), day.astype(np.int64))
    trading_min = int(passed[1] - passed[0])
    return (Gap(from_ns, to_ns, trading_min),) if trading_min > QUIET_MIN else ()


def _trading_minutes(minute: I8, day: I8) -> I8:
    """(n,) minutes of open market since Monday 1969-12-29, if there were no holidays."""
    weeks, weekday = np.divmod(day + 3, 7)
    today = np.where(weekday < 5, np.maximum(minute - CLOSED_MIN, 0), 0)
    return (weeks * 5 + np.minimum(weekday, 5)) * (DAY_MIN - CLOSED_MIN) + today
