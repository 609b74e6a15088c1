"""What user code hands over, as plain values that nobody else holds.

A subclass of str or float can answer every question differently each time, and a mapping can be
changed later. So what a run keeps is made anew here, from exact built-in types.
"""

from __future__ import annotations

import operator
from decimal import Decimal
from itertools import islice
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dream.memory.balance import in_short

if TYPE_CHECKING:
    from collections.abc import Mapping


def word(value: Any) -> str:
    """The text as an exact str.

    Raises:
        TypeError: it is no text.
    """
    if type(value) is str:
        return value
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {_found(value)}")
    return str.__str__(value)


def whole(value: Any) -> int:
    """The whole number as an exact int; numpy's become Python's.

    Raises:
        TypeError: it is no whole number. A bool is none: it is rather a mask gone astray.
    """
    if type(value) is int:
        return value
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"expected a whole number, found {_found(value)}")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"expected a whole number, found {_found(value)}") from None


def number(value: Any) -> float:
    """The number as an exact float: of int, bool, numpy, Decimal and Fraction too.

    Raises:
        TypeError: it is no real number. ValueError: it is too large for a float.
    """
    if type(value) is float:
        return value
    if not isinstance(value, Real | Decimal | np.bool_):
        raise TypeError(f"expected a number, found {_found(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(
            f"expected a number that a float can hold, found {_found(value)}"
        ) from None


def numbers(given: Mapping[Any, Any], most: int, longest: int) -> dict[str, float]:
    """Names to numbers as a new dict, read once.

    Args:
        given: any mapping.
        most: names that it may have.
        longest: characters that a name may have.

    Raises:
        TypeError, ValueError: it is no mapping, or too large, or a name or number is none.
    """
    if type(given) is dict and len(given) <= most:
        copy = given.copy()
        for name, value in copy.items():
            if type(name) is not str or not 1 <= len(name) <= longest or type(value) is not float:
                break
        else:
            return copy
    out: dict[str, float] = {}
    for given_name, value in islice(given.items(), most + 1):
        name = word(given_name)
        if not 1 <= len(name) <= longest:
            raise ValueError(f"expected names of 1 to {longest} characters, found {in_short(name)}")
        if name in out:
            raise ValueError(f"expected different names, found {name!r} twice")
        try:
            out[name] = number(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name!r}: {error}") from None
    if len(out) > most:
        raise ValueError(f"expected at most {most} names, found more")
    return out


def _found(value: Any) -> str:
    return f"{type(value).__name__} {in_short(value)}"
