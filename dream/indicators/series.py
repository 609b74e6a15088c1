"""How a derived series is made: compiled once, computed once, never written again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from dream.types import Bars

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=npt.NDArray[np.generic])


def jit(function: F) -> F:
    """Compiles a pass with numba, with a disk cache and without the interpreter lock.

    A compiled function may call only compiled functions of its own file: the cache does not notice
    an edit in another one.
    """
    return cast("F", numba.njit(cache=True, nogil=True)(function))


def once(bars: Bars, key: str, make: Callable[[], T]) -> T:
    """What `make` returns, kept in `bars.memo` under `key`, so that all readers share it."""
    if key not in bars.memo:
        bars.memo[key] = make()
    return cast("T", bars.memo[key])


def read_only(array: A) -> A:
    """The same array, closed for writing."""
    array.setflags(write=False)
    return array
