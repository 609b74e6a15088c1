"""What docs/deciders.md says of a model's request is what is sent."""

from __future__ import annotations

import pytest

from dream.llm.catalog import CATALOG
from dream.llm.client import MessageRequest
from tests.docs.pages import ROOT, table
from tests.runs import made

PAGE = ROOT / "docs" / "deciders.md"
ROWS = table(PAGE, "## A model", "`--model`")


def test_every_model_is_there():
    assert [row[0] for row in ROWS] == list(CATALOG)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_model_is_asked_as_the_page_says(row):
    alias, model, max_tokens, effort, thinking = row
    body = MessageRequest(0, 0, CATALOG[alias], "rules", "now", {"type": "object"}).body()
    output = body.pop("output_config")
    assert (body.pop("model"), str(body.pop("max_tokens"))) == (model, max_tokens)
    assert output.get("effort", "not sent") == effort
    assert output["format"]["type"] == "json_schema"
    assert body.pop("thinking", {"type": "not sent"}) == {"type": thinking}
    assert [block["cache_control"] for block in body.pop("system")] == [{"type": "ephemeral"}]
    assert body == {"messages": [{"role": "user", "content": "now"}]}, "nothing else is sent"


def test_some_entries_of_random_are_refused_after_the_forced_close(bars_path, tmp_path):
    spec = made.spec(bars_path, model="random:1", memory="none", decisions=500)
    summary = made.run(spec, tmp_path).summary
    assert summary["refused"]["expired"] > 0
    assert summary["trades"] > 0
