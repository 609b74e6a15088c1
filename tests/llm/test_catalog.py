"""Which model a name means, and what a call costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dream.errors import SpecInvalid
from dream.llm.catalog import CATALOG, ceiling, price, resolve
from dream.types import Usage

CLAUDE = [entry for entry in CATALOG.values() if entry.provider == "anthropic"]
NOV_28_2026_NS = 1_795_867_200_000_000_000
"""2026-11-28 12:00 UTC."""


@pytest.mark.parametrize(
    ("alias", "model"),
    [
        ("sonnet", "claude-sonnet-5-5"),
        ("haiku", "claude-haiku-5-5"),
        ("opus", "claude-opus-5-5"),
        ("fable", "claude-fable-5-2"),
    ],
)
def test_an_alias_and_its_exact_id_mean_the_same_row(alias: str, model: str) -> None:
    assert resolve(alias) is resolve(model)
    assert resolve(alias).id == model
    assert resolve(alias).alias == alias


@pytest.mark.parametrize("name", ["sonet", "claude-sonnet-5", "claude-sonnet-5-5-20260928", ""])
def test_another_name_is_refused_and_the_message_lists_what_there_is(name: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        resolve(name)
    for known in (repr(name), "sonnet (claude-sonnet-5-5)", "fable", "rules", "random:P"):
        assert known in str(caught.value)


def test_the_rows_keep_to_what_each_model_accepts() -> None:
    """Facts of November 2026: which thinking settings are a 400, and who takes a forced tool."""
    assert CATALOG["sonnet"].thinking == "between_tools"
    assert CATALOG["haiku"].thinking == "disabled"
    assert CATALOG["opus"].thinking is CATALOG["fable"].thinking is None
    for entry in CLAUDE:
        assert entry.answer == "schema"
        assert entry.effort == "low"
        assert entry.max_tokens <= 21_333, "above it the SDK refuses a call without streaming"
        assert entry.base_url == "https://api.anthropic.com"
        assert entry.key_env == "ANTHROPIC_API_KEY"
        assert entry.cutoff_source


def test_an_unstated_cutoff_stays_unknown() -> None:
    assert {a: e.cutoff for a, e in CATALOG.items()} == {
        "sonnet": "2026-06", "haiku": "2026-06", "opus": "2026-06", "fable": None, "local": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("alias", "per_million"),
    [
        # uncached input, cache write, cache read, output
        ("haiku", (0.10, 0.125, 0.01, 0.50)),
        ("sonnet", (2.0, 2.5, 0.10, 10.0)),
        ("opus", (4.0, 5.0, 0.20, 20.0)),
        ("fable", (8.0, 10.0, 0.20, 40.0)),
    ],
)
def test_a_call_costs_what_the_price_list_says(
    alias: str, per_million: tuple[float, float, float, float]
) -> None:
    usage = Usage(400, 1_000, 200, 150, 60)
    counts = (400, 200, 1_000, 150)
    expected = sum(n * p for n, p in zip(counts, per_million, strict=True)) / 1e6
    assert price(resolve(alias), usage, NOV_28_2026_NS) == pytest.approx(expected, rel=1e-12)


def test_the_price_is_that_of_the_hour() -> None:
    """DeepSeek's V4.1 flash: 0.15 a million, twice that from 01:00 to 04:00 UTC on weekdays."""
    flash = replace(resolve("sonnet"), id="deepseek-flash", provider="deepseek")
    usage = Usage(input_tokens=1_000_000, output_tokens=0)
    friday_2_am = NOV_28_2026_NS - 34 * 3_600_000_000_000
    assert price(flash, usage, NOV_28_2026_NS) == pytest.approx(0.15)
    assert price(flash, usage, friday_2_am) == pytest.approx(0.30)


def test_what_is_not_known_costs_none_and_not_nothing() -> None:
    counted = Usage(input_tokens=10, output_tokens=10)
    unlisted = replace(resolve("sonnet"), id="claude-sonnet-9-9")
    assert price(unlisted, counted, NOV_28_2026_NS) is None
    assert ceiling(unlisted, 1_000, NOV_28_2026_NS) is None
    assert price(resolve("sonnet"), Usage(output_tokens=10), NOV_28_2026_NS) is None
    assert price(resolve("sonnet"), Usage(input_tokens=10), NOV_28_2026_NS) is None


def test_the_model_of_this_machine_needs_no_key_and_costs_nothing() -> None:
    local = resolve("local")
    assert local.key_env is None
    assert price(local, Usage(1_000, 500, 0, 100), NOV_28_2026_NS) == 0.0
    assert price(local, Usage(), NOV_28_2026_NS) == 0.0
    assert ceiling(local, 10_000, NOV_28_2026_NS) == 0.0


def test_a_newer_version_does_not_inherit_a_price() -> None:
    for near in ("claude-sonnet-5-5-1", "claude-sonnet-5-6", "claude-sonnet"):
        entry = replace(resolve("sonnet"), id=near)
        assert price(entry, Usage(input_tokens=10, output_tokens=10), NOV_28_2026_NS) is None


def test_the_ceiling_is_a_written_token_a_byte_and_a_full_answer() -> None:
    expected = (6_000 * 2.5 + 2_048 * 10.0) / 1e6
    assert ceiling(resolve("sonnet"), 6_000, NOV_28_2026_NS) == pytest.approx(expected)
