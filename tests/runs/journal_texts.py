"""Texts, numbers and JSON values that try to break a line."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.runs.journal_samples import TORN_TEXT


def any_text():
    """Text as a model may write it: lone surrogates, controls, pieces of our own line format."""
    pieces = st.sampled_from(
        [
            TORN_TEXT,
            "\ud800",
            "\udfff",
            "\ud83d\ude00",
            "\u2028",
            "\u2029",
            "\x00",
            "\n",
            '"',
            "\\",
            ',"meta":{',
            ',"chain":"',
            ',"crc":"',
            "}\n",
            "NaN",
            "",
        ]
    )
    wild = st.text(st.characters(exclude_categories=()), max_size=8)
    return st.lists(pieces | wild, max_size=4).map("".join)


def any_float():
    return st.floats(allow_nan=False, allow_infinity=False)


def any_json():
    """Any JSON value; objects may have the keys of our line format."""
    leaf = st.none() | st.booleans() | st.integers() | any_float() | any_text()
    keys = st.sampled_from(["meta", "crc", "chain", "v"]) | any_text()
    return st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=6,
    )
