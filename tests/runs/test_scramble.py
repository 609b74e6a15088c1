"""Whole runs do not know the future: every byte before a moment is the same with other bars after.

Episode ids are hashes of the run's id, which is a hash of the path of its bars: both futures are
put under one path, one after the other.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from dream.bars import store
from dream.types import Decision, Recalled
from tests.runs import made, scramble
from tests.runs.scramble import SawTheFuture

ALL = 10**6
DAY_NS = 86_400_000_000_000
ASKS = ("bar", "every:4", "setup")


def both(bars: Path, cut: int, folder: Path, settings=None, **given):
    """The run with the bars as they are, and with another future."""
    folder.mkdir(exist_ok=True)
    place = folder / "bars.parquet"
    out = []
    for name, source in (("one", bars), ("other", scramble.scrambled(bars, cut, seed=11))):
        shutil.copy(source, place)
        spec = made.spec(place, **{"decisions": ALL, **(settings or {})})
        run = made.run(spec, folder / name, **given)
        out.append(run.folder)
    return out


@pytest.fixture
def bars(bars_path, tmp_path):
    return Path(shutil.copy(bars_path, tmp_path / "gold.parquet"))


def last_lines(told, kinds):
    return [line.record for line in told if line.kind in kinds]


def eager(ask, shown):
    """Trades often, and lets what memory shows change what it does."""
    if ask.position is not None:
        return Decision("CLOSE" if ask.position.bars_held > 6 else "HOLD")
    lost = sum(item.episode.pnl < 0 for item in shown)
    row = ask.board[(ask.seq + lost) % 3]
    away = ask.indicators.atr_m15 * (2 + lost)
    text = f"{lost} of {len(shown)} lost, score {sum(item.recalled.score for item in shown)!r}"
    return Decision("BUY", row.strategy, stop=ask.close - away, target=ask.close + away,
                    reasoning=text)  # fmt: skip


@pytest.mark.parametrize(
    ("ask", "cut", "asked", "traded"),
    [("bar", 4_200, 1_050, 3), ("every:4", 5_600, 600, 1), ("setup", 3_700, 1, 1),
     ("setup", 5_600, 9, 9)],
)  # fmt: skip
def test_a_run_by_rules_with_memory(bars, tmp_path, ask, cut, asked, traded):
    limit = 1_150 if ask == "bar" else ALL
    one, other = both(bars, cut, tmp_path, {"ask": ask, "decisions": limit})
    told = scramble.check_no_future(one, other, cut)
    decisions = last_lines(told, ["decision"])
    assert len(decisions) >= asked
    assert len(last_lines(told, ["trade"])) >= traded
    assert any(d["recalled"] for d in decisions) or asked == 1


@pytest.mark.parametrize(
    ("ask", "memory", "cut"), [("bar", "hybrid", 3_700), ("every:4", "similarity", 5_000)]
)
def test_an_agent_that_trades_on_what_it_remembers(bars, tmp_path, ask, memory, cut):
    settings = {"ask": ask, "memory": memory, "decisions": 650}
    one, other = both(bars, cut, tmp_path, settings, decider=eager)
    told = scramble.check_no_future(one, other, cut)
    assert len(last_lines(told, ["trade"])) > 12
    assert len(last_lines(told, ["reply"])) == len(last_lines(told, ["decision"])) > 400
    assert sum(len(d["recalled"]) for d in last_lines(told, ["decision"])) > 1_000


def test_the_moment_may_be_anywhere(bars, tmp_path):
    """At the question that enters, at the fill, inside the trade, at its exit, and one after."""
    run = made.run(made.spec(bars, decisions=ALL, ask="setup"), tmp_path / "plain")
    trade = made.of_kind(run.folder, "trade")[2]
    entry, end = trade["entry"]["bar"], trade["exit"]["bar"]
    for cut in (entry - 1, entry, entry + 1, end, end + 1, end + 2):
        one, other = both(bars, cut, tmp_path / f"{cut}", {"ask": "setup", "manage": True})
        scramble.check_no_future(one, other, cut)


@pytest.mark.parametrize("ask", ASKS)
def test_real_bars(real_bars_path, tmp_path, ask):
    start = int(np.datetime64("2025-01-01", "ns").astype(np.int64))
    weeks = {"bar": 9, "every:4": 16, "setup": 26}[ask]
    end = start + weeks * 7 * DAY_NS
    bars = tmp_path / "gold.parquet"
    part = store.read(real_bars_path, from_ns=start, to_ns=end)
    store.write(part, bars, source_clock="utc")
    cut = len(part) - 300
    one, other = both(bars, cut, tmp_path, {"ask": ask, "decisions": ALL})
    told = scramble.check_no_future(one, other, cut)
    assert len(last_lines(told, ["trade"])) > 2
    assert any(d["recalled"] for d in last_lines(told, ["decision"]))


CLOSES: dict[int, float] = {}
"""What the next test's recall function keeps aside: the future."""


def test_a_recall_function_that_looks_ahead_is_caught_at_its_first_look(bars, tmp_path):
    """It scores an episode by the close three bars later, from question 400 on."""

    def peeking(query, past):
        if query.seq == 0:
            series = store.read(tmp_path / "bars.parquet")
            CLOSES.update(zip(series.t_close_ns.tolist(), series.px[3:, 3].tolist(), strict=False))
        score = CLOSES.get(query.now_ns, 0) if query.seq >= 400 else 0.0
        return [Recalled(row, past[row].id, float(score)) for row in range(min(len(past), 1))]

    cut = 3_750
    runs = both(bars, cut, tmp_path, {"decisions": 700}, memory_recall_fn=peeking)
    with pytest.raises(SawTheFuture) as caught:
        scramble.check_no_future(*runs, cut)
    first = next(
        d for d in made.of_kind(made.only_run(tmp_path / "one"), "decision")
        if d["recalled"] and d["seq"] >= 400 and d["bar"] + 3 >= cut
    )  # fmt: skip
    assert first["bar"] == cut - 3
    assert caught.value.seq == first["seq"]


def test_a_decider_that_looks_ahead_is_caught(bars, tmp_path):
    def peeking(ask, shown):
        series = store.read(tmp_path / "bars.parquet")
        at = int(np.searchsorted(series.t_close_ns, ask.now_ns))
        return Decision(
            confidence=float(series.px[min(at + 1, len(series) - 1), 3] % 1_000) / 1_000
        )

    cut = 3_140
    runs = both(bars, cut, tmp_path, {"decisions": 60}, decider=peeking)
    with pytest.raises(SawTheFuture) as caught:
        scramble.check_no_future(*runs, cut)
    bar = {d["seq"]: d["bar"] for d in made.of_kind(runs[0], "decision")}
    assert bar[caught.value.seq] == cut - 1
