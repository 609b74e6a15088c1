"""The weights that are run: each within half a step of the fetched one, all else as it was."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.llm.local.weights import NoWeights, derive, requantised
from tests.llm.local import gguf

if TYPE_CHECKING:
    from collections.abc import Callable

LEVELS = st.lists(st.integers(0, 15), min_size=32, max_size=32)
HALF = st.floats(-4, 4, width=16).filter(lambda value: value == 0 or abs(value) > 2**-6)
BLOCKS = st.lists(st.tuples(HALF, HALF, LEVELS), min_size=1, max_size=5)


def of_q4_0(block: bytes) -> tuple[float, list[float]]:
    """The step of a block and its weights, as the format says: (level - 8) * step."""
    (step,) = struct.unpack("<e", block[:2])
    levels = [byte % 16 for byte in block[2:]] + [byte // 16 for byte in block[2:]]
    return step, [(level - 8) * step for level in levels]


@given(BLOCKS)
def test_every_weight_is_within_half_a_step(blocks: list[tuple[float, float, list[int]]]) -> None:
    made = requantised(b"".join(gguf.q4_1(*block) for block in blocks))
    assert len(made) == 18 * len(blocks)
    for n, (step, least, levels) in enumerate(blocks):
        was = [least + step * level for level in levels]
        new_step, weights = of_q4_0(made[18 * n : 18 * n + 18])
        # The step is rounded to 11 bits, which moves a weight 8 steps from zero by 8 / 2048 more.
        assert max(abs(a - b) for a, b in zip(was, weights, strict=True)) <= (
            abs(new_step) * (0.5 + 8.5 / 2048) + 1e-12
        )
        # 15 steps, and half of one at each end, cover what the weights reach to both sides of zero.
        furthest, reach = max(map(abs, was)), max(was) - min(was)
        assert abs(new_step) <= max(furthest / 7.5, reach / 16) * (1 + 1 / 2048)


@pytest.mark.parametrize(
    ("least", "step", "first"),
    [
        # -8.5 to 6.5 in steps of one: 8.5 below zero makes the step one, halves go up.
        (-8.5, 1.0, [0, 1, 2]),
        # 8.5 to -6.5: the same, turned over.
        (8.5, -1.0, [0, 1, 2]),
    ],
)
def test_by_hand(least: float, step: float, first: list[int]) -> None:
    made = requantised(gguf.q4_1(step, least, [*range(16)] * 2))
    assert made[:2] == struct.pack("<e", step)
    assert [byte % 16 for byte in made[2:5]] == first
    assert [byte // 16 for byte in made[2:5]] == first


def test_no_weights_at_all_stay_none() -> None:
    assert of_q4_0(requantised(gguf.q4_1(0.0, 0.0, [3] * 32))) == (0.0, [0.0] * 32)


BLOCK = gguf.q4_1(0.5, -4.0, [*range(16)] * 2)
EMBEDDED = bytes(range(68))
NORM = struct.pack("<32f", *range(32))
TENSORS = [("norm", [32], 0, NORM), ("w", [32, 3], 3, BLOCK * 3), ("e", [64], 8, EMBEDDED)]


def test_all_else_is_as_it_was() -> None:
    made = requantised(BLOCK * 3)
    assert len(made) == 54
    tensors = [TENSORS[0], ("w", [32, 3], 2, made), TENSORS[2]]
    assert derive(gguf.file(TENSORS), 24_576) == gguf.file(tensors, context=24_576)
    assert derive(gguf.file(tensors), 8_192) == gguf.file(tensors)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda _: b"", "middle of their header"),
        (lambda _: b"PK\3\4" + bytes(100), "no GGUF of version 3"),
        (lambda _: gguf.file(TENSORS, version=2), "no GGUF of version 3"),
        (lambda c: c[:100], "middle of their header"),
        (lambda c: c[:-33], "middle of a tensor"),
        (lambda c: c[:8] + b"\xff" * 8 + c[16:], "are counted"),
        (lambda c: c.replace(b"llama.context_length", b"llama.context_breadth"[:20]), "how long"),
        (lambda _: gguf.file([("w", [32], 99, b"")]), "unknown format 99"),
        (lambda _: gguf.file([("w", [32], 3, gguf.q4_1(float("nan"), 0.0, [0] * 32))]), "no scale"),
        (lambda _: gguf.file([("w", [32], 3, gguf.q4_1(1.0, -4e4, [0] * 32))]), "no scale"),
        (lambda _: gguf.file([("w", [33], 3, b"")]), "unknown format 3"),
        (lambda c: c.replace(struct.pack("<IIQ", 9, 8, 3), struct.pack("<IIQ", 9, 9, 3)), "arrays"),
        (lambda c: c.replace(struct.pack("<IIQ", 9, 8, 3), struct.pack("<IIQ", 9, 77, 3)), "77"),
    ],
)
def test_what_is_no_weights(damage: Callable[[bytes], bytes], why: str) -> None:
    with pytest.raises(NoWeights, match=why):
        derive(damage(gguf.file(TENSORS)), 24_576)


@given(st.data())
def test_damage_of_any_kind_is_named_or_harmless(data: st.DataObject) -> None:
    whole = gguf.file(TENSORS)
    at = data.draw(st.integers(0, len(whole) - 1))
    with suppress(NoWeights):  # and nothing else
        derive(whole[:at] + data.draw(st.binary(max_size=9)) + whole[at + 1 :], 24_576)
