"""How a derived series is made: compiled once, computed once, never written again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core.caching import FunctionCache

if TYPE_CHECKING:
    from dream.types import Bars

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=npt.NDArray[np.generic])


class _DispensableCache(FunctionCache):
    """A disk cache whose damage costs a compilation, never the run.

    What is wrong with it has no one type: a damaged pickle raises nearly anything, a full disk
    OSError. Whatever it is, compiling anew is right.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - see above
            with suppress(Exception):
                self.flush()  # an index that cannot be read cannot be added to either
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):
            super().save_overload(sig, data)


def jit(function: F) -> F:
    """Compiles a pass with numba, with a disk cache and without the interpreter lock.

    A cache that is damaged or cannot be written is done without. A compiled function may call only
    compiled functions of its own file: the cache does not notice an edit in another one.
    """
    compiled: Any = numba.njit(nogil=True)(function)
    if hasattr(compiled, "_cache"):  # not where NUMBA_DISABLE_JIT gives the function back
        with suppress(Exception):  # no folder to keep it in
            compiled._cache = _DispensableCache(function)  # noqa: SLF001 - numba has no other way
    return cast("F", compiled)


def once(bars: Bars, key: str, make: Callable[[], T]) -> T:
    """What `make` returns, kept in `bars.memo` under `key`, so that all readers share it."""
    if key not in bars.memo:
        bars.memo[key] = make()
    return cast("T", bars.memo[key])


def read_only(array: A) -> A:
    """The same array, closed for writing."""
    array.setflags(write=False)
    return array
