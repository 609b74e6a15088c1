"""`dream models`: who can decide, and never a key."""

from __future__ import annotations

import dataclasses
import json

import pytest

KEY = "sk-ant-" + "q7" * 20


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def test_models_and_cut_offs(dream):
    said = dream("models")
    assert (said.code, said.err) == (0, "")
    for word in ("sonnet", "claude-sonnet-5-5", "2026-06", "unknown", "rules", "random:P"):
        assert word in said.out
    assert "ANTHROPIC_API_KEY is not set" in said.out


def test_whether_there_is_a_key_but_not_which(dream, key):
    shown = dream("models").out
    told = dream("models", "--json").out
    assert "ANTHROPIC_API_KEY is set" in shown
    for text in (shown, told):
        assert KEY not in text
        assert KEY[7:15] not in text
    rows = {row["alias"]: row for row in json.loads(told)["models"]}
    local = rows.pop("local")
    assert (local["key"], local["key_present"]) == (None, None)
    for row in rows.values():
        assert row["key_present"] is (row["key"] == "ANTHROPIC_API_KEY")
    assert rows["fable"]["training_cutoff"] is None
    assert all(row["cutoff_source"] for row in rows.values())


def test_every_model_that_is_listed_can_be_named(dream, bars_path):
    """Without a key each of them is known, and asks for its key or to be installed."""
    for row in json.loads(dream("models", "--json").out)["models"]:
        for name in (row["alias"], row["id"]):
            said = dream("run", "--model", name, "--bars", bars_path)
            assert said.code == 5
            assert (row["key"] or "dream models install local") in said.err
            assert said.err.count("\n") == 1
    assert list(dream.folder.iterdir()) == []


def test_every_decider_without_a_key_that_is_listed_runs(dream, bars_path):
    (dream.folder / "FILE").write_text('{"action":"HOLD"}\n' * 3)
    (dream.folder / "module.py").write_text("def function(ask, shown):\n    return 'HOLD'\n")
    free = json.loads(dream("models", "--json").out)["without_a_key"]
    for row in free:
        name = row["name"].replace("P", "0.5") if row["name"] == "random:P" else row["name"]
        said = dream("run", "--model", name, "--bars", bars_path, "--decisions", 3)
        assert said.code == 0, said.err
    assert len(list((dream.folder / "runs").iterdir())) == len(free) == 5


def test_prices_are_those_of_the_price_table(dream):
    """Worked out from the table itself: a prompt of 2,500 tokens, scaled to a million."""
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - a third of a second

    told = json.loads(dream("models", "--json").out)
    shown = dream("models").out
    rows = {row["alias"]: row for row in told["models"]}
    kinds = ("input", "cache_read", "cache_write", "output")
    assert rows.pop("local")["usd_per_million"] == dict.fromkeys(kinds, 0.0)
    for row in rows.values():
        found = calc_price(Usage(input_tokens=2_500, output_tokens=2_500), row["id"])
        rates = (float(found.input_price) * 400, float(found.output_price) * 400)
        told_rates = row["usd_per_million"]
        assert (told_rates["input"], told_rates["output"]) == pytest.approx(rates)
        for kind in ("cache_read", "cache_write"):
            cached = Usage(input_tokens=2_500, **{f"{kind}_tokens": 2_500})
            price = calc_price(cached, row["id"]).input_price
            assert told_rates[kind] == pytest.approx(float(price) * 400)
        assert f"{rates[0]:.2f} / {rates[1]:.2f}" in shown
    assert told["prices"]["day"] in shown
    assert told["prices"]["source"] in shown
    assert "genai-prices" in shown


def test_what_is_not_known_is_called_so(dream, monkeypatch):
    from dream.llm import catalog  # noqa: PLC0415 - patched here only

    known = catalog.CATALOG["fable"]
    monkeypatch.setitem(catalog.CATALOG, "fable", dataclasses.replace(known, id="claude-none-1"))
    (line,) = (line for line in dream("models").out.splitlines() if "claude-none-1" in line)
    assert "not known" in line
    assert "training cutoff unknown" in line
    rows = {row["alias"]: row for row in json.loads(dream("models", "--json").out)["models"]}
    assert rows["fable"]["usd_per_million"] is None
