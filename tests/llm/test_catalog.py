"""Which model a name means, and what a call costs."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from dream.errors import SpecInvalid
from dream.llm.catalog import (
    CATALOG,
    ENDPOINTS,
    Endpoint,
    Own,
    Prices,
    ceiling,
    fields_of,
    is_row,
    price,
    resolve,
)
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
        ("deepseek", "deepseek-flash"),
        ("deepseek-pro", "deepseek-v4-pro"),
        ("haiku-3.5", "claude-3-5-haiku-20241022"),
        ("sonnet-4", "claude-sonnet-4-20250514"),
        ("deepseek-v3", "deepseek-chat"),
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
    for alias in ("sonnet", "haiku", "opus", "fable"):
        entry = CATALOG[alias]
        assert (entry.answer, entry.effort, entry.temperature) == ("schema", "low", None)
        assert entry.base_url == "https://api.anthropic.com"
        assert entry.key_env == "ANTHROPIC_API_KEY"
    for alias in ("deepseek", "deepseek-pro"):
        entry = CATALOG[alias]
        assert (entry.answer, entry.thinking, entry.effort) == ("tool", "disabled", None)
        assert (entry.key_env, entry.key_header) == ("DEEPSEEK_API_KEY", "x-api-key")
        assert entry.cache == "automatic"
    assert [alias for alias, entry in CATALOG.items() if entry.fallback == "tool"] == ["haiku"]
    for entry in CATALOG.values():
        assert entry.max_tokens <= 21_333, "above it the SDK refuses a call without streaming"
        assert entry.cutoff_source
        assert (entry.fallback is None) == (entry.alias == "local")
        assert entry.fallback != entry.answer
        assert (entry.seed, entry.key_command) == (None, ())
        assert entry.prices == (Prices(0.0, 0.0) if entry.alias == "local" else None)
        if entry.provider in ENDPOINTS:
            assert fields_of(ENDPOINTS[entry.provider]).items() <= asdict(entry).items()


def test_an_unstated_cutoff_stays_unknown() -> None:
    assert {a: e.cutoff for a, e in CATALOG.items() if e.provider in ENDPOINTS} == {
        "sonnet": "2026-06", "haiku": "2026-06", "opus": "2026-06", "fable": None,
        "deepseek": None, "deepseek-pro": None,
        "haiku-3.5": "2024-07", "sonnet-4": "2025-03", "deepseek-v3": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("alias", "per_million"),
    [
        # uncached input, cache write, cache read, output
        ("haiku", (0.10, 0.125, 0.01, 0.50)),
        ("sonnet", (2.0, 2.5, 0.10, 10.0)),
        ("opus", (4.0, 5.0, 0.20, 20.0)),
        ("fable", (8.0, 10.0, 0.20, 40.0)),
        ("deepseek", (0.15, 0.15, 0.003, 0.60)),  # on a Saturday
        ("deepseek-pro", (0.66, 0.66, 0.022, 1.98)),
        ("haiku-3.5", (0.80, 1.00, 0.08, 4.0)),
        ("sonnet-4", (3.0, 3.75, 0.30, 15.0)),
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
    assert ceiling(local, 10_000, NOV_28_2026_NS) == 0.0


def test_a_newer_version_does_not_inherit_a_price() -> None:
    for near in ("claude-sonnet-5-5-1", "claude-sonnet-5-6", "claude-sonnet"):
        entry = replace(resolve("sonnet"), id=near)
        assert price(entry, Usage(input_tokens=10, output_tokens=10), NOV_28_2026_NS) is None


def test_the_ceiling_is_a_written_token_a_byte_and_a_full_answer() -> None:
    expected = (6_000 * 2.5 + 2_048 * 10.0) / 1e6
    assert ceiling(resolve("sonnet"), 6_000, NOV_28_2026_NS) == pytest.approx(expected)


def test_prices_by_hand_win_and_a_cache_that_has_none_costs_as_input() -> None:
    usage = Usage(400, 1_000, 200, 150, 60)
    entry = replace(resolve("sonnet"), prices=Prices(1.0, 2.0))
    assert price(entry, usage, NOV_28_2026_NS) == pytest.approx((1_600 * 1 + 150 * 2) / 1e6)
    entry = replace(entry, prices=Prices(1.0, 2.0, cache_read=0.1, cache_write=3.0))
    expected = (400 * 1 + 1_000 * 0.1 + 200 * 3 + 150 * 2) / 1e6
    assert price(entry, usage, NOV_28_2026_NS) == pytest.approx(expected)
    assert ceiling(entry, 1_000, 0) == pytest.approx((1_000 * 3 + 2_048 * 2) / 1e6)
    cheap = replace(entry, prices=Prices(1.0, 2.0, cache_write=0.0))
    assert ceiling(cheap, 1_000, 0) == pytest.approx((1_000 * 1 + 2_048 * 2) / 1e6)
    assert price(entry, Usage(input_tokens=10), 0) is None, "counts that are missing stay so"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("ollama/llama3.2:3b", "llama3.2:3b"),
        ("vllm/meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
        ("llamacpp/any", "any"),
        ("lmstudio/openai/gpt-oss-20b", "openai/gpt-oss-20b"),
    ],
)
def test_a_model_of_a_server_is_named_as_the_server_knows_it(name: str, model: str) -> None:
    entry = resolve(name)
    assert (entry.alias, entry.id, is_row(entry)) == (name, model, False)
    assert price(entry, Usage(1, 0, 0, 1), NOV_28_2026_NS) is None
    moved = resolve(name, Own({}, {entry.provider: Endpoint("http://there:1", "A_KEY")}))
    assert (moved.base_url, moved.key_env, moved.id) == ("http://there:1", "A_KEY", model)
    assert moved.profile() == entry.profile()


@pytest.mark.parametrize(
    "name", ["ollama/", "ollama/a b", "ollama/é", "vllm//x", "ollama/" + 201 * "x"]
)
def test_what_no_server_knows_is_refused(name: str) -> None:
    with pytest.raises(SpecInvalid, match="takes the name under which the server knows"):
        resolve(name)
