"""Blocks that are worked on ahead come in their order, and so do refusals."""

from __future__ import annotations

import time
from threading import active_count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars.importers.ahead import THREADS, in_order
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator


def blocks(n: int, bad: int | None) -> Iterator[int]:
    """Numbers; at a bad one a refusal."""
    for k in range(n):
        if k == bad:
            raise BarsInvalid(f"block {k}")
        yield k


@given(st.integers(0, 12), st.none() | st.integers(0, 11), st.none() | st.integers(0, 11))
def test_as_if_nothing_were_ahead(n: int, bad_block: int | None, bad_row: int | None) -> None:
    """The same results and the same first refusal as one after the other."""

    def work(k: int) -> int:
        time.sleep(0.001 * (k % 3))
        if k == bad_row:
            raise BarsInvalid(f"row of block {k}")
        return k * k

    def seen(results: Iterator[int]) -> tuple[list[int], str]:
        found: list[int] = []
        try:
            found.extend(results)
        except BarsInvalid as e:
            return found, str(e)
        return found, ""

    assert seen(in_order(work, blocks(n, bad_block))) == seen(map(work, blocks(n, bad_block)))


def test_only_a_few_are_ahead() -> None:
    """So that memory is bounded, and no thread is left when a reader stops early."""
    before, taken = active_count(), list[int]()

    def noted() -> Iterator[int]:
        for k in range(1_000):
            taken.append(k)
            yield k

    results = in_order(lambda k: k, noted())
    assert next(results) == 0
    assert len(taken) <= THREADS + 1
    results.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert active_count() == before


def test_other_errors_come_through() -> None:
    """A mistake of ours is not swallowed."""
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda k: 1 // k, iter([1, 0])))
