"""Runs from Python: answers as a list, a generator, a function; deciders and recall functions."""

from __future__ import annotations

import importlib
from functools import partial

import pytest

import dream
from dream.errors import Diverged, InputError, JournalCorrupt, RecallUnused
from dream.llm.scripted import Never
from dream.runs.api import Options
from dream.types import Decision, Recalled
from tests.runs import made


def answer(ask, shown):
    """Buys on every eighth question when flat, and closes after a while."""
    if ask.position is not None:
        return Decision("CLOSE" if ask.position.bars_held > 3 else "HOLD")
    if ask.seq % 8:
        return Decision()
    away = ask.indicators.atr_m15
    row = ask.board[ask.seq // 8 % 3]
    return Decision(
        "BUY", row.strategy, confidence=0.25, stop=ask.close - 3 * away,
        target=ask.close + 3 * away, reasoning=f"{len(shown)} recalled",
    )  # fmt: skip


class Taking:
    """A decider of the user's own, computed again on replay."""

    name = "taking"

    def decide(self, ask, shown):
        return answer(ask, shown)


def newest(query, past):
    """A recall function of the user's own: the newest episodes first."""
    rows = range(len(past) - 1, max(len(past) - 1 - query.k, -1), -1)
    return [Recalled(row, past[row].id, float(row)) for row in rows]


def told(folder):
    """What was decided, ordered and traded."""
    return [line.body for line in made.lines(folder) if line.kind in made.DERIVED]


def test_every_way_to_hand_over_answers_gives_the_same_run(bars_path, tmp_path):
    spec = made.spec(bars_path, decisions=160, memory="none")
    options = Options(folder=tmp_path)
    by_function = dream.run(spec, decider=answer, options=options)
    assert by_function.summary["trades"] > 3
    given = made.of_kind(by_function.folder, "decision")
    fields = ("action", "strategy", "confidence", "stop", "target", "reasoning")
    listed = [{name: d[name] for name in fields} for d in given]
    by_list = dream.run(spec, decider=listed, options=options)
    by_generator = dream.run(spec, decider=(a for a in listed), options=options)
    by_object = dream.run(spec, decider=Taking(), options=options)
    runs = [by_function, by_list, by_generator, by_object]
    assert len({run.id for run in runs}) == 4
    for run in runs[1:]:
        assert told(run.folder) == told(by_function.folder)
        assert run.digest == by_function.digest
    assert not made.of_kind(by_object.folder, "reply")
    assert len(made.of_kind(by_list.folder, "reply")) == 160


def test_the_run_hands_back_its_trades(bars_path, tmp_path):
    run = made.run(made.spec(bars_path, decisions=160), tmp_path, decider=answer)
    written = made.of_kind(run.folder, "trade")
    assert [(t.seq, t.pnl, t.exit.why, t.entry.price) for t in run.trades] == [
        (t["seq"], t["pnl"], t["exit"]["why"], t["entry"]["price"]) for t in written
    ]
    assert [t.seq % 8 for t in run.trades] == [0] * len(written)


def test_answers_handed_over_replay_without_them(bars_path, tmp_path):
    run = made.run(made.spec(bars_path, decisions=160), tmp_path, decider=answer)
    again = dream.replay(run.folder)
    assert (again.decisions, again.complete, again.digest) == (160, True, run.digest)


def test_a_decider_object_replays_with_it_only(bars_path, tmp_path):
    run = made.run(made.spec(bars_path, decisions=160), tmp_path, decider=Taking())
    assert dream.replay(run.folder, decider=Taking()).digest == run.digest
    with pytest.raises(InputError, match=r"given a decider object .*taking.*decider="):
        dream.replay(run.folder)
    with pytest.raises(Diverged, match="question 0, decision line, field action") as caught:
        dream.replay(run.folder, decider=Never())
    assert (caught.value.seq, caught.value.field) == (0, "action")


def test_a_finished_run_of_an_object_makes_its_summary_again(bars_path, tmp_path):
    spec = made.spec(bars_path, decisions=20)
    run = made.run(spec, tmp_path, decider=Taking())
    (run.folder / "summary.json").unlink()
    again = made.run(spec, tmp_path, decider=Taking())
    assert again.already_done
    assert {**again.summary, "wall_s": 0} == {**run.summary, "wall_s": 0}


def test_an_iterator_goes_on_after_a_stop(bars_path, tmp_path):
    """The same 40 answers again: the ones that were given are drawn and skipped."""
    spec = made.spec(bars_path, decisions=40)
    whole = made.run(spec, tmp_path / "whole", decider=(a for a in answers()))
    with pytest.raises(InputError, match="question 17: the script is used up; it has 17 answers"):
        made.run(spec, tmp_path / "parts", decider=(a for a in answers()[:17]))
    parts = made.run(spec, tmp_path / "parts", decider=(a for a in answers()))
    assert made.bodies(parts.folder) == made.bodies(whole.folder)


def answers():
    return [{"action": "HOLD", "reasoning": f"answer {n}"} for n in range(40)]


def test_a_recall_function_is_called_at_every_decision(bars_path, tmp_path):
    calls = []

    def counted(query, past):
        calls.append((query.seq, len(past)))
        return newest(query, past)

    spec = made.spec(bars_path, decisions=160, memory="none")
    run = made.run(spec, tmp_path, decider=answer, memory_recall_fn=counted)
    assert [seq for seq, _ in calls] == list(range(160))
    decisions = made.of_kind(run.folder, "decision")
    assert [d["pool"] for d in decisions] == [n for _, n in calls]
    assert [len(d["recalled"]) for d in decisions] == [min(n, 5) for _, n in calls]
    assert calls[-1][1] > 3
    assert run.summary["recall"]["calls"] == 160
    assert "counted" in run.summary["memory"]


def test_a_recall_function_replays_when_it_is_handed_over_again(bars_path, tmp_path):
    def mine(query, past):
        return newest(query, past)[:2]

    spec = made.spec(bars_path, decisions=160)
    run = made.run(spec, tmp_path, decider=answer, memory_recall_fn=mine)
    assert dream.replay(run.folder, memory_recall_fn=mine).digest == run.digest
    with pytest.raises(Diverged, match="question 30, reply line, field request"):
        dream.replay(run.folder, memory_recall_fn=newest)
    with pytest.raises(InputError, match="mine"):
        dream.replay(run.folder)


def test_a_recall_function_of_a_module_is_found_again(bars_path, tmp_path, monkeypatch):
    (tmp_path / "my_memory.py").write_text(
        "from dream import Recalled\n"
        "def first(query, past, *, most=1):\n"
        "    return [Recalled(r, past[r].id, 1.0) for r in range(min(int(most), len(past)))]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    spec = made.spec(bars_path, decisions=160, memory="my_memory:first", set_={"memory.most": "2"})
    named = made.run(spec, tmp_path / "runs", decider=answer)
    assert dream.replay(named.folder).digest == named.digest
    first = partial(importlib.import_module("my_memory").first, most=2)
    spec = made.spec(bars_path, decisions=160)
    handed = made.run(spec, tmp_path / "runs", decider=answer, memory_recall_fn=first)
    asked = [made.of_kind(run.folder, "decision") for run in (named, handed)]
    scores = [[[item["score"] for item in d["recalled"]] for d in decisions] for decisions in asked]
    assert scores[0] == scores[1]
    assert max(map(len, scores[0])) == 2


def test_memory_that_is_never_asked_fails_the_run(tmp_path):
    """Three days more than the first question needs, and no set-up in them."""
    bars = made.series(tmp_path / "gold.parquet", bars=3_150)
    spec = made.spec(bars, ask="setup")
    with pytest.raises(RecallUnused, match=r"never called in 0 decisions.*--memory none") as caught:
        made.run(spec, tmp_path / "runs")
    assert caught.value.exit_code == 6
    assert [line.kind for line in made.lines(made.only_run(tmp_path / "runs"))] == ["opened"]
    run = made.run(made.spec(bars, ask="setup", memory="none"), tmp_path / "none")
    assert (run.summary["decisions"], run.summary["ended"]) == (0, "end_of_data")
    assert run.summary["error_share"] is None


@pytest.mark.parametrize("asks", [{"ask": "bar"}, {"ask": "every:7"}, {"ask": "setup"}])
@pytest.mark.parametrize("manage", [False, True])
def test_every_way_of_asking_replays(bars_path, tmp_path, asks, manage):
    spec = made.spec(bars_path, decisions=70, manage=manage, **asks)
    run = made.run(spec, tmp_path, decider=answer)
    assert dream.replay(run.folder).digest == run.digest
    if asks["ask"] == "every:7":
        bars = {d["bar"] % 7 for d in made.of_kind(run.folder, "decision") if not d["position"]}
        assert len(bars) == 1


def test_a_journal_without_a_run_cannot_be_replayed(tmp_path):
    with pytest.raises(InputError, match="expected the folder of a run"):
        dream.replay(tmp_path)
    (tmp_path / made.JOURNAL).write_bytes(b"")
    with pytest.raises(InputError, match="the journal is empty"):
        dream.replay(tmp_path)
    (tmp_path / made.JOURNAL).write_bytes(b"hello\nhello\n")
    with pytest.raises(JournalCorrupt, match="line 1 at byte 0"):
        dream.replay(tmp_path)
