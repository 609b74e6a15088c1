"""`dream cost`: tokens and money by kind, as the server counted and the price list says."""

from __future__ import annotations

import json

import pytest

from tests.cli.typed import dream
from tests.messages_server import MessagesServer
from tests.runs import made
from tests.runs.asked import PRICE_USD, ask, waits

__all__ = ["ask", "dream", "waits"]

N = 12


@pytest.fixture
def run(ask):
    """Twelve answers, one of them after a cut body and one after two refusals."""
    plan = ["ok", "cut", "ok", "429", "529", "ok"]
    with MessagesServer(plan) as server:
        assert ask(server, decisions=N).code == 0
        assert len(server.seen) == N + 3
    return made.only_run(ask.folder)


def test_by_hand(dream, run):
    found = json.loads(dream("cost", run, "--json").out)
    (one,) = found["runs"]
    assert one["tokens"] == {
        "input": 500 * N, "cache_read": 1_000 * N, "cache_write": 100 * N, "output": 150 * N,
        "thinking": 20 * N,
    }  # fmt: skip
    per_million = {"input": 2, "cache_read": 0.1, "cache_write": 2.5, "output": 10}
    for name, usd in per_million.items():
        assert one["usd"][name] == pytest.approx(one["tokens"][name] * usd / 1e6)
    parts = sum(usd for name, usd in one["usd"].items() if name != "thinking")
    assert parts == pytest.approx(one["cost_usd"]) == pytest.approx(N * PRICE_USD)
    assert one["cached_share"] == pytest.approx(1_000 / 1_600)
    assert (one["replies"], one["attempts"], one["unsure_attempts"]) == (N, N + 3, 1)
    assert one["spent_usd"] == pytest.approx(one["cost_usd"] + one["unsure_usd"])
    assert one["known_usd"] == pytest.approx(one["cost_usd"])
    assert one["open_attempts"] == 0
    assert 0.03 < one["unsure_usd"] < 0.06
    assert found["spent_usd"] == one["spent_usd"]
    assert one["usd_unsplit"] == 0.0


def test_the_summary_says_the_same(dream, run):
    found = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    (one,) = json.loads(dream("cost", run, "--json").out)["runs"]
    assert found["usd"] == one["usd"]
    assert found["usd"]["thinking"] == pytest.approx(20 * N * 10 / 1e6)
    assert {name: found["tokens"][name] for name in one["tokens"]} == one["tokens"]


def test_in_words(dream, run):
    said = dream("cost", run, run / "journal.jsonl")
    assert said.code == 0
    text = " ".join(said.out.split())
    assert "input, from the cache 12,000 tokens 0.0012 USD" in text
    assert "output 1,800 tokens 0.0180 USD, 240 of them thinking" in text
    assert "replies 0.0342 USD; 62% of the input came from the cache" in text
    assert "15 attempts; 1 without a known cost, at most 0.0" in text
    assert text.endswith("USD at most")


def test_a_run_without_a_model(dream, bars_path):
    assert dream("run", "--bars", bars_path, "--decisions", 5).code == 0
    folder = made.only_run(dream.folder / "runs")
    said = dream("cost", folder)
    assert "rules, 0 replies" in said.out
    assert "all attempts 0.0000 USD, 0 attempts" in " ".join(said.out.split())


def test_what_is_no_run(dream, tmp_path):
    said = dream("cost", tmp_path / "nothing")
    assert said.code == 2
    assert "Traceback" not in said.err


def test_without_counts_nothing_is_made_up(dream, ask):
    with MessagesServer(["nousage"]) as server:
        assert ask(server, decisions=3).code == 0
    (one,) = json.loads(dream("cost", made.only_run(ask.folder), "--json").out)["runs"]
    assert (one["replies_without_counts"], one["cost_usd"]) == (3, None)
    assert one["tokens"]["input"] == 0
    assert one["unsure_attempts"] == 3
    assert one["spent_usd"] > 0.09
