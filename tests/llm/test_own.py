"""Models and endpoints of one's own: what is taken, what is refused, and that no key is shown."""

from __future__ import annotations

from typing import Any

import pytest

from dream.errors import InputError
from dream.llm.catalog import CATALOG, Own, Prices, is_row, resolve
from dream.llm.own import own_models

LLAMA: dict[str, Any] = {"id": "llama3.2:3b", "endpoint": "ollama", "answer": "text"}
SECRET = "sk-live-0123456789abcdef"


def own(endpoints: Any = None, **models: Any) -> Own:
    return own_models(models, endpoints or {})


def test_an_entry_has_what_it_says_and_what_its_endpoint_has() -> None:
    entry = resolve(
        "llama",
        own(
            {"gpu": {"base_url": "http://gpu:9000", "key_env": "GPU_KEY"}},
            llama=LLAMA
            | {"endpoint": "gpu", "temperature": 0, "seed": 7, "max_tokens": 100}
            | {"price": {"input": 1, "output": 2.5}, "cutoff": "2025-09", "cache_min_tokens": 64},
        ),
    )
    assert (entry.alias, entry.id, entry.base_url) == ("llama", "llama3.2:3b", "http://gpu:9000")
    assert (entry.key_env, entry.key_name, entry.key_header) == ("GPU_KEY",) * 2 + (
        "authorization",
    )
    assert (entry.temperature, entry.seed, entry.max_tokens) == (0.0, 7, 100)
    assert entry.prices == Prices(1.0, 2.5)
    assert (entry.cutoff, entry.cutoff_source) == ("2025-09", "as dream.toml says")
    assert (entry.cache, entry.cache_min_tokens, is_row(entry)) == ("automatic", 64, False)


def test_a_key_of_the_model_wins_over_that_of_its_endpoint() -> None:
    found = own(
        {"gpu": {"base_url": "http://gpu", "key_env": "GPU_KEY", "key_header": "x-api-key"}},
        llama=LLAMA | {"endpoint": "gpu", "key_command": ["pass", "show", "x"]},
    ).models["llama"]
    assert (found.key_env, found.key_command) == (None, ("pass", "show", "x"))
    assert (found.key_name, found.key_header) == ("the key_command pass", "x-api-key")


def test_a_known_server_may_stand_elsewhere() -> None:
    moved = own({"ollama": {"base_url": "http://10.0.0.5:11434"}})
    assert resolve("ollama/x", moved).base_url == "http://10.0.0.5:11434"
    proxy = own({"anthropic": {"base_url": "http://proxy/claude"}})
    row = resolve("sonnet", proxy)
    assert (row.base_url, row.key_env) == ("http://proxy/claude", "ANTHROPIC_API_KEY")
    assert row.profile() == CATALOG["sonnet"].profile()
    assert is_row(row)


def test_a_row_of_the_catalogue_may_have_another_price_and_nothing_that_is_sent() -> None:
    priced = own(sonnet={"price": {"input": 1, "output": 2}, "cutoff": "2026-07"})
    row = resolve("claude-sonnet-5-5", priced)
    assert (row.prices, row.cutoff) == (Prices(1.0, 2.0), "2026-07")
    assert row.profile() == CATALOG["sonnet"].profile()
    for key, value in {"id": "claude-sonnet-5-6", "effort": "high", "max_tokens": 9}.items():
        with pytest.raises(InputError, match=f"cannot change {key}: sonnet is a row"):
            own(sonnet={key: value})


def test_the_same_id_asked_otherwise_has_its_cutoff_and_another_id_has_none() -> None:
    claude = {"endpoint": "anthropic", "answer": "schema"}
    same, newer = (
        own(mine=claude | {"id": i}).models["mine"]
        for i in ("claude-sonnet-5-5", "claude-sonnet-5-6")
    )
    assert (same.cutoff, same.cache) == ("2026-06", "marked")
    assert (newer.cutoff, newer.cutoff_source) == (None, "not said")


BAD = [
    ({"llama": LLAMA | {"idd": "x"}}, "[models.llama] has no setting 'idd'; it has: key_env,"),
    ({"llama": LLAMA | {"price": {"inputs": 1}}}, "[models.llama] has no setting 'price.inputs'"),
    (
        {"llama": LLAMA | {"price": {"input": 1, "output": 1, "in": 1}}},
        "no setting 'price.in'; it has: input, output",
    ),
    ({"llama": {"id": "x", "endpoint": "ollama"}}, "[models.llama] needs answer"),
    (
        {"llama": LLAMA | {"answer": "json"}},
        "answer: Input should be 'schema', 'tool' or 'text', found 'json'",
    ),
    (
        {"llama": LLAMA | {"max_tokens": "many"}},
        "max_tokens: Input should be a valid integer, found 'many'",
    ),
    (
        {"llama": LLAMA | {"max_tokens": 30_000}},
        "max_tokens: Input should be less than or equal to 21333",
    ),
    ({"llama": LLAMA | {"temperature": -1}}, "temperature: Input should be greater than"),
    ({"llama": LLAMA | {"temperature": float("nan")}}, "temperature: "),
    ({"llama": LLAMA | {"thinking": "enabled"}}, "thinking: Input should be 'adaptive'"),
    (
        {"llama": LLAMA | {"price": {"input": -1, "output": 1}}},
        "price.input: Input should be greater",
    ),
    ({"llama": LLAMA | {"price": {"input": float("inf"), "output": 1}}}, "price.input: "),
    ({"llama": LLAMA | {"cutoff": "2026"}}, "cutoff: String should match"),
    ({"llama": LLAMA | {"id": "a b"}}, "id: String should match"),
    (
        {"llama": LLAMA | {"endpoint": "olama"}},
        "endpoint: there is none of that name; there are: anthropic, deepseek, ollama",
    ),
    ({"llama": LLAMA | {"endpoint": "ftp://x"}}, "does not begin with http"),
    ({"llama": LLAMA | {"endpoint": f"http://me:{SECRET}@x"}}, "has a user or a password"),
    ({"llama": LLAMA | {"key": SECRET}}, "no setting 'key'"),
    ({"llama": LLAMA | {"api_key": SECRET}}, "name the variable that holds it with key_env"),
    (
        {"llama": LLAMA | {"key_env": SECRET}},
        "key_env: expected the name of an environment variable",
    ),
    ({"llama": LLAMA | {"key_env": "A", "key_command": ["b"]}}, "has key_env and key_command"),
    (
        {"llama": LLAMA | {"key_command": f"echo {SECRET}"}},
        "key_command: Input should be a valid list",
    ),
    ({"llama": LLAMA | {"key_command": []}}, "key_command: List should have at least 1"),
    ({"llama": LLAMA | {"key_header": "cookie"}}, "key_header: String should match"),
    ({"rules": LLAMA}, "rules is a decider of dream's"),
    ({"ollama": LLAMA}, "ollama is a decider of dream's"),
    ({"claude-sonnet-5-5": LLAMA}, "is a row of the catalogue: write [models.sonnet]"),
    ({"a/b": LLAMA}, "a name has up to 64 letters"),
    ({"x" * 100: LLAMA}, "a name has up to 64 letters"),
    ({"llama": 3}, "models.llama is no table"),
    (3, "models holds tables"),
]


@pytest.mark.parametrize(("models", "said"), BAD, ids=[said[:40] for _, said in BAD])
def test_what_is_wrong_is_told_by_table_and_key_and_no_key_is_shown(models: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        own_models(models, {}, "here/dream.toml")
    message = str(caught.value)
    assert message.startswith("here/dream.toml: ")
    assert said in message
    assert SECRET not in message
    assert "\n" not in message
    assert len(message) < 500


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"key_env": "A_KEY"}, "[endpoints.gpu] needs base_url"),
        ({"base_url": "gpu:9000"}, "does not begin with http"),
        ({"base_url": "http://x", "url": "y"}, "no setting 'url'; it has: key_env, key_command"),
        ({"base_url": "http://x", "token": SECRET}, "A key is never written here"),
        ({"base_url": 3}, "base_url: Input should be a valid string"),
    ],
)
def test_an_endpoint_that_is_wrong_is_told_too(table: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        own_models({}, {"gpu": table})
    assert said in str(caught.value)
    assert SECRET not in str(caught.value)
