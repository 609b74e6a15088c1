"""docs/prompts.md shows the prompts that are sent, and its template runs."""

from __future__ import annotations

import importlib
import sys

import pytest

from dream.llm import caching, catalog
from dream.llm.prompt import TEMPLATES, system_prompt, user_prompt
from dream.llm.specimen import specimens
from dream.types import Usage
from tests.docs.pages import README, ROOT, blocks, links, table
from tests.messages_server import MessagesServer
from tests.runs import made
from tests.runs.test_day_run import access

__all__ = ["access"]

PAGE = ROOT / "docs" / "prompts.md"
SHOWN = [block.text for block in blocks(PAGE) if block.language == "text"]


def test_the_prompts_are_shown_whole():
    (settings, ask, shown), _ = specimens("v1")
    _, (day_settings, day_ask, day_shown) = specimens("v1", "day")
    assert [
        system_prompt(settings),
        user_prompt(ask, shown, settings),
        user_prompt(day_ask, day_shown, day_settings),
    ] == SHOWN
    assert list(TEMPLATES) == ["v1"], "another version is to be shown too"


def test_what_the_page_says_of_a_day_is_cached():
    settings, ask, shown = specimens("v1", "day")[1]
    *grows, rest = TEMPLATES["v1"].user(ask, shown, settings)
    assert grows[-1].startswith("06-07 13:00 | ")
    assert rest.startswith("\n## Last closed trades")


def test_the_numbers_are_those_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    assert f"the blocks {caching.LOOK_BACK} and {2 * caching.LOOK_BACK} before it" in text
    assert f"fewer than {caching.MARKS * caching.LOOK_BACK} bars" in text
    assert f"at least {caching.SILENT} replies" in text
    assert f"taken for {caching.TOKEN_BYTES} bytes" in text
    assert caching.LIFE_S == 300


def test_the_prices_are_those_of_sonnet():
    sonnet, at_ns = catalog.resolve("sonnet"), 1_796_000_000_000_000_000
    kinds = [Usage(10**6, output_tokens=0), Usage(0, 0, 10**6, 0), Usage(0, 10**6, 0, 0)]
    assert [catalog.price(sonnet, usage, at_ns) for usage in kinds] == [2.0, 2.5, 0.1]


def test_the_costs_are_those_of_the_tokens():
    rows = table(PAGE, "### What it saves", "context")
    for *_, tokens_in, read, written, cost in rows:
        n = [int(x.replace(",", "")) for x in (tokens_in, read, written)]
        share = (2.0 * n[0] + 0.1 * n[1] + 2.5 * n[2]) / (2.0 * sum(n))
        assert cost == f"{share:.0%}".replace("%", " %")
    assert len(rows) == 4


def test_the_template_of_the_page_runs(bars_path, tmp_path, monkeypatch, access):
    (source,) = [block for block in blocks(PAGE) if block.file == "mine.py"]
    (tmp_path / "mine.py").write_text(source.text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    importlib.invalidate_caches()
    settings = {"model": "sonnet", "prompt": "mine:CLOSES", "context": "day", "decisions": 3}
    with MessagesServer() as server:
        options = {"access": access(server)}
        run = made.run(made.spec(bars_path, **settings), tmp_path / "runs", options=options)
        content = server.seen[2].body["messages"][0]["content"]
    sys.modules.pop("mine")
    assert run.summary["decisions_by_status"]["ok"] == 3
    assert content[0]["text"] == "Closes:\n"
    assert content[-1]["text"].endswith("Position: none. Now?")
    assert "cache_control" in content[-2]


@pytest.mark.parametrize("target", links(PAGE))
def test_every_link_leads_to_a_file(target):
    file, _, anchor = target.partition("#")
    page = PAGE.with_name(file) if file else PAGE
    headings = [
        line.lstrip("# ").lower().replace(" ", "-").replace("`", "")
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("#")
    ]
    assert not anchor or anchor in headings


def test_the_readme_leads_here():
    assert "docs/prompts.md" in links(README)
