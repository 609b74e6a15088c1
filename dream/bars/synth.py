"""Made-up 15-minute bars of gold that behave like the real ones where it matters to a backtest.

Not a model of the market: nothing in it can be predicted. What it shares with XAUUSD of January
2024 to March 2026, measured on 53,119 bars of a broker's bid series: the size of a bar by time of
day, the memory of volatility over hours and weeks, fat tails, the shape of a bar, gaps over the
daily break and weekends, opens that differ from the close before, spreads, and the calendar (weeks
of five trading days, summer time, holidays, half days). What it leaves out: news that is awaited,
the fall that raises volatility (small in gold), and links between days of the week. The memory of
volatility over four to sixteen hours is two thirds of the real one.

A bar is made from its range: log(range) = time of day + level of the day + level of the hour +
noise; the body is a Beta share of the range and its sign a coin toss; the wicks share the rest.
A longer series with the same seed begins with the shorter one.
"""

from __future__ import annotations

from datetime import date, timedelta
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np

from dream.bars import series
from dream.bars.clock.clocks import DAY_MIN, FIRST_YEAR, LAST_YEAR, instants, iso, year_start_ns
from dream.bars.clock.holidays import easter, nth_weekday
from dream.errors import SpecInvalid
from dream.types import F8, I4, I8, MINUTE_NS, Bars, Instrument

VERSION: Final = 1
"""Raised when the same arguments give other bars."""
BAR_MIN: Final = 15
FIRST_OPEN_MIN: Final = 60
DAY_BARS: Final = 92
HALF_DAY_BARS: Final = 82
"""A half day's last bar closes at 14:30 New York, the most common of the hours seen."""
START_NS: Final = 1_704_150_000_000_000_000
"""2024-01-01 23:00 UTC: 18:00 New York, the first bar of the trading day 2024-01-02."""
START_PRICE: Final = 2063.60
"""USD per ounce, the first open of that day."""
LARGEST_SWING: Final = 5.0
"""The path is reflected at this multiple and this fraction of its start, so that a series of any
length stays far from zero and from the largest int32."""

# fmt: off
RANGE_BY_SLOT: Final = (
    2.651, 2.206, 2.116, 2.013, 2.226, 2.098, 2.142, 2.205, 2.683, 2.503, 2.509, 2.466, 2.848,
    2.612, 2.685, 2.578, 2.582, 2.366, 2.487, 2.385, 2.376, 2.267, 2.226, 2.134, 2.191, 2.145,
    2.295, 2.226, 2.416, 2.359, 2.569, 2.498, 2.655, 2.610, 2.601, 2.485, 2.701, 2.601, 2.657,
    2.558, 2.658, 2.562, 2.516, 2.449, 2.497, 2.455, 2.506, 2.398, 2.460, 2.448, 2.473, 2.431,
    2.540, 2.497, 2.565, 2.543, 2.801, 2.956, 3.211, 2.968, 3.104, 2.996, 3.354, 3.224, 3.323,
    3.151, 3.086, 2.983, 3.022, 2.906, 2.841, 2.704, 2.735, 2.632, 2.631, 2.533, 2.576, 2.606,
    2.550, 2.353, 2.467, 2.359, 2.326, 2.247, 2.415, 2.295, 2.280, 2.324, 2.061, 1.911, 1.950,
    1.956,
)
# fmt: on
"""Mean log(range in basis points) of the 92 bars of a trading day from 18:00 New York on."""

# The level of a day in log(range): two AR(1) processes over days, bent to the right because wild
# months are wilder than calm months are calm. Real: std 0.42, skew 1.3, autocorrelation 0.90,
# 0.72, 0.57, 0.31 at 1, 5, 10 and 30 days.
SLOW_DAYS: Final = 0.977
FAST_DAYS: Final = 0.40
SLOW_SHARE: Final = 0.89
DAY_STD: Final = 0.46
DAY_BEND: Final = 0.40
DAY_CAP: Final = 2.6
# Within the day. Real: std 0.44, autocorrelation 0.38, 0.20, 0.05 at 1, 4 and 12 bars, skew 0.4,
# excess kurtosis 0.9: an AR(1) over bars, and noise that is normal plus exponential.
HOUR_MEMORY: Final = 0.885
HOUR_STD: Final = 0.33
NOISE_STD: Final = 0.19
NOISE_TAIL: Final = 0.23
RANGE_SHIFT: Final = 0.09
LARGEST_RANGE_BP: Final = 1_500.0
# Body over range: mean 0.455, std 0.26, from 0.34 in the narrowest tenth of bars to 0.60 in the
# widest; one wick is missing in 3 % of bars at either end.
BODY_MEAN_LOGIT: Final = -0.19
BODY_SLOPE: Final = 0.39
BODY_WEIGHT: Final = 3.0
WICK_SHAPE: Final = 1.4
NO_WICK: Final = 0.025
DRIFT_BP: Final = 0.12
"""Basis points a bar: the 37 % a year of the span measured."""

GAP_MEDIAN_BP: Final = (1.72, 6.6)
"""Median gap over the daily break and over a weekend or holiday."""
GAP_NOISE: Final = (1.15, 1.25)
"""Standard deviation of log|gap| about the level of the day."""
SAME_OPEN: Final = 0.38
"""Share of opens equal to the close before; of the others: log-normal ticks, median 2.3."""
OPEN_LOG_MEDIAN: Final = 0.85
OPEN_LOG_STD: Final = 1.0

# Ticks traded: log(volume) rises by 0.91 per log(range); correlation 0.73.
VOLUME_LOG_MEDIAN: Final = 7.63
VOLUME_SLOPE: Final = 0.91
VOLUME_MEMORY: Final = 0.98
VOLUME_STD: Final = 0.6
RANGE_LOG_MEDIAN: Final = 2.48

SPREAD_TICKS: Final = 22
"""Median spread; six brokers' medians lie between 0.16 and 0.77 USD, most between 0.16 and 0.30."""
SPREAD_STD: Final = 0.18
SPREAD_BY_RANGE: Final = 0.10
OPENING_SLOTS: Final = 2
OPENING_SPREAD: Final = 1.6
CLOSING_SPREAD: Final = 1.25


class _Grid(NamedTuple):
    """Open time in ns, slot in its day and row of its day, per bar; trading-day number, per day."""

    t_open_ns: I8
    slot: I8
    row: I8
    day: I8


def make(
    n_bars: int, seed: int, *, start_ns: int = START_NS, spread_ticks: int = SPREAD_TICKS
) -> Bars:
    """A deterministic series of 15-minute XAUUSD bars.

    Args:
        n_bars: length of the series.
        seed: any integer that is not negative; the same seed gives the same bars.
        start_ns: the first bar is the first of the calendar that opens at or after it.
        spread_ticks: median spread in ticks of 0.01 USD.

    Raises:
        SpecInvalid: an argument is out of range, or the series would end after 2198.
    """
    for name, value, least in (("bars", n_bars, 1), ("seed", seed, 0), ("spread", spread_ticks, 1)):
        if value < least:
            raise SpecInvalid(f"{name} is {value}; expected {least} or more")
    grid = _calendar(n_bars, start_ns)
    rng = _Draws(seed)
    level = _day_levels(rng, len(grid.day))
    log_range, noise = _log_ranges(rng, grid, level)
    mean = 1 / (1 + np.exp(-(BODY_MEAN_LOGIT + BODY_SLOPE * noise)))
    share = rng("body").beta(BODY_WEIGHT * mean, BODY_WEIGHT * (1 - mean))
    size = np.exp(log_range) * 1e-4
    body = _signs(rng("sign"), n_bars) * share * size + DRIFT_BP * 1e-4
    px = _prices(rng, body, _gaps(rng, grid, level), size * (1 - share))
    volume = _volumes(rng, log_range)
    spread = _spreads(rng, grid.slot, log_range, spread_ticks)
    return series(Instrument(), BAR_MIN * MINUTE_NS, grid.t_open_ns, px, spread, volume)


class _Draws(NamedTuple):
    """An independent stream of chance for each purpose: no draw moves another.

    Each purpose draws one array, row by row, so that a longer series begins with the shorter one.
    """

    seed: int

    def __call__(self, purpose: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose.encode()])


def _signs(rng: np.random.Generator, n: int) -> F8:
    return np.where(rng.random(n) < 0.5, -1.0, 1.0)


def _memory(rng: np.random.Generator, n: int, carry: float) -> F8:
    """An AR(1) process of unit variance, started from its own distribution."""
    z = rng.standard_normal(n)
    z[1:] *= np.sqrt(1 - carry * carry)

    def step(past: float, shock: float) -> float:
        return carry * past + shock

    return np.array(list(accumulate(z.tolist(), step)))


def _day_levels(rng: _Draws, days: int) -> F8:
    """(days,) deviation of log(range): mean 0, bent to the right."""
    slow = np.sqrt(SLOW_SHARE) * _memory(rng("slow"), days, SLOW_DAYS)
    z = slow + np.sqrt(1 - SLOW_SHARE) * _memory(rng("fast"), days, FAST_DAYS)
    bent = np.exp(DAY_BEND * np.minimum(z, DAY_CAP) - DAY_BEND**2 / 2) - 1
    return DAY_STD * bent / np.sqrt(np.expm1(DAY_BEND**2))


def _log_ranges(rng: _Draws, grid: _Grid, level: F8) -> tuple[F8, F8]:
    """(n,) log(range in basis points), and (n,) its noise in standard deviations."""
    n = len(grid.slot)
    hour = HOUR_STD * _memory(rng("hour"), n, HOUR_MEMORY)
    noise = NOISE_STD * rng("noise").standard_normal(n)
    noise += NOISE_TAIL * (rng("tail").standard_exponential(n) - 1)
    log_range = np.array(RANGE_BY_SLOT)[grid.slot] + RANGE_SHIFT + level[grid.row] + hour + noise
    log_range = np.minimum(log_range, np.log(LARGEST_RANGE_BP))
    return log_range, noise / np.hypot(NOISE_STD, NOISE_TAIL)


def _gaps(rng: _Draws, grid: _Grid, level: F8) -> F8:
    """(n,) gap in log price at the first bar of a day but the first, 0 elsewhere."""
    days = len(grid.day)
    long = (np.diff(grid.day, prepend=grid.day[0]) > 1).astype(np.int64)
    size = np.array(GAP_MEDIAN_BP)[long] * np.exp(
        np.array(GAP_NOISE)[long] * rng("gap").standard_normal(days) + level
    )
    by_day = _signs(rng("gap_sign"), days) * size * 1e-4
    opens = np.diff(grid.row, prepend=0) > 0
    return np.where(opens, by_day[grid.row], 0.0)


def _reflected(path: F8) -> F8:
    """A log path kept within LARGEST_SWING of its start by mirrors; |changes| stay the same."""
    edge = np.log(LARGEST_SWING)
    return edge - np.abs((path + edge) % (4 * edge) - 2 * edge)


def _prices(rng: _Draws, body: F8, gap: F8, wicks: F8) -> I4:
    """(n, 4) int32 ticks from log bodies, log gaps and wicks as a share of the price."""
    n = len(body)
    start = START_PRICE / Instrument().tick
    path = np.cumsum(body + gap)
    close = np.rint(start * np.exp(_reflected(path)))
    first = np.rint(start * np.exp(_reflected(path - body)))
    odds = rng("open").random((n, 2))
    ticks = np.ceil(np.exp(OPEN_LOG_MEDIAN + OPEN_LOG_STD * rng("open_size").standard_normal(n)))
    moved = np.where(odds[:, 0] < SAME_OPEN, 0.0, np.where(odds[:, 1] < 0.5, -ticks, ticks))
    open_ = np.where(gap != 0, first, np.roll(close, 1) + moved)
    open_[0] = first[0]
    upper = rng("wick").beta(WICK_SHAPE, WICK_SHAPE, n)
    edge = rng("no_wick").random(n)
    upper = np.where(edge < NO_WICK, 0.0, np.where(edge > 1 - NO_WICK, 1.0, upper))
    wicks = wicks * open_
    high = np.maximum(open_, close) + np.rint(wicks * upper)
    low = np.minimum(open_, close) - np.rint(wicks * (1 - upper))
    return np.stack([open_, high, low, close], axis=1).astype(np.int32)


def _volumes(rng: _Draws, log_range: F8) -> F8:
    """(n,) ticks traded."""
    path = VOLUME_STD * _memory(rng("volume"), len(log_range), VOLUME_MEMORY)
    log_volume = VOLUME_LOG_MEDIAN + VOLUME_SLOPE * (log_range - RANGE_LOG_MEDIAN) + path
    return np.ceil(np.exp(log_volume))


def _spreads(rng: _Draws, slot: I8, log_range: F8, median_ticks: int) -> I4:
    """(n,) int32 ticks: wider in the first half hour after 18:00 New York and in the last bar."""
    factor = np.where(slot < OPENING_SLOTS, OPENING_SPREAD, 1.0)
    factor = np.where(slot == DAY_BARS - 1, CLOSING_SPREAD, factor)
    log_factor = SPREAD_STD * rng("spread").standard_normal(len(slot))
    log_factor += SPREAD_BY_RANGE * (log_range - RANGE_LOG_MEDIAN)
    return np.maximum(np.rint(median_ticks * factor * np.exp(log_factor)), 1).astype(np.int32)


def _calendar(n_bars: int, start_ns: int) -> _Grid:
    """The first n_bars of the market's calendar that open at or after an instant."""
    last_day = year_start_ns(LAST_YEAR) // (DAY_MIN * MINUTE_NS)
    first_day = start_ns // (DAY_MIN * MINUTE_NS) - 1
    span = n_bars * 3 // (2 * DAY_BARS) + 30
    if start_ns < year_start_ns(FIRST_YEAR + 1) or first_day + span > last_day:
        raise SpecInvalid(
            f"{n_bars} bars from {iso(start_ns) if first_day < last_day else start_ns} pass the end"
            f" of {LAST_YEAR - 1}; ask for fewer"
        )
    day = np.arange(first_day, first_day + span)
    closed, half = _holidays(_year(first_day), _year(first_day + span))
    day = day[((day + 3) % 7 < 5) & ~np.isin(day, closed)]
    bars = np.where(np.isin(day, half), HALF_DAY_BARS, DAY_BARS)
    row = np.repeat(np.arange(len(day)), bars)
    slot = np.arange(len(row)) - np.repeat(np.cumsum(bars) - bars, bars)
    t_open_ns = instants(day, FIRST_OPEN_MIN)[row] + slot * (BAR_MIN * MINUTE_NS)
    first = int(np.searchsorted(t_open_ns, start_ns))
    cut = slice(first, first + n_bars)
    row = row[cut]
    return _Grid(t_open_ns[cut], slot[cut], row - row[0], day[row[0] : row[-1] + 1])


def _year(day: int) -> int:
    return (date(1970, 1, 1) + timedelta(days=day)).year


def _holidays(first_year: int, last_year: int) -> tuple[I8, I8]:
    """Trading days without bars, and half days, of the years given: as seen in 2021 to 2026."""
    closed: list[date] = []
    half: list[date] = []
    for year in range(first_year, last_year + 1):
        christmas = date(year, 12, 25)
        new_year = date(year, 1, 1)
        thanksgiving = nth_weekday(year, 11, 3, 4)
        closed += [
            new_year + timedelta(days=new_year.weekday() == 6),
            easter(year) - timedelta(days=2),
            christmas + timedelta(days={5: -1, 6: 1}.get(christmas.weekday(), 0)),
        ]
        fixed = [date(year, 6, 19), date(year, 7, 4)]
        half += [
            *(d + timedelta(days=d.weekday() == 6) for d in fixed),
            nth_weekday(year, 1, 0, 3),
            nth_weekday(year, 2, 0, 3),
            nth_weekday(year, 6, 0, 1) - timedelta(days=7),
            nth_weekday(year, 9, 0, 1),
            thanksgiving,
            thanksgiving + timedelta(days=1),
            date(year, 12, 24),
        ]
    epoch = date(1970, 1, 1)
    as_days = (np.array([(d - epoch).days for d in dates], np.int64) for dates in (closed, half))
    return next(as_days), next(as_days)
