"""docs/bars.md: its commands run, and its tables say what the code has."""

from __future__ import annotations

import pytest

from dream.bars.checks.faults import KINDS
from dream.bars.clock import zones
from dream.bars.importers.sheet import ROLES
from tests.docs.pages import BARS, blocks, table
from tests.docs.reader import Reader


def test_its_commands_run(tmp_path):
    reader = Reader(tmp_path)
    reader.follow(blocks(BARS))
    assert len(reader.typed) == 5
    first, last = (reader.said[block.line] for block in blocks(BARS))
    assert "utc alone fits" in first
    assert "appended      0 bars" in last


def test_every_fault_stands_there_with_its_actions_the_default_in_bold():
    said = {name: (what, actions) for name, what, actions in table(BARS, "## Faults", "fault")}
    assert list(said) == list(KINDS)
    for name, kind in KINDS.items():
        default, *others = kind.actions
        assert said[name] == (kind.what, ", ".join((f"**{default}**", *others)))


@pytest.mark.parametrize("rule", [row[0] for row in table(BARS, "## The clock", "`--clock`")])
def test_every_clock_that_is_named_is_understood(rule):
    assert zones.parse_clock(rule).text == rule


def test_the_columns_that_can_be_named_are_roles():
    text = BARS.read_text(encoding="utf-8")
    named = {word.split("=")[0] for word in text.replace("`", " ").split() if "=Last" in word}
    assert named == {"close"}
    assert named <= set(ROLES)
