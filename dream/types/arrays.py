"""Short names of array types, the missing price, and the bits of a session set."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

I1: TypeAlias = npt.NDArray[np.int8]
U1: TypeAlias = npt.NDArray[np.uint8]
I2: TypeAlias = npt.NDArray[np.int16]
I4: TypeAlias = npt.NDArray[np.int32]
I8: TypeAlias = npt.NDArray[np.int64]
F8: TypeAlias = npt.NDArray[np.float64]

MISSING: Final[int] = -(2**31)
"""The int32 that stands for "no such price" in arrays of ticks."""

MINUTE_NS: Final[int] = 60_000_000_000

ASIA, LONDON, NEW_YORK = 1, 2, 4
"""Bits of a session set."""
