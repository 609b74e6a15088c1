"""Deciders of the user's: whatever they return or paint, a run says so or stays true."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from dream.errors import InputError
from dream.runs import api
from dream.types import Decision
from tests.runs import made

GOOD = Decision("BUY", "VolBreakout", 0.5, reasoning="why not")


@dataclass
class Fixed:
    """Always the same answer."""

    answer: Any
    name: str = "fixed"

    def decide(self, _ask, _shown):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "answer: expected a Decision, found None"),
        ({"action": "HOLD"}, "answer: expected a Decision"),
        (replace(GOOD, action="SHORT"), "action: expected one of BUY, CLOSE, HOLD, SELL"),
        (replace(GOOD, action=["BUY"]), "action: expected"),
        (replace(GOOD, status="fine"), "status: expected one of api_error"),
        (replace(GOOD, confidence=7), "confidence: expected None or a number from 0 to 1, found 7"),
        (replace(GOOD, confidence=math.nan), "confidence: .* found nan"),
        (replace(GOOD, confidence="0.5"), "confidence: expected None or a number, found '0.5'"),
        (replace(GOOD, stop="low"), "stop: expected None or a number"),
        (replace(GOOD, target=True), "target: expected None or a number"),
        (replace(GOOD, strategy="x" * 10_000), r"strategy: .* 100 characters, found 'x+\.\.\."),
        (replace(GOOD, strategy=3), "strategy: expected"),
        (replace(GOOD, reasoning=None), "reasoning: expected a text, found None"),
    ],
)
def test_an_answer_that_is_none_is_named(tmp_path, bars_path, answer, told) -> None:
    with pytest.raises(InputError, match=f"decider fixed at question 0: {told}"):
        made.run(made.spec(bars_path), tmp_path, decider=Fixed(answer))


@pytest.mark.parametrize("stop", [math.nan, -math.inf, 10**400])
def test_a_stop_that_is_no_number_refuses_the_order(tmp_path, bars_path, stop) -> None:
    done = made.run(
        made.spec(bars_path, decisions=3),
        tmp_path,
        decider=Fixed(replace(GOOD, stop=stop, target=1e5)),
    )
    lines = made.lines(done.folder)
    orders = [line.record for line in lines if line.kind == "order"]
    assert [order["reason"] for order in orders] == ["not_finite", "not_finite", "no_next_bar"]
    decisions = [line.record for line in lines if line.kind == "decision"]
    assert all(d["stop"] is None and d["confidence"] == 0.5 for d in decisions)


def test_numbers_of_numpy_are_numbers(tmp_path, bars_path) -> None:
    answer = replace(GOOD, action="HOLD", confidence=np.float32(0.25), stop=np.int64(3))
    done = made.run(made.spec(bars_path, decisions=1), tmp_path, decider=Fixed(answer))
    (line,) = (x.record for x in made.lines(done.folder) if x.kind == "decision")
    assert (line["confidence"], line["stop"]) == (0.25, 3.0)
    assert type(line["stop"]) is float


def test_a_failing_decider_is_told_with_its_place(tmp_path, bars_path) -> None:
    class Fails:
        name = "fails"

        def decide(self, ask, shown):
            if ask.seq == 7:
                raise ZeroDivisionError("of mine")
            return Decision()

    with pytest.raises(InputError, match=r"fails failed at question 7: Zero.*own_deciders\.py, l"):
        made.run(made.spec(bars_path), tmp_path, decider=Fails())


@dataclass
class Painter:
    """Takes every set-up; from question 5 on it repaints what it is shown."""

    paint: Any
    name: str = "painter"
    seen: list[Any] = field(default_factory=list)

    def decide(self, ask, shown):
        self.seen.append(ask)
        row = next((row for row in ask.board if row.live), None)
        if ask.seq >= 5:
            self.paint(self, ask)
        return Decision() if row is None or ask.position else Decision("BUY", row.strategy)


def no_position(_me, ask) -> None:
    object.__setattr__(ask, "position", None if ask.position else ask.account)


def other_window(_me, ask) -> None:
    ask.window.setflags(write=True)
    ask.window[-1, 3] = 1.0


def other_board(_me, ask) -> None:
    object.__setattr__(ask.board[0], "stop", 1.0)


def other_time(_me, ask) -> None:
    object.__setattr__(ask, "now_ns", 0)


@pytest.mark.parametrize("paint", [no_position, other_window, other_board, other_time])
def test_a_repainted_snapshot_is_refused(tmp_path, bars_path, paint) -> None:
    with pytest.raises(InputError, match="painter changed what it was shown at question 5"):
        made.run(made.spec(bars_path), tmp_path, decider=Painter(paint))


def old_trades(me, ask) -> None:
    """Paints trades that it was shown long ago and no longer is."""
    shown_now = {trade.seq for trade in ask.account.recent}
    for old in me.seen:
        for trade in old.account.recent:
            if trade.seq not in shown_now:
                object.__setattr__(trade, "pnl", 1e9)
                object.__setattr__(trade, "r", 99.0)


def test_old_trades_that_are_repainted_change_no_result(tmp_path, bars_path) -> None:
    what = made.spec(bars_path, decisions=3000)
    honest = made.run(what, tmp_path / "a", decider=Painter(lambda _me, _ask: None))
    painted = made.run(what, tmp_path / "b", decider=Painter(old_trades))
    assert honest.summary["trades"] > 6
    for key in ("digest", "gross_pnl", "mean_r", "wins", "final_equity"):
        assert painted.summary[key] == honest.summary[key], key


def test_a_trade_line_names_its_episode_and_equal_runs_elsewhere_are_equal(tmp_path) -> None:
    """The ids in `recalled` are those of trade lines before; paths play no part in them."""
    runs = []
    for place in ("here", "there"):
        folder = tmp_path / place
        folder.mkdir()
        script = folder / f"{place}.jsonl"
        script.write_text('{"action":"BUY","strategy":"VolBreakout"}\n' * 3000)
        what = made.spec(
            made.series(folder / f"{place}.parquet"), decisions=3000, model=f"scripted:{script}"
        )
        runs.append(made.run(what, folder))
    here, there = runs
    assert here.id != there.id
    assert here.digest == there.digest
    lines = [json.loads(x) for x in (here.folder / made.JOURNAL).read_text().splitlines()]
    known: set[str] = set()
    recalled = 0
    for line in lines:
        if line["kind"] == "trade":
            assert line["id"] not in known
            known.add(line["id"])
        if line["kind"] == "decision":
            ids = {item["id"] for item in line["recalled"]}
            assert ids <= known
            recalled += len(ids)
    assert recalled > 100
    assert api.replay(there.folder).digest == here.digest
