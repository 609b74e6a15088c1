"""A series written in any format on any clock comes back as it was, bar by bar."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dream.bars import content_hash, ingest, store, synth, with_atr_m5
from dream.bars.checks.faults import Policy
from dream.bars.clock import clocks
from dream.bars.importers.sheet import Hints
from dream.bars.reading import Reading
from dream.bars.resample import resample
from dream.types import MINUTE_NS
from tests.bars import export
from tests.bars.sameness import same

if TYPE_CHECKING:
    from pathlib import Path

    from dream.types import Bars

CLOCKS = [
    "utc", "ny+7", "eet-eu", "london-5", "fixed:+03:00", "fixed:-04:30", "Europe/London",
    "America/New_York", "Asia/Kolkata", "Australia/Sydney", "eet-eu,ny+7@2021-01-03",
]  # fmt: skip
DAY = 1440 * MINUTE_NS
SWITCHES = ["2019-03-31", "2020-11-01", "2021-01-04", "2021-03-14", "2024-10-27", "2025-03-09"]
"""In Europe, in the United States, and where a clock of the list changes its rule."""
KEPT: Any = {"forming": "keep", "level": "keep", "invented": "keep"}
"""Short pieces of made-up bars may end low and cannot be told from other inventions."""


@dataclass(frozen=True, slots=True)
class Case:
    """Bars, and the clock on which they are written."""

    bars: Bars = field(repr=False)
    clock: str
    said: str = ""


@st.composite
def cases(draw: st.DrawFn, minutes: tuple[int, ...] = (1, 5, 15, 60, 240, 1440)) -> Case:
    """Bars of any length from a few days before a change of clocks on, or from anywhere."""
    length = draw(st.sampled_from(minutes))
    near = clocks.parse_instant(draw(st.sampled_from(SWITCHES)))
    start = near + draw(st.integers(-4 * 96, 2 * 96)) * 15 * MINUTE_NS
    if draw(st.booleans()):
        start = clocks.parse_instant("2012-01-01") + draw(st.integers(0, 5000)) * DAY
    least = {60: 40, 240: 200, 1440: 800}.get(length, 8)
    n = draw(st.integers(least, 60 if length < 15 else max(400, least + 600)))
    seed = draw(st.integers(0, 999))
    made = synth.make(n, seed, start_ns=start)
    if length < 15:
        made = export.split(made, 15 // length)
    elif length > 15:
        made = resample(made, length).bars
    said = f"M{length} of {n} bars from {clocks.iso(start)}, seed {seed}"
    return Case(made, draw(st.sampled_from(CLOCKS)), said)


def check(form: export.Form, case: Case, data: bytes, path: Path) -> None:
    """The import of these bytes gives the bars of the case back."""
    path.write_bytes(data)
    clock = case.clock if form.clock == "given" else None
    report, bars = ingest.read(path, Reading(clock=clock, policy=Policy(KEPT)))
    assert report.format == form.format
    assert not report.refused, report.refused
    assert report.rows_read == report.rows_kept == len(case.bars)
    expected = form.expected(case.bars)
    assert same(bars, expected)
    assert content_hash(bars) == content_hash(expected)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exports") / "bars"


@pytest.mark.parametrize("name", export.FORMS)
@settings(max_examples=settings.default.max_examples // 12)
@given(case=cases(), packed=st.sampled_from(list(export.PACKED)))
def test_bars_come_back(place: Path, name: str, case: Case, packed: str) -> None:
    form = export.FORMS[name]
    data = export.PACKED[packed](form.write(case.bars, case.clock))
    check(form, case, data, place)


TEXTS = [name for name in export.FORMS if not name.startswith(("hst", "parquet"))]


@given(
    case=cases((15,)),
    name=st.sampled_from(TEXTS),
    written=st.sampled_from(list(export.WRITTEN)),
    packed=st.sampled_from(list(export.PACKED)),
)
def test_in_any_dress(place: Path, case: Case, name: str, written: str, packed: str) -> None:
    form = export.FORMS[name]
    data = export.WRITTEN[written](form.write(case.bars, case.clock))
    check(form, case, export.PACKED[packed](data), place)


@pytest.mark.parametrize("name", export.DAILY)
@settings(max_examples=settings.default.max_examples // 12)
@given(case=cases((1440,)), written=st.sampled_from(["utf-8", "mark", "utf-16", "crlf"]))
def test_days_come_back(place: Path, name: str, case: Case, written: str) -> None:
    form = export.DAILY[name]
    data = export.WRITTEN[written](form.write(case.bars, export.DATES_CLOCK))
    place.write_bytes(data)
    reading = Reading(policy=Policy(KEPT), hints=Hints(day_first=False))
    report, bars = ingest.read(place, reading)
    assert (report.format, report.refused) == (form.format, ())
    assert same(bars, form.expected(case.bars))


@given(case=cases((1, 5)))
def test_candles_come_back(tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    """One day of them; the months of the path count from 00."""
    opens = case.bars.t_close_ns - case.bars.bar_ns
    whole = np.flatnonzero(opens // DAY == opens[0] // DAY)
    bars = export.Form("", lambda _, __: b"").expected(case.bars.prefix(len(whole)))
    day = clocks.day_text(int(opens[0] // DAY)).split("-")
    folder = tmp_path_factory.getbasetemp() / "XAUUSD" / day[0] / f"{int(day[1]) - 1:02d}" / day[2]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"BID_candles_min_{bars.bar_ns // MINUTE_NS}.bi5"
    path.write_bytes(export.candles(bars))
    report, back = ingest.read(path, Reading(policy=Policy(KEPT)))
    assert not report.refused
    assert same(back, bars)


@given(st.integers(8, 200), st.integers(0, 999), st.sampled_from([3, 15]))
def test_shorter_bars_make_those_of_which_they_were_made(n: int, seed: int, parts: int) -> None:
    """What the exporter splits, `resample` joins, and adds its average."""
    whole = synth.make(n, seed)
    joined = resample(export.split(whole, parts), 15).bars
    assert content_hash(with_atr_m5(joined, None)) == content_hash(whole)


@pytest.mark.parametrize("hour", [0, 8])
@pytest.mark.parametrize("clock", ["eet-eu", "ny+7", "fixed:+03:00", "Asia/Kolkata", "utc"])
def test_days_of_any_server_are_trading_days(tmp_path: Path, clock: str, hour: int) -> None:
    """Stamps at one hour of a clock, over both switches of a year, as a terminal writes them."""
    bars = resample(synth.make(24_000, 5), 1440).bars
    days = bars.day.astype("M8[D]")
    stamps = [str(day).replace("-", ".") for day in days]
    lines = [f"{day},{hour:02d}:00,{export.fields(row)},{row.volume}"
             for day, row in zip(stamps, export.rows(bars, "utc"), strict=True)]  # fmt: skip
    source, out = tmp_path / "XAUUSD1440.csv", tmp_path / "out.parquet"
    source.write_text("\n".join(lines), encoding="utf-8")
    report = ingest.ingest(source, out, Reading(clock=clock, policy=Policy(KEPT)))
    assert report.rows_kept == len(bars)
    made = store.read(out)
    assert np.array_equal(made.px, bars.px)
    if (clock, hour) == ("utc", 0):  # a grid of its own, which is left alone
        assert (made.t_close_ns % DAY == 0).all()
    else:
        assert np.array_equal(made.t_close_ns, bars.t_close_ns)
