"""The README is typed from top to bottom, and what it says came out comes out."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from tests.docs.pages import README, blocks
from tests.docs.reader import NOT_RUN, Reader
from tests.runs import made


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    found = Reader(tmp_path_factory.mktemp("readme"))
    found.follow(blocks(README))
    return found


@cache
def sample():
    (block,) = (block for block in blocks(README) if block.language == "text")
    return block


def test_every_command_is_typed_or_has_a_reason(reader):
    lines = [line for b in blocks(README) if b.language == "sh" for line in b.text.splitlines()]
    assert sorted(reader.typed + reader.skipped) == sorted(lines)
    assert len(reader.typed) >= 9
    for beginning in NOT_RUN:
        assert any(line.startswith(beginning) for line in reader.skipped), beginning


def test_the_sample_is_what_the_first_command_prints(reader):
    """Line for line; `...` stands for lines left out, and the id depends on where the bars lie."""

    def lines(text):
        text = re.sub(r"rules-hybrid-[0-9a-f]{12}", "rules-hybrid-ID", text)
        return [" ".join(line.split()) for line in text.splitlines()]

    printed = iter(lines(reader.said[blocks(README)[0].line]))
    before, left_out = "", False
    for line in lines(sample().text):
        if line == "...":
            left_out = True
            continue
        found = next(printed)
        while left_out and found != line:
            found = next(printed, None)
            assert found is not None, f"{line!r} is not printed after {before!r}"
        assert found == line
        before, left_out = line, False


def test_the_sample_fits_a_terminal():
    assert all(len(line) <= 80 for line in sample().text.splitlines())


def test_the_bars_before_the_first_question_are_as_many_as_it_says(reader):
    said = re.search(
        r"([\d,]+) bars for 2,000 questions .* means that ([\d,]+) bars came before the first",
        README.read_text(encoding="utf-8"),
    )
    walked, before = (int(number.replace(",", "")) for number in said.groups())
    run = next((reader.folder / "runs").glob("rules-hybrid-*"))
    first = made.of_kind(run, "decision")[0]
    assert first["bar"] == before
    assert f"UTC, {walked:,} bars" in sample().text
    assert walked == before + 2_000


def test_a_question_is_as_long_as_it_says(reader):
    """In characters: the rules, what is seen now (on average), and the answer's form."""
    text = README.read_text(encoding="utf-8")
    said = re.search(
        r"about ([\d,]+) characters: ([\d,]+) of rules and strategies, ([\d,]+) of what is seen "
        r"now, ([\d,]+) of the answer's form",
        text,
    )
    whole, *parts = (int(number.replace(",", "")) for number in said.groups())
    assert whole == sum(parts)
    asked = reader.requests
    seen = [len(body["messages"][0]["content"]) for body in asked]
    lengths = [
        max(len(body["system"][0]["text"]) for body in asked),
        sum(seen) / len(seen),
        len(json.dumps(asked[0]["output_config"])),
    ]
    assert lengths == [pytest.approx(part, rel=0.12) for part in parts]


def test_the_comparisons_print_one_object_each(reader):
    block = next(b for b in blocks(README) if "--model never" in b.text)
    summaries = [json.loads(line) for line in reader.said[block.line].splitlines()]
    assert [summary["decider"] for summary in summaries] == ["never", "random:0.05", "rules"]
    assert [summary["decisions"] for summary in summaries] == [500] * 3


def test_the_example_of_balance_prints_what_it_says(reader):
    block = next(b for b in blocks(README) if "print([trade" in b.text)
    assert reader.said[block.line].strip() == block.text.rpartition("# ")[2].strip()


def test_the_settings_file_is_taken(reader, tmp_path):
    (block,) = (b for b in blocks(README) if b.language == "toml" and not b.file)
    assert len(block.text.splitlines()) == 3
    (tmp_path / "dream.toml").write_text(block.text, encoding="utf-8")
    (tmp_path / "gold.parquet").write_bytes((reader.folder / "gold.parquet").read_bytes())
    done = made.dream("run", "--decisions", 5, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["bars"].endswith("gold.parquet")
    assert summary["terms"]["spread"] == 0.25
