"""A small file of weights, written by hand as its format says."""

from __future__ import annotations

import struct


def text(said: str) -> bytes:
    return struct.pack("<Q", len(said)) + said.encode()


def whole(name: str, number: int) -> bytes:
    return text(name) + struct.pack("<II", 4, number)


def words(name: str, said: list[str]) -> bytes:
    return text(name) + struct.pack("<IIQ", 9, 8, len(said)) + b"".join(map(text, said))


def q4_1(step: float, least: float, levels: list[int]) -> bytes:
    """A block: weight k is least + step * levels[k]; the first 16 levels lie in the low bits."""
    pairs = zip(levels[:16], levels[16:], strict=True)
    return struct.pack("<2e", step, least) + bytes(low + 16 * high for low, high in pairs)


def file(
    tensors: list[tuple[str, list[int], int, bytes]], *, context: int = 8_192, version: int = 3
) -> bytes:
    """Tensors are name, sizes, format and data."""
    values = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        words("tokenizer.ggml.tokens", ["a", "bc", ""]),
        whole("llama.context_length", context),
        text("tokenizer.ggml.add_bos_token") + struct.pack("<I?", 7, False),
    ]
    rows, data = b"", b""
    for name, sizes, kind, content in tensors:
        rows += text(name) + struct.pack("<I", len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes)
        rows += struct.pack("<IQ", kind, len(data))
        data += content + bytes(-len(content) % 32)
    header = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    header += b"".join(values) + rows
    return header + bytes(-len(header) % 32) + data
