"""What docs/models.md says of models and of their answers is what happens."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from dream.llm.parse import Unreadable, parse_answer
from dream.types import Decision
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "models.md"


def rules():
    """Rule, text and outcome of each row; \\n in a text is the end of a line."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("\n## An answer in words\n")
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
