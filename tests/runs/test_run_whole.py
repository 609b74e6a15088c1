"""Whole runs: the trades of an unasked run, money to the cent, resume, and nothing left behind."""

from __future__ import annotations

import math
import os
import shutil
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from dream.bars import store
from dream.engine.session import run_rules
from dream.errors import BarsInvalid, InputError, JournalBusy, ModelUnavailable, SpecInvalid
from dream.runs import api
from dream.runs.access import Access
from dream.runs.drive import Stopped, Watch
from dream.strategies import REGISTRY
from dream.types import Decision, Terms
from tests.runs import made

ALL = 10**6
NIGHTLY_ONLY = pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != "nightly", reason="two minutes: nightly only"
)


def facts(trade):
    """A trade without the number of its question, which an unasked run has none of."""
    return [getattr(trade, f) for f in trade.__dataclass_fields__ if f != "seq"]


def check_against_unasked(run, bars, terms):
    """Same trades, and money is conserved to the cent."""
    alone = run_rules(bars, REGISTRY, terms)
    assert [facts(t) for t in run.trades] == [facts(t) for t in alone.trades]
    assert run.summary["final_equity"] == alone.equity[-1]
    won = math.fsum(t.pnl for t in run.trades)
    change = run.summary["final_equity"] - run.summary["start_equity"]
    assert abs(won - change) < 0.005
    assert all(a.known_ns < b.known_ns for a, b in pairwise(run.trades))


@pytest.mark.parametrize("ask", ["bar", "setup"])
def test_asking_changes_nothing(bars_path, tmp_path, ask):
    run = made.run(made.spec(bars_path, decisions=ALL, ask=ask), tmp_path)
    assert run.summary["ended"] == "end_of_data"
    assert set(run.summary["trades_by_strategy"]) == set(REGISTRY)
    assert min(run.summary["trades_by_strategy"].values()) > 0
    check_against_unasked(run, store.read(bars_path), Terms())


def test_asking_changes_nothing_under_other_terms(bars_path, tmp_path):
    costs = {"slippage": 0.05, "commission": 3.5, "equity": 50_000.0, "risk": 0.01}
    terms = Terms(**costs, intrabar="target_first")
    given = {**costs, "intrabar": "target_first"}
    spec = made.spec(bars_path, decisions=ALL, ask="setup", terms=given)
    run = made.run(spec, tmp_path)
    assert all(run.summary["costs"][kind] > 0 for kind in ("spread", "slippage", "commission"))
    check_against_unasked(run, store.read(bars_path), terms)


def test_real_bars(real_bars_path, tmp_path):
    bounds = {"from": "2024-01-01", "to": "2024-04-05"}
    run = made.run(made.spec(real_bars_path, decisions=ALL, **bounds), tmp_path)
    start, end = (datetime.fromisoformat(d).replace(tzinfo=UTC) for d in bounds.values())
    bars = store.read(
        real_bars_path,
        from_ns=int(start.timestamp()) * 10**9,
        to_ns=int(end.timestamp()) * 10**9,
    )
    assert run.summary["trades"] > 3
    check_against_unasked(run, bars, Terms())


@pytest.mark.slow
@pytest.mark.parametrize("ask", ["setup", pytest.param("bar", marks=NIGHTLY_ONLY)])
def test_all_real_bars(real_bars_path, tmp_path, ask):
    run = made.run(made.spec(real_bars_path, decisions=ALL, ask=ask), tmp_path)
    assert set(run.summary["trades_by_strategy"]) == set(REGISTRY)
    assert min(run.summary["trades_by_strategy"].values()) > 10
    check_against_unasked(run, store.read(real_bars_path), Terms())
    again = api.replay(run.folder)
    assert (again.complete, again.digest) == (True, run.digest)


def test_a_run_ends_at_its_last_decision(bars_path, tmp_path):
    run = made.run(made.spec(bars_path, decisions=137), tmp_path)
    decisions = made.of_kind(run.folder, "decision")
    assert [d["seq"] for d in decisions] == list(range(137))
    assert run.summary["ended"] == made.lines(run.folder)[-1].record["ended"] == "decisions"
    assert run.summary["decisions"] == run.summary["decisions_by_status"]["ok"] == 137
    assert run.summary["recall"]["calls"] == 137


def test_the_start_of_a_longer_run_is_the_shorter_run(bars_path, tmp_path):
    longer = made.run(made.spec(bars_path, decisions=700), tmp_path)
    shorter = made.run(made.spec(bars_path, decisions=300), tmp_path)
    told = made.of_kind(shorter.folder, "decision")
    assert told == made.of_kind(longer.folder, "decision")[:300]


def entering(ask, shown):
    """Buys at every question, whether it may or not."""
    return {"action": "BUY", "strategy": "VolBreakout", "stop": ask.close - 5.0,
            "target": ask.close + 5.0}  # fmt: skip


def test_an_agent_that_never_stops_entering(bars_path, tmp_path):
    run = made.run(made.spec(bars_path, decisions=200, memory="hybrid"), tmp_path, decider=entering)
    assert run.summary["refused"]["position_open"] > 4
    assert run.summary["refused"]["day_limit"] > 10
    filled = [o["seq"] for o in made.of_kind(run.folder, "order") if o["reason"] is None]
    assert filled == [t["seq"] for t in made.of_kind(run.folder, "trade")]
    assert len(filled) == run.summary["trades"] > 1
    asked, ended = (made.of_kind(run.folder, kind) for kind in ("decision", "trade"))
    assert len(asked) == 200
    for decision in asked:
        known = [t for t in ended if t["known"] < decision["time"]]
        assert decision["pool"] == len(known)
        assert len(decision["recalled"]) == min(5, len(known))


def test_an_entry_under_a_strategy_that_is_not_there_is_refused(bars_path, tmp_path):
    answers = [Decision("BUY", "Nobody", stop=1.0, target=9_999.0)] * 5
    run = made.run(made.spec(bars_path, decisions=5), tmp_path, decider=answers)
    assert run.summary["refused"] == {"unknown_strategy": 4, "no_next_bar": 1}
    assert run.summary["actions"] == {"BUY": 5}


class Brake:
    """Stops a run after so many decisions."""

    def __init__(self, after):
        self.left = after

    def watch(self):
        return Watch(stop=self)

    def __call__(self):
        self.left -= 1
        return self.left <= 0


@pytest.mark.parametrize("sync", ["each", "batch"])
def test_a_run_stopped_again_and_again_is_the_run(bars_path, tmp_path, sync):
    spec = made.spec(bars_path, decisions=200, model="random:0.1", ask="every:4")
    whole = made.run(spec, tmp_path / "whole")
    stops = 0
    for after in (1, 1, 7, 100, 199, 200):
        with pytest.raises(Stopped):
            made.run(
                spec, tmp_path / "parts", options={"watch": Brake(after).watch(), "sync": sync}
            )
        stops += 1
    parts = made.run(spec, tmp_path / "parts")
    assert stops == 6
    assert made.bodies(parts.folder) == made.bodies(whole.folder)
    assert parts.digest == whole.digest
    assert {**parts.summary, "wall_s": 0, "journal": ""} == {
        **whole.summary, "wall_s": 0, "journal": "",
    }  # fmt: skip


def test_a_finished_run_is_only_read(bars_path, tmp_path):
    spec = made.spec(bars_path)
    first = made.run(spec, tmp_path)
    before = {p.name: p.read_bytes() for p in first.folder.iterdir()}
    second = made.run(spec, tmp_path)
    assert (first.already_done, second.already_done) == (False, True)
    assert second.summary == first.summary
    assert {p.name: p.read_bytes() for p in first.folder.iterdir()} == before


@pytest.mark.parametrize("wrong", [None, b"", b"{", b"[]", b'{"digest":"0"}', b"\xff"])
def test_a_summary_that_is_lost_is_made_again(bars_path, tmp_path, wrong):
    spec = made.spec(bars_path)
    first = made.run(spec, tmp_path)
    path = first.folder / "summary.json"
    path.unlink() if wrong is None else path.write_bytes(wrong)
    second = made.run(spec, tmp_path)
    assert {**second.summary, "wall_s": 0} == {**first.summary, "wall_s": 0}
    assert path.is_file()


def test_fresh_starts_another_and_the_same_command_goes_on_with_it(bars_path, tmp_path):
    spec = made.spec(bars_path)
    first = made.run(spec, tmp_path)
    with pytest.raises(Stopped):
        made.run(spec, tmp_path, options={"fresh": True, "watch": Brake(9).watch()})
    assert sorted(p.name for p in tmp_path.iterdir()) == [first.id, f"{first.id}-2"]
    second = made.run(spec, tmp_path)
    assert (second.id, second.already_done) == (f"{first.id}-2", False)
    assert (second.digest, made.bodies(second.folder)) == (first.digest, made.bodies(first.folder))
    third = made.run(spec, tmp_path, options={"fresh": True})
    assert third.id == f"{first.id}-3"
    assert made.run(spec, tmp_path).id == third.id


def test_other_bars_under_an_unfinished_run_are_refused(tmp_path):
    bars = made.series(tmp_path / "gold.parquet")
    spec = made.spec(bars)
    with pytest.raises(Stopped):
        made.run(spec, tmp_path / "runs", options={"watch": Brake(9).watch()})
    before = (made.only_run(tmp_path / "runs") / made.JOURNAL).read_bytes()
    bars.rename(tmp_path / "kept.parquet")
    made.series(bars, seed=3)
    with pytest.raises(InputError, match=r"bars changed since the run began: .*gold.parquet"):
        made.run(spec, tmp_path / "runs")
    assert (made.only_run(tmp_path / "runs") / made.JOURNAL).read_bytes() == before
    shutil.move(tmp_path / "kept.parquet", bars)
    assert made.run(spec, tmp_path / "runs").summary["decisions"] == 60


def test_the_script_changed_under_an_unfinished_run(bars_path, tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text('{"action":"HOLD"}\n' * 60)
    spec = made.spec(bars_path, model=f"scripted:{script}")
    with pytest.raises(Stopped):
        made.run(spec, tmp_path / "runs", options={"watch": Brake(9).watch()})
    script.write_text('{"action":"HOLD"}\n' * 61)
    with pytest.raises(InputError, match="script changed since the run began"):
        made.run(spec, tmp_path / "runs")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"ask": "sometimes"}, SpecInvalid, "ask: expected bar, setup or every:N"),
        ({"strategies": ["Nosuch"]}, SpecInvalid, "unknown strategy 'Nosuch'; known: VolBreakout"),
        ({"memory": "nosuch"}, SpecInvalid, "unknown recall function 'nosuch'; known: none"),
        ({"model": "nosuch"}, SpecInvalid, "unknown model 'nosuch'"),
        ({"model": "scripted:nosuch.jsonl"}, InputError, "script .*nosuch.jsonl: cannot be read"),
        ({"model": "nosuch:decide"}, SpecInvalid, "decider nosuch:decide: cannot import nosuch"),
        ({"model": "random:2"}, SpecInvalid, "random:P takes a probability"),
        ({"model": "sonnet"}, ModelUnavailable, "set ANTHROPIC_API_KEY"),
        ({"to": "2024-02-01"}, BarsInvalid, "bars are too few; .* 34 completed trading days"),
        ({"from": "2030-01-01"}, BarsInvalid, "no bar lies in the range asked for"),
        ({"from": "yesterday"}, InputError, "yesterday"),
        ({"prompt": "v999", "model": "sonnet"}, InputError, "v999"),
    ],
)  # fmt: skip
def test_a_run_that_never_began_leaves_nothing(bars_path, tmp_path, settings, error, message):
    access = Access(sleep=lambda _s: None, now_ns=lambda: 0)
    with pytest.raises(error, match=message):
        made.run(made.spec(bars_path, **settings), tmp_path / "runs", options={"access": access})
    assert not (tmp_path / "runs").exists()


def test_a_run_that_is_written_by_another_process_is_let_be(bars_path, tmp_path):
    """The second call comes from inside the first, while the first has the journal open."""
    spec, refusals = made.spec(bars_path, decisions=3), []

    def again(_tally, _ask):
        with pytest.raises(JournalBusy, match="another process is writing this run"):
            made.run(spec, tmp_path)
        refusals.append(1)

    run = made.run(spec, tmp_path, options={"watch": Watch(on_decision=again)})
    assert len(refusals) == run.summary["decisions"] == 3
    assert api.replay(run.folder).digest == run.digest
