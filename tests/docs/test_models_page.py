"""What docs/models.md says of models and of their answers is what happens."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields

import pytest

from dream.llm.catalog import CATALOG, SERVERS, Entry, resolve
from dream.llm.client import MessageRequest
from dream.llm.own import _Endpoint, _Model, own_models
from dream.llm.parse import Unreadable, parse_answer
from dream.llm.profile import Profile
from dream.types import Decision
from tests.docs.pages import ROOT, blocks, table

PAGE = ROOT / "docs" / "models.md"
NOT_SENT = "not sent"


def body_of(entry: Entry) -> dict[str, object]:
    """What is sent to a model, but for the prompt, whose form is told in docs/prompts.md."""
    body = MessageRequest(0, 0, entry, "rules", "now", {"type": "object"}).body()
    return {name: value for name, value in body.items() if name not in ("system", "messages")}


def test_every_model_is_there():
    rows = table(PAGE, "## The catalogue", "`--model`")
    assert [row[0] for row in rows] == list(CATALOG)


@pytest.mark.parametrize("row", table(PAGE, "## The catalogue", "`--model`"), ids=lambda r: r[0])
def test_a_model_is_asked_as_the_page_says(row):
    alias, model, answer, max_tokens, effort, thinking, temperature = row
    entry = CATALOG[alias]
    body = body_of(entry)
    output = body.pop("output_config", {})
    assert (body.pop("model"), str(body.pop("max_tokens"))) == (model, max_tokens)
    assert output.pop("effort", NOT_SENT) == effort
    assert body.pop("thinking", {"type": NOT_SENT}) == {"type": thinking}
    assert f"{body.pop('temperature', NOT_SENT):.3}"[:1] == temperature[:1]
    form = "text" if not (output or "tools" in body) else "schema" if output else "tool"
    other = "" if entry.fallback is None else f", else {entry.fallback}"
    assert f"{form}{other}" == answer
    assert set(body) <= {"tools", "tool_choice"}, "nothing else is sent"


@pytest.mark.parametrize(
    "row", table(PAGE, "## A server of your own", "`--model`"), ids=lambda r: r[0]
)
def test_a_server_is_asked_as_the_page_says(row):
    name, address, answer, temperature = row
    assert [r.alias for r in SERVERS.values()].count(name) == 1
    entry = resolve(name.replace("NAME", "llama3.2:3b"))
    assert (entry.base_url, entry.key_name, entry.cutoff) == (address, None, None)
    other = "" if entry.fallback is None else f", else {entry.fallback}"
    assert f"{entry.answer}{other}" == answer
    body = body_of(entry)
    assert body["model"] == "llama3.2:3b"
    assert ("temperature" in body, "seed" in body) == (temperature == "0", False)


def test_the_entries_of_the_page_can_be_used():
    (example,) = (b.text for b in blocks(PAGE) if b.language == "toml")
    found = tomllib.loads(example)
    own = own_models(found["models"], found["endpoints"])
    assert list(own.models) == ["llama", "thinker", "sonnet"]
    assert own.models["llama"].key_command == ("pass", "show", "gpu")
    assert own.models["thinker"].cutoff == CATALOG["sonnet"].cutoff
    assert own.models["sonnet"].prices.cache_write == 2.25


def test_every_key_of_an_entry_is_on_the_page():
    said = {}
    for first in ("key of `[models.NAME]`", "key of `[endpoints.NAME]`"):
        rows = table(PAGE, "## Entries of your own", first)
        said[first] = {key for row in rows for key in row[0].split(", ")}
    assert list(said.values()) == [set(_Model.model_fields), set(_Endpoint.model_fields)]
    text = PAGE.read_text(encoding="utf-8")
    listed = re.search(r"What changes a request \((.*?)\)", text)[1]
    assert listed.replace("`", "").split(", ") == [
        "id", "answer", "fallback", "max_tokens", "effort", "thinking", "temperature", "seed",
        "cache",
    ] == list(Profile.model_fields)  # fmt: skip


def rules():
    """Rule, text and outcome of each row; \\n in a text is the end of a line."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("\n| rule | text | read as |\n")
    rest = rest.partition("\n\n")[0]
    rows = re.findall(r"^\| (.+) \| (`+) ?(.+?) ?\2 \| (.+) \|$", rest, re.MULTILINE)
    return [(rule, text.replace("\\n", "\n"), read) for rule, _, text, read in rows]


def test_every_row_of_the_rules_is_tried():
    lines = PAGE.read_text(encoding="utf-8").partition("\n| rule | text | read as |\n")[2]
    assert len(rules()) == len(re.match(r"(\|.*\n)*", lines)[0].splitlines()) - 1 > 30


@pytest.mark.parametrize(("rule", "text", "read"), rules(), ids=[r[0][:40] for r in rules()])
def test_an_answer_in_words_is_read_as_the_page_says(rule, text, read):
    if read.startswith("refused: "):
        with pytest.raises(Unreadable, match=re.escape(read.removeprefix("refused: "))):
            parse_answer(text, tolerant=True)
        return
    action, *said = read.split(", ")
    values = dict(part.split(" ", 1) for part in said)
    kinds = {f.name: float if "float" in str(f.type) else str for f in fields(Decision)}
    expected = {name: kinds[name](value) for name, value in values.items()}
    assert parse_answer(text, tolerant=True) == Decision(action, **expected)
