"""`--budget`: no call that could pass the limit, across resumes and between threads."""

from __future__ import annotations

import json
import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from dream.errors import BudgetSpent, SpecInvalid
from dream.llm import catalog
from dream.runs.budget import Attempts, Budget
from dream.runs.spending import spent_usd
from tests.cli.typed import dream
from tests.messages_server import MessagesServer
from tests.runs import made
from tests.runs.asked import PRICE_USD, ask, waits

__all__ = ["ask", "dream", "waits"]


def ceiling_usd(server):
    """Of the last request, by hand: a token a byte written to the cache, 2,048 tokens out."""
    return (len(server.seen[-1].raw) * 2.5 + 2_048 * 10) / 1e6


def test_it_ends_before_it_is_passed_and_a_larger_one_goes_on(ask):
    limit = 0.1
    with MessagesServer() as server:
        said = ask(server, "--budget", limit, decisions=100)
        asked = len(server.seen)
        ceiling = ceiling_usd(server)
        assert said.code == 5
        assert "Traceback" not in said.err
        spent = spent_usd(made.only_run(ask.folder))
        assert spent == pytest.approx(asked * PRICE_USD)
        assert limit - ceiling - 0.001 < spent <= limit - ceiling + 0.001
        told = re.search(r"budget: ([\d.]+) of 0.1 USD are spent", said.err)
        assert float(told[1]) == pytest.approx(spent, abs=5e-5)
        again = ask(server, "--budget", limit, decisions=100)
        assert (again.code, len(server.seen)) == (5, asked), "nothing is asked again"
        more = ask(server, "--budget", 2 * limit, decisions=100)
        assert more.code == 5
        assert len(server.seen) == pytest.approx(2 * limit / limit * asked, abs=25)
        whole = ask(server, "--json", decisions=100)
    assert whole.code == 0
    assert len(server.seen) == 100
    assert json.loads(whole.out)["spent_usd"] == pytest.approx(100 * PRICE_USD)


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "-0.0"])
def test_what_is_no_budget(ask, given):
    with MessagesServer() as server:
        said = ask(server, f"--budget={given}")
        assert server.seen == []
    assert said.code == 2
    assert "--budget takes US dollars above 0" in said.err
    assert not ask.folder.exists()


def test_without_a_price_it_is_refused(ask, monkeypatch):
    monkeypatch.setattr(catalog, "price", lambda *_: None)
    with MessagesServer() as server:
        said = ask(server, "--budget", 5)
        assert server.seen == []
    assert said.code == 2
    assert "its price is not known" in said.err


def test_a_lost_attempt_counts_at_its_most(ask):
    """The server answers nobody's question: each attempt may have cost its most."""
    with MessagesServer(["cut"]) as server:
        said = ask(server, "--budget", 0.15, decisions=5)
        most = ceiling_usd(server)
        assert said.code == 5
        assert len(server.seen) == int(0.15 / most)
    assert spent_usd(made.only_run(ask.folder)) == pytest.approx(most * len(server.seen), rel=0.01)


def test_the_estimate_is_of_the_prompts_that_follow(ask):
    with MessagesServer() as server:
        said = ask(server, "--memory", "none", decisions=20)
        chars = [
            len(seen.body["system"][0]["text"]) + len(seen.body["messages"][0]["content"])
            for seen in server.seen
        ]
    told = re.search(
        r"claude-sonnet-5-5: up to 20 questions of about ([\d,]+) tokens and 150 out: "
        r"about ([\d.]+) USD, ([\d.]+) where the cache serves; ([\d.]+) if",
        said.err,
    )
    tokens = round(sum(chars) / 20 / 3)
    assert int(told[1].replace(",", "")) == tokens
    assert float(told[2]) == pytest.approx(20 * (tokens * 2 + 150 * 10) / 1e6, abs=5e-5)
    assert float(told[4]) == pytest.approx(20 * (tokens * 2 + 2_048 * 10) / 1e6, abs=5e-3)
    assert float(told[3]) < float(told[2])


@pytest.mark.parametrize("seed", range(5))
def test_eight_runs_under_one_budget(tmp_path, seed):
    """Drawn costs below drawn ceilings; at no moment does the sum pass the limit."""
    budget, limit = Budget(1.0), 1.0

    def walk(number):
        draw = random.Random(8 * seed + number)
        folder = tmp_path / str(number)
        folder.mkdir()
        attempts = Attempts(folder, budget)
        for seq in range(1_000):
            ceiling = draw.uniform(0.001, 0.05)
            try:
                attempts.begin(seq, 0, 1, ceiling)
            except BudgetSpent:
                break
            assert budget.total_usd <= limit
            attempts.end(seq, 0, 1, None if draw.random() < 0.1 else ceiling * draw.random())
        attempts.close()
        return spent_usd(folder)

    with ThreadPoolExecutor(8) as pool:
        spent = sum(pool.map(walk, range(8)))
    assert limit - 0.05 < spent <= limit
    assert budget.total_usd == pytest.approx(spent)


def test_what_was_spent_before_counts(tmp_path):
    budget = Budget(1.0)
    budget.count("another run", 0.6)
    attempts = Attempts(tmp_path, budget)
    attempts.begin(0, 0, 1, 0.4)
    assert budget.total_usd == pytest.approx(1.0)
    attempts.end(0, 0, 1, 0.3)
    with pytest.raises(BudgetSpent, match=r"0\.9000 of 1 USD are spent and the next call could"):
        attempts.begin(1, 0, 1, 0.2)
    attempts.begin(1, 0, 2, 0.1)


def test_a_limit_is_a_number_above_nothing():
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(SpecInvalid):
            Budget(wrong)
