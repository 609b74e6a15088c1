"""Tokens and the cache of prefixes, against figures worked out by hand."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.llm.fake.plan import Cache
from dream.llm.fake.tokens import Block, Counted, PrefixCache, blocks_of, prompt_of, tokens_of

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(said, mark=None):
    return {"type": "text", "text": said, **({"cache_control": mark} if mark else {})}


def prompt(*parts, system="s" * 399):
    """System and parts; each block has one byte more than its text, the initial of its role."""
    return blocks_of(
        {
            "system": [text(system, MARK)],
            "messages": [{"role": "user", "content": list(parts)}],
        }
    )


def test_a_token_is_four_bytes_begun():
    assert [tokens_of(b"x" * n) for n in (0, 1, 4, 5, 8, 9)] == [0, 1, 1, 2, 2, 3]
    assert tokens_of("é".encode() * 4) == 2


def test_blocks_come_in_the_order_of_the_api():
    body = {
        "messages": [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": [text("two")]},
        ],
        "system": "rules",
        "tools": [{"name": "decide", "cache_control": MARK}],
        "output_config": {"effort": "low", "format": {"type": "json_schema"}},
    }
    found = blocks_of(body)
    assert [b.data[:6] for b in found] == [b'{"cach', b'{"type', b"srules", b"uone", b"atwo"]
    assert [b.marked for b in found] == [True, False, False, False, False]
    assert prompt_of(body) == "onetwo"
    assert [b.marked for b in blocks_of({**body, "cache_control": MARK})][-1]


def test_nothing_is_cached_without_a_mark():
    cache = PrefixCache(Cache(min_tokens=0))
    blocks = [Block(b"x" * 400)]
    assert cache.count("m", blocks, 0.0) == Counted(0, 0, 100)
    assert cache.count("m", blocks, 1.0) == Counted(0, 0, 100)


def test_a_prefix_is_written_and_then_read():
    cache = PrefixCache(Cache(min_tokens=100))
    assert cache.count("m", prompt(text("a" * 39)), 0.0) == Counted(0, 100, 10)
    assert cache.count("m", prompt(text("b" * 79)), 1.0) == Counted(100, 0, 20)


def test_a_prefix_below_the_minimum_is_not_cached():
    cache = PrefixCache(Cache(min_tokens=101))
    for at in (0.0, 1.0):
        assert cache.count("m", prompt(text("a" * 39)), at) == Counted(0, 0, 110)


def test_each_model_has_a_cache_of_its_own():
    cache = PrefixCache(Cache(min_tokens=0))
    cache.count("m", prompt(), 0.0)
    assert cache.count("n", prompt(), 1.0) == Counted(0, 100, 0)


def test_a_prefix_lives_five_minutes_from_its_last_use():
    cache = PrefixCache(Cache(min_tokens=0))
    reads = [cache.count("m", prompt(), at).read for at in (0.0, 299.0, 597.0, 897.0, 898.0)]
    assert reads == [0, 100, 100, 0, 100]


def test_a_mark_may_ask_for_an_hour():
    cache = PrefixCache(Cache(min_tokens=0))
    blocks = blocks_of({"system": [text("s" * 399, HOUR)]})
    assert [cache.count("m", blocks, at).read for at in (0.0, 3_599.0, 7_198.0, 10_799.0)] == [
        0, 100, 100, 0,
    ]  # fmt: skip


def test_a_prompt_that_grows_pays_for_what_is_new():
    """The mark moves on with the newest block; the prefix before it is found by looking back."""
    cache = PrefixCache(Cache(min_tokens=0))
    bars: list = []
    counted = []
    for n in range(4):
        bars.append(f"bar {n} ".ljust(39, "."))
        parts = [text(bar, MARK if bar is bars[-1] else None) for bar in bars]
        counted.append(cache.count("m", prompt(*parts, text("now?xyz")), float(n)))
    assert counted == [Counted(0, 110, 2), *(Counted(100 + 10 * n, 10, 2) for n in (1, 2, 3))]


def test_a_look_back_goes_twenty_blocks():
    for more, read in ((19, 100), (20, 0)):
        cache = PrefixCache(Cache(min_tokens=0))
        first = Block(b"x" * 400, marked=True)
        cache.count("m", [first], 0.0)
        longer = [Block(b"x" * 400), *[Block(b"y" * 4)] * (more - 1), Block(b"y" * 4, marked=True)]
        assert cache.count("m", longer, 1.0).read == read, more


def test_an_automatic_cache_reads_whole_steps_and_writes_for_nothing():
    cache = PrefixCache(Cache(mode="automatic", min_tokens=128))
    same, other = b"a" * 700, b"b" * 700
    assert cache.count("m", [Block(same + same)], 0.0) == Counted(0, 0, 350)
    # 700 bytes in common hold two steps of 256 bytes: 128 tokens.
    assert cache.count("m", [Block(same + other)], 1.0) == Counted(128, 0, 222)
    assert cache.count("m", [Block(b"a" * 300 + other)], 1.0) == Counted(0, 0, 250)


def test_without_a_cache():
    cache = PrefixCache(Cache(mode="none"))
    assert cache.count("m", prompt(), 0.0) == cache.count("m", prompt(), 0.0) == Counted(0, 0, 100)


@given(
    st.lists(st.tuples(st.binary(max_size=40), st.booleans()), max_size=8),
    st.sampled_from(get_args(Cache.model_fields["mode"].annotation)),
    st.integers(0, 20),
)
def test_every_token_is_counted_once(parts, mode, least):
    blocks = [Block(data, marked) for data, marked in parts]
    cache = PrefixCache(Cache(mode=mode, min_tokens=least))
    whole = sum(block.tokens for block in blocks)
    for now_s in (0.0, 1.0):
        counted = cache.count("m", blocks, now_s)
        assert counted.read + counted.written + counted.uncached == whole
        assert min(counted.read, counted.written, counted.uncached) >= 0
    assert counted.written == 0, "the second time it was there"


@pytest.mark.parametrize(
    "body",
    [{}, {"system": 3}, {"system": [None]}, {"messages": [4]}, {"messages": [{"content": {}}]},
     {"tools": "x", "output_config": []}, {"cache_control": MARK}],
)  # fmt: skip
def test_odd_bodies_have_blocks_too(body):
    assert isinstance(blocks_of(body), list)
    assert isinstance(prompt_of(body), str)
