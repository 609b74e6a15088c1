"""What the pages say of fields, names and numbers is what the code has."""

from __future__ import annotations

import ast
import re
from dataclasses import MISSING as NONE
from dataclasses import fields

import pytest

import dream
from dream import errors
from dream.llm import catalog
from dream.memory.episodes import COLUMNS, FEATURE_COLUMNS, OUTCOME_COLUMNS, Memory
from dream.runs.spec import RunSpec
from dream.types import Usage
from tests.docs.pages import PLUGGING, README, links, table

SHOWN = (
    "Account", "Bars", "BoardRow", "Costs", "Decision", "Episode", "Features", "Fill", "Indicators",
    "Instrument", "Options", "Position", "RecallQuery", "Recalled", "Replayed", "Run", "Setups",
    "Shown", "Snapshot", "Terms", "Trade",
)  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_table_has_the_fields_their_types_and_their_defaults(name):
    rows = table(PLUGGING, f"### {name}", "field")
    known = fields(getattr(dream, name))
    assert [row[0] for row in rows] == [field.name for field in known]
    for (_, said, what), field in zip(rows, known, strict=True):
        kind, shows_default, default = said.partition(" = ")
        # a table of several like fields need not repeat itself
        assert what or rows[0][2].endswith("all four"), field.name
        assert kind == field.type.replace('"', "'")
        made = field.default if field.default_factory is NONE else field.default_factory()
        if shows_default:
            assert ast.literal_eval(default) == made, field.name
        elif field.default is not NONE:
            assert "unless given" in what, f"{field.name}: its default is not shown"


def test_the_settings_of_a_run_are_all_there_with_their_defaults():
    rows = table(PLUGGING, "### RunSpec", "field")
    known = RunSpec.model_fields
    assert [row[0] for row in rows] == [f.alias or name for name, f in known.items()]
    for (name, default, what), field in zip(rows, known.values(), strict=True):
        assert what, name
        if default:
            assert ast.literal_eval(default) == field.get_default(call_default_factory=True), name
        else:
            assert field.is_required() or "see" in what, name


def test_every_column_of_memory_is_there_with_its_dtype():
    rows = table(PLUGGING, "### EpisodeTable", "column")
    past = Memory().visible(0)
    assert [row[0] for row in rows if row[0] not in COLUMNS] == ["strategy"]
    assert {row[0] for row in rows} == {"strategy", *COLUMNS}
    assert [(row[0], row[1]) for row in rows] == [
        (r[0], past.column(r[0]).dtype.name) for r in rows
    ]
    outcomes = {row[0] for row in rows if row[2].startswith("outcome: ")}
    assert outcomes == set(OUTCOME_COLUMNS)
    assert not outcomes & set(FEATURE_COLUMNS)


def test_every_heading_is_a_public_name():
    headings = re.findall(r"^### (\w+)$", PLUGGING.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(headings) - set(dream.__all__) == set()
    assert set(headings) == {*SHOWN, "EpisodeTable", "RunSpec"}


def test_a_bare_import_shows_the_public_names():
    assert set(dream.__all__) <= set(dir(dream))


def test_the_exit_codes_are_those_of_the_errors():
    said = {int(code): what for code, what in table(README, "## Stop it and go on", "exit code")}
    kinds = {
        errors.InputError: "given", errors.LeakError: "leak", errors.JournalError: "journal",
        errors.ModelError: "model", errors.RecallUnused: "never called",
    }  # fmt: skip
    for kind, word in kinds.items():
        assert word in said[kind.exit_code]
    assert set(said) == {0, 1, 130, 141} | {kind.exit_code for kind in kinds}


def number(pattern: str) -> float:
    found = re.search(pattern, README.read_text(encoding="utf-8"))
    assert found, pattern
    return float(found[1].replace(",", ""))


def test_the_arithmetic_of_the_cost_is_right_and_its_prices_are_those_of_the_catalogue():
    entry, december = catalog.resolve("sonnet"), 1_796_083_200_000_000_000
    usd_in = number(r"costs ([\d.]+) USD a million tokens in")
    usd_out = number(r"and ([\d.]+) USD a million out")
    assert catalog.price(entry, Usage(1_000, 0, 0, 0), december) == pytest.approx(usd_in / 1_000)
    assert catalog.price(entry, Usage(0, 0, 0, 1_000), december) == pytest.approx(usd_out / 1_000)
    tokens, most = number(r"that is ([\d,]+) to"), number(r"that is [\d,]+ to ([\d,]+) tokens in")
    answer = number(r"answer is ([\d,]+) tokens out")
    assert tokens == pytest.approx(number(r"model is about ([\d,]+) characters") / 3, rel=0.02)
    said = number(r"1,000,000 = ([\d.]+) USD")
    assert said == pytest.approx(2_000 * (tokens * usd_in + answer * usd_out) / 1e6, abs=0.005)
    more = number(r"or\s+([\d.]+) with")
    assert more == pytest.approx(2_000 * (most * usd_in + answer * usd_out) / 1e6, abs=0.005)


@pytest.mark.parametrize("page", [README, PLUGGING], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    for target in links(page):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        else:
            assert (page.parent / target).is_file(), target
