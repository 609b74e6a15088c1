"""Replay: identical, without a network, fast; and the first difference has an address."""

from __future__ import annotations

import json
import socket
import sys
import time

import pytest

from dream.errors import Diverged, InputError, SchemaUnknown
from dream.runs import api
from dream.runs.drive import Stopped, Watch
from dream.runs.lines import NO_CHAIN, seal
from dream.types import Decision
from tests.runs import made

LEAST_PER_S = 400
"""Of one core, under load, in tests; 2,000 a second is kept by the benchmarks."""


@pytest.fixture
def cut_off(monkeypatch):
    """No network at all."""

    def refused(*_):
        pytest.fail("a replay opened a connection")

    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


def busy(ask, shown):
    """Trades often; what it says depends on what it saw."""
    if ask.position is not None:
        return Decision("CLOSE" if ask.position.bars_held > 5 else "HOLD")
    away = ask.indicators.atr_m15 * 2
    return Decision(
        "BUY", ask.board[ask.seq % 3].strategy, stop=ask.close - away, target=ask.close + away,
        reasoning=f"{len(shown)} recalled at {ask.close}",
    )  # fmt: skip


@pytest.mark.parametrize("decider", [busy, None], ids=["scripted", "rules"])
def test_two_thousand_decisions(bars_path, tmp_path, cut_off, decider):
    run = made.run(made.spec(bars_path, decisions=2_000), tmp_path, decider=decider)
    before = (run.folder / made.JOURNAL).read_bytes()
    started = time.process_time()
    again = api.replay(run.folder)
    took_s = time.process_time() - started
    assert (again.decisions, again.complete, again.digest) == (2_000, True, run.digest)
    assert (run.folder / made.JOURNAL).read_bytes() == before
    assert len(made.of_kind(run.folder, "reply")) == (2_000 if decider else 0)
    assert 2_000 / took_s > LEAST_PER_S
    assert run.summary["trades"] > (30 if decider else 5)


def test_an_unfinished_run_comes_out_as_far_as_it_goes(bars_path, tmp_path):
    spec = made.spec(bars_path, decisions=50)
    left = iter(range(29))
    watch = Watch(stop=lambda: next(left, None) is None)
    with pytest.raises(Stopped):
        made.run(spec, tmp_path, decider=busy, options={"watch": watch})
    folder = made.only_run(tmp_path)
    again = api.replay(folder)
    assert (again.decisions, again.complete, again.table) == (30, False, None)
    assert made.run(spec, tmp_path, decider=busy).summary["decisions"] == 50


def test_a_replay_is_told_of_every_decision(bars_path, tmp_path):
    run = made.run(made.spec(bars_path), tmp_path)
    seen = []
    api.replay(run.folder, watch=Watch(on_decision=lambda _tally, ask: seen.append(ask.seq)))
    assert seen == list(range(60))


FIRST = None
"""The question of the first trade."""


def rewritten(folder, change):
    """The journal with its records changed, sealed again: only a replay can tell."""
    before, out = NO_CHAIN, b""
    for line in made.lines(folder):
        record = json.loads(line.body)
        change(record)
        sealed, before = seal(made.as_line(record), line.meta, before)
        out += sealed
    (folder / made.JOURNAL).write_bytes(out)


@pytest.mark.parametrize(
    ("kind", "seq", "path", "value"),
    [
        ("decision", 17, "equity", 10_000.005),
        ("decision", 3, "obs", "0" * 16),
        ("decision", 9, "time", "2024-01-01T00:00:00Z"),
        ("decision", 59, "status", "api_error"),
        ("decision", 40, "recalled[0].score", 0.125),
        ("order", FIRST, "price", 2_000.0),
        ("order", FIRST, "lots", 0.001),
        ("trade", FIRST, "pnl", 5.0),
        ("trade", FIRST, "exit.why", "target"),
        ("trade", FIRST, "costs.spread", 0.0),
        ("closed", 60, "final_equity", 1.0),
        ("closed", 60, "digest", "0" * 32),
    ],
)
def test_one_changed_value_is_named(bars_path, tmp_path, kind, seq, path, value):
    run = made.run(made.spec(bars_path, decisions=60), tmp_path, decider=busy)
    seq = made.of_kind(run.folder, "trade")[0]["seq"] if seq is FIRST else seq
    changed = []

    def change(record):
        if record["kind"] != kind or record.get("seq", 60) != seq or changed:
            return
        at = record
        *way, last = path.replace("[0]", ".0").split(".")
        for step in way:
            at = at[int(step) if step.isdigit() else step]
        assert at[last] != value
        changed.append(at[last])
        at[last] = value

    rewritten(run.folder, change)
    with pytest.raises(Diverged, match=f"question {seq}, {kind} line, field ") as caught:
        api.replay(run.folder)
    assert (caught.value.seq, caught.value.field) == (seq, path)
    assert f"recorded {value!r}, now {changed[0]!r}" in str(caught.value)
    assert caught.value.exit_code == 4


def test_another_decider_under_a_name_is_found_when_the_run_goes_on(bars_path, tmp_path):
    """A run by chance with its seed changed in the record: the lines are those of another seed."""
    run = made.run(made.spec(bars_path, model="random:0.5"), tmp_path)

    def other_seed(record):
        if record["kind"] == "opened":
            record["spec"]["seed"] = 1

    rewritten(run.folder, other_seed)
    with pytest.raises(Diverged, match="run_id"):
        api.replay(run.folder)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("opened", "system", "You are an oracle that knows the future."),
        ("opened", "strategies", ["Nothing"]),
        ("opened", "run_id", "rules-none-0123456789ab"),
        ("opened", "hashes", {}),
        ("reply", "user", "the prompt that was never sent"),
    ],
)
def test_what_is_derived_and_was_edited(bars_path, tmp_path, kind, field, value):
    run = made.run(made.spec(bars_path, decisions=5), tmp_path, decider=busy)

    def edit(record):
        if record["kind"] == kind:
            assert record[field] != value
            record[field] = value

    rewritten(run.folder, edit)
    with pytest.raises(Diverged, match=field):
        api.replay(run.folder)


def test_settings_of_another_version(bars_path, tmp_path):
    run = made.run(made.spec(bars_path, decisions=5), tmp_path)

    def newer(record):
        if record["kind"] == "opened":
            record["spec"]["leverage_of_tomorrow"] = 3

    rewritten(run.folder, newer)
    with pytest.raises(SchemaUnknown, match=r"leverage_of_tomorrow.*the version that wrote it"):
        api.replay(run.folder)


def test_a_script_is_not_needed_again(bars_path, tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text('{"action":"HOLD","reasoning":"waiting"}\n"no JSON"\n{"action":"CLOSE"}\n')
    spec = made.spec(bars_path, decisions=3, model=f"scripted:{script}")
    run = made.run(spec, tmp_path / "runs")
    assert run.summary["decisions_by_status"]["parse_error"] == 1
    script.unlink()
    assert api.replay(run.folder).digest == run.digest


def test_a_decider_of_a_module_is_not_needed_again(bars_path, tmp_path, monkeypatch):
    (tmp_path / "my_agent.py").write_text("def decide(ask, shown):\n    return {'action':'HOLD'}\n")
    monkeypatch.syspath_prepend(tmp_path)
    run = made.run(made.spec(bars_path, model="my_agent:decide", decisions=5), tmp_path / "runs")
    (tmp_path / "my_agent.py").unlink()
    monkeypatch.delitem(sys.modules, "my_agent")
    assert api.replay(run.folder).digest == run.digest


def test_a_strategy_that_changed_is_refused(bars_path, tmp_path, monkeypatch):
    """By its file, before anything is derived from it."""
    source = (
        "import numpy as np\nfrom dream.strategies import vol_breakout\n"
        "def mine(bars):\n    return vol_breakout(bars)\n"
    )
    (tmp_path / "my_rules.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    spec = made.spec(bars_path, strategies=["my_rules:mine"], decisions=5)
    run = made.run(spec, tmp_path / "runs")
    (tmp_path / "my_rules.py").write_text(source + "# another\n")
    monkeypatch.delitem(sys.modules, "my_rules")
    with pytest.raises(InputError, match="strategy my_rules:mine changed since the run began"):
        api.replay(run.folder)
