"""Planted leaks are found, named by their bar or question, and end the command with 3."""

from __future__ import annotations

import re

import pytest

from dream.bars import store
from dream.engine.session import run_rules
from dream.errors import LeakError
from dream.strategies import vol_breakout
from dream.types import Recalled, Setups, Terms
from tests.cli.typed import dream
from tests.runs import made

__all__ = ["dream"]

CENTRED = '''
import numpy as np
from dream.types import MISSING, Setups

def centred(bars, *, half=3):
    """Live where the close is above a mean that reaches into later bars."""
    close = bars.px[:, 3].astype(float)
    half = int(half)
    mean = np.array([close[max(i - half, 0) : i + half + 1].mean() for i in range(len(close))])
    live = (close > mean).astype(np.int8)
    nothing = np.full(len(close), MISSING, np.int32)
    stop = (bars.px[:, 2] - 500).astype(np.int32)
    target = (bars.px[:, 1] + 500).astype(np.int32)
    return Setups(live, stop, target, nothing, {})

def trailing(bars):
    """The same, with a mean that ends at the bar."""
    close = bars.px[:, 3].astype(float)
    mean = np.array([close[max(i - 6, 0) : i + 1].mean() for i in range(len(close))])
    live = (close > mean).astype(np.int8)
    nothing = np.full(len(close), MISSING, np.int32)
    stop = (bars.px[:, 2] - 500).astype(np.int32)
    target = (bars.px[:, 1] + 500).astype(np.int32)
    return Setups(live, stop, target, nothing, {})
'''
MEMORIES = """
from dataclasses import replace
from dream import Recalled

kept = []

def kept_back(query, past):
    # From question 40 on, an episode of an earlier answer under a row that is not there.
    if query.seq >= 40:
        return [Recalled(len(past), "0123456789abcdef", 1.0)]
    return []

def invented(query, past):
    if len(past) and query.seq >= 900:
        return [Recalled(0, "invented", 1.0)]
    return [Recalled(row, past[row].id, 1.0) for row in range(min(1, len(past)))]
"""


def test_a_centred_mean_ends_the_command_with_3(dream, bars_path):
    (dream.folder / "mine.py").write_text(CENTRED)
    said = dream("run", "--bars", bars_path, "--strategies", "VolBreakout,mine:centred")
    assert (said.code, said.out) == (3, "")
    assert said.err.startswith("dream: strategy centred sees the future: ")
    found = re.search(r"at bar (\d+) \(.*Z\) .* when the bars from (\d+) on are hidden", said.err)
    bar, cut = map(int, found.groups())
    assert cut - 3 <= bar < cut, "only the last three rows of a prefix can differ"
    assert "Traceback" not in said.err
    assert not (dream.folder / "runs").exists()


def test_the_same_without_the_leak_runs(dream, bars_path):
    (dream.folder / "mine.py").write_text(CENTRED)
    said = dream("run", "--bars", bars_path, "--strategies", "mine:trailing", "--decisions", 50)
    assert said.code == 0, said.err


@pytest.mark.parametrize("reach", [1, 2, 40])
def test_a_leak_of_any_reach(dream, bars_path, reach):
    (dream.folder / "mine.py").write_text(CENTRED)
    set_ = f"mine:centred.half={reach}"
    said = dream("run", "--bars", bars_path, "--strategies", "mine:centred", "--set", set_)
    assert said.code == 3


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("mine:kept_back", r"kept_back at decision 40 returned row 0 with id '0123456789abcdef'"),
        ("mine:invented", r"invented at decision 900 returned row 0 with id 'invented'"),
    ],
)
def test_an_item_that_is_not_of_the_past(dream, bars_path, memory, message):
    (dream.folder / "mine.py").write_text(MEMORIES)
    args = ("run", "--bars", bars_path, "--memory", memory, "--decisions", 1_000)
    said = dream(*args)
    assert said.code == 3
    assert re.search(message, said.err)
    assert "Traceback" not in said.err
    seq = int(re.search(r"at decision (\d+)", said.err)[1])
    asked = made.of_kind(made.only_run(dream.folder / "runs"), "decision")
    assert [d["seq"] for d in asked] == list(range(seq)), "nothing is acted on after the leak"
    again = dream(*args)
    assert (again.code, again.err) == (3, said.err)


def test_an_episode_kept_from_a_later_moment_cannot_be_shown_earlier(bars_path, tmp_path):
    """The function saw a trade in one run and shows it in the next, before it has closed."""
    seen = {}

    def greedy(query, past):
        for row in range(len(past)):
            seen.setdefault(past[row].id, row)
        return [Recalled(row, name, 1.0) for name, row in list(seen.items())[:1]]

    spec = made.spec(bars_path, ask="setup", decisions=8)
    first = made.run(spec, tmp_path, memory_recall_fn=greedy)
    assert len(seen) > 1
    with pytest.raises(LeakError, match=r"greedy at decision 0 returned row 0 .* among the 0 epis"):
        made.run(spec, tmp_path, memory_recall_fn=greedy, options={"fresh": True})
    assert first.summary["recall"]["recalled"] > 0


def test_a_strategy_that_reads_past_its_bars_through_a_view_is_found(bars_path, tmp_path):
    """It keeps the longest series that it was ever given, and looks the next bar up in it."""
    kept = []

    def keeping(bars, **params):
        kept.append(bars)
        longest = max(kept, key=len)
        setups = vol_breakout(bars)
        stop = setups.stop.copy()
        stop[-1] = longest.px[min(len(bars), len(longest) - 1), 2]
        return Setups(setups.live, stop, setups.target, setups.trigger, setups.levels)

    with pytest.raises(LeakError, match="keeping sees the future: stop at bar"):
        run_rules(store.read(bars_path), {"keeping": keeping}, Terms())
