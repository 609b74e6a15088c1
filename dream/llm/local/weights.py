"""The weights that are run, made from the ones that are fetched: faster, for longer prompts.

The engine has a fast path for the format Q4_0 and none for Q4_1, and takes no prompt longer than
the file says the model was trained for. So tensors in Q4_1 are written in Q4_0, and that length is
set. Every result is exact or rounded as IEEE 754 says, so each machine makes the same bytes.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_F32: Final = 0
_Q4_0: Final = 2
_Q4_1: Final = 3
_Q8_0: Final = 8
_BLOCK: Final = 32
"""Weights in a block, in each of the formats with blocks."""
_BYTES_OF_BLOCK: Final = {_F32: 4 * _BLOCK, _Q4_0: 18, _Q4_1: 20, _Q8_0: 34}
_BELOW: Final = 8.5
_ABOVE: Final = 7.5
"""How many steps below and above zero 16 levels reach, half a step past the last level."""
_BLOCKS_AT_ONCE: Final = 1 << 15
_ALIGNMENT: Final = 32
_UINT32: Final = 4
_STRING: Final = 8
_ARRAY: Final = 9
_BYTES_OF_VALUE: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_MOST: Final = 1 << 20
"""Most of anything that a header counts."""
_MOST_SCALE: Final = 2_048
_LENGTH: Final = b"llama.context_length"


class NoWeights(Exception):  # noqa: N818 - a fact about a file; the caller says where it came from
    """The bytes are no weights that can be derived from; str() says why."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A row of the table: where its format stands in the file, and where its data."""

    kind_at: int
    kind: int
    blocks: int
    offset: int


class _Reader:
    """Reads a header from its front; what lies past the end is missing."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.at = 0

    def take(self, length: int) -> bytes:
        taken = self._content[self.at : self.at + length]
        if len(taken) != length:
            raise NoWeights("they end in the middle of their header")
        self.at += length
        return taken

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length), "little")

    def count(self) -> int:
        found = self.number(8)
        if found > _MOST:
            raise NoWeights(f"{found} of something are counted before byte {self.at}")
        return found

    def text(self) -> bytes:
        return self.take(self.count())

    def skip(self, kind: int) -> None:
        """Pass over a value of metadata."""
        if kind == _STRING:
            self.text()
        elif kind == _ARRAY:
            inner = self.number(4)
            if inner == _ARRAY:
                raise NoWeights(f"arrays lie in an array before byte {self.at}")
            for _ in range(self.count()):
                self.skip(inner)
        elif kind in _BYTES_OF_VALUE:
            self.take(_BYTES_OF_VALUE[kind])
        else:
            raise NoWeights(f"a value has the unknown type {kind} before byte {self.at}")


def derive(content: bytes, context_tokens: int) -> bytes:
    """Weights for a prompt and answer of that length, with Q4_0 in the place of Q4_1.

    Args:
        content: of a GGUF file of version 3 that holds a llama.
        context_tokens: written as the length that the model was trained for.

    Raises:
        NoWeights: it is no such file.
    """
    reader = _Reader(content)
    if reader.take(4) != b"GGUF" or reader.number(4) != 3:
        raise NoWeights("they are no GGUF of version 3")
    tensors, values = reader.count(), reader.count()
    length_at = _length_at(reader, values)
    table = [_tensor(reader) for _ in range(tensors)]
    data_at = reader.at + -reader.at % _ALIGNMENT
    header, data = bytearray(content[:data_at]), bytearray()
    struct.pack_into("<I", header, length_at, context_tokens)
    for tensor in table:
        start = data_at + tensor.offset
        stored = content[start : start + tensor.blocks * _BYTES_OF_BLOCK[tensor.kind]]
        if len(stored) != tensor.blocks * _BYTES_OF_BLOCK[tensor.kind]:
            raise NoWeights("they end in the middle of a tensor")
        kind = _Q4_0 if tensor.kind == _Q4_1 else tensor.kind
        struct.pack_into("<IQ", header, tensor.kind_at, kind, len(data))
        data += requantised(stored) if tensor.kind == _Q4_1 else stored
        data += bytes(-len(data) % _ALIGNMENT)
    return bytes(header + data)


def requantised(stored: bytes) -> bytes:
    """Blocks of Q4_1 (scale, least value, 32 levels) as blocks of Q4_0 (scale, 32 levels).

    No weight moves by more than half a step of its new block, and the rounding of the step.
    """
    blocks = np.frombuffer(stored, np.uint8).reshape(-1, _BYTES_OF_BLOCK[_Q4_1])
    parts = range(0, len(blocks), _BLOCKS_AT_ONCE)
    return b"".join(_q4_0(_weights(blocks[n : n + _BLOCKS_AT_ONCE])) for n in parts)


def _weights(blocks: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Weights of blocks of Q4_1, exact: sums and products of halves fit a double."""
    halves = blocks[:, :4].copy().view("<f2").astype(np.float64)
    if not (np.abs(halves) < _MOST_SCALE).all():  # also what is no number
        raise NoWeights("a block has no scale that weights have")
    levels = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
    return levels * halves[:, :1] + halves[:, 1:]


def _q4_0(weights: NDArray[np.float64]) -> bytes:
    """Blocks of Q4_0: a weight is (level - 8) times the step, which may be negative."""
    low, high = weights.min(axis=1), weights.max(axis=1)
    upright = np.maximum(-low / _BELOW, high / _ABOVE)
    turned = np.maximum(high / _BELOW, -low / _ABOVE)
    steps = np.where(upright <= turned, upright, -turned).astype("<f2")
    divisors = np.where(steps == 0, 1, steps).astype(np.float64)[:, None]
    levels = np.clip(np.floor(weights / divisors + 8.5), 0, 15).astype(np.uint8)
    half = _BLOCK // 2
    packed = levels[:, :half] | levels[:, half:] << 4
    return np.concatenate([steps.view(np.uint8).reshape(-1, 2), packed], axis=1).tobytes()


def _length_at(reader: _Reader, values: int) -> int:
    """Where the length of the context stands; the reader ends behind the metadata."""
    found: int | None = None
    for _ in range(values):
        name, kind = reader.text(), reader.number(4)
        if name == _LENGTH and kind == _UINT32:
            found = reader.at
        reader.skip(kind)
    if found is None:
        raise NoWeights("they do not say how long the context is")
    return found


def _tensor(reader: _Reader) -> _Tensor:
    reader.text()
    sizes = [reader.count() for _ in range(min(reader.number(4), 4))]
    kind_at, kind, offset = reader.at, reader.number(4), reader.number(8)
    if kind not in _BYTES_OF_BLOCK or not sizes or sizes[0] % _BLOCK:
        raise NoWeights(f"a tensor has the unknown format {kind} before byte {reader.at}")
    return _Tensor(kind_at, kind, math.prod(sizes) // _BLOCK, offset)
