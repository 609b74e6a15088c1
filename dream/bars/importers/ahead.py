"""Blocks of a file, worked on in threads and handed over in their order."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    Item = TypeVar("Item")
    Result = TypeVar("Result")

THREADS: Final = 2
"""numpy and polars let go of the interpreter's lock; what is left keeps about one more busy."""


def in_order(work: Callable[[Item], Result], items: Iterator[Item]) -> Iterator[Result]:
    """`work` of each item, a few items ahead of the one that is asked for.

    Raises:
        BarsInvalid: of `work` or of the items, behind the results of all items before.
    """
    waiting: deque[Future[Result]] = deque()
    failed: BarsInvalid | None = None
    with ThreadPoolExecutor(THREADS) as pool:
        while True:
            try:
                item = next(items, None)
            except BarsInvalid as e:
                failed = e
                break
            if item is None:
                break
            waiting.append(pool.submit(work, item))
            if len(waiting) > THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    if failed is not None:
        raise failed
