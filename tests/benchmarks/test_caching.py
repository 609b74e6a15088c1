"""The caches that the measurement counts with, by hand, and what it is to show."""

from __future__ import annotations

import pytest

from benchmarks.caching import LEAST, MOST, Marks, Prefix, input_usd, measured
from dream.types import Usage

K = b"k" * 4 * LEAST
"""As long as the shortest prefix that is cached."""


def test_a_prefix_cache_gives_the_longest_beginning_in_whole_tokens():
    cache = Prefix()
    assert cache.count([(K + b"abcdefgh", True)]) == (0, 0)
    assert cache.count([(K + b"abcdeXYZ", False)]) == (len(K) + 4, 0)
    assert cache.count([(K[:-1] + b"X", False)]) == (0, 0), "below the minimum"


def test_a_mark_is_found_from_twenty_blocks_later_and_no_more():
    bars = [(b"%04d" % i, False) for i in range(60)]
    for more, read in ((0, len(K)), (19, len(K)), (20, 0)):
        cache = Marks()
        assert cache.count([(K, True), (b"rest", False)]) == (0, len(K))
        blocks = [(K, False), *bars[:more], (b"rest", False)]
        blocks[more] = (blocks[more][0], True)
        assert cache.count(blocks) == (read, len(K) + 4 * more - read)


def test_blocks_that_are_cut_otherwise_are_others():
    cache = Marks()
    cache.count([(K + b"ab", True)])
    assert cache.count([(K, False), (b"ab", True)]) == (0, len(K) + 2)


def test_an_entry_lives_for_five_minutes_after_its_last_use():
    cache = Marks()
    cache.count([(K, True)])
    for _ in range(99):
        cache.now_s += 290.0
        assert cache.count([(K, True)]) == (len(K), 0)
    cache.now_s += 300.0
    assert cache.count([(K, True)]) == (0, len(K))


def test_the_input_is_priced_by_class():
    usages = [Usage(1_000, 10_000, 100, 60), Usage(3_000, 0, 0, 60)]
    cached = (4_000 * 2.0 + 10_000 * 0.1 + 100 * 2.5) / 1e6
    assert input_usd(usages, cached=True) == pytest.approx(cached / 2)
    assert input_usd(usages, cached=False) == pytest.approx(14_100 * 2.0 / 1e6 / 2)


@pytest.mark.parametrize("cache", [Prefix, Marks])
def test_a_day_costs_a_quarter_of_what_it_would_uncached(bars_path, cache):
    share = {}
    for context in ("window", "day"):
        usages = measured(bars_path, context, "none", cache(), decisions=120)
        share[context] = input_usd(usages, cached=True) / input_usd(usages, cached=False)
    assert share["day"] <= MOST < share["window"]
