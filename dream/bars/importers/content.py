"""What a file is, by its bytes and never by its name."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dream.errors import BarsInvalid

HEAD_BYTES: Final = 64 << 10
"""So much of a file's beginning is looked at."""

Kind: TypeAlias = Literal["text", "parquet", "hst", "bi5"]
Packing: TypeAlias = Literal["zip", "gz"]

ZIP, EMPTY_ZIP, GZ = b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b"
HST_VERSIONS: Final = (400, 401)
_MARKS: Final = {
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_FOREIGN: Final = {
    b"PARE": ("Parquet with an encrypted footer", "export it without encryption"),
    b"ARROW1": ("an Arrow (Feather) file", "export it as Parquet or CSV"),
    b"\x89HDF": ("an HDF5 file", "export it as Parquet or CSV"),
    b"SQLite format 3\0": ("an SQLite database", "export its table as CSV"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("an old Excel workbook", "save it as CSV"),
    b"\x93NUMPY": ("a NumPy array", "export it as Parquet or CSV"),
    b"\x80\x02": ("a Python pickle, which is never opened", "export it as Parquet or CSV"),
    b"\x80\x03": ("a Python pickle, which is never opened", "export it as Parquet or CSV"),
    b"\x80\x04": ("a Python pickle, which is never opened", "export it as Parquet or CSV"),
    b"\x80\x05": ("a Python pickle, which is never opened", "export it as Parquet or CSV"),
    b"%PDF": ("a PDF", "export the table as CSV"),
    b"\xfd7zXZ\0": ("an xz archive", "unpack it"),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "unpack it"),
    b"Rar!\x1a\x07": ("a RAR archive", "unpack it"),
    b"\x28\xb5\x2f\xfd": ("a zstd archive", "unpack it"),
}
_PAGE: Final = re.compile(rb"\s*<(!doctype\s+html|html|\?xml)", re.IGNORECASE)
_SEPARATORS: Final = (r"[;\t|]", r",", r"\s+")
_QUOTED: Final = re.compile(r'"([^"]*)"')
_NUMBER: Final = re.compile(r"[+-]?\d[\d.,:/+TZeE-]*", re.ASCII)
_FEWEST_NUMBERS: Final = 4
_LINES, _HEADER_LINES, _LINE_CHARS = 100, 3, 2_000


@dataclass(frozen=True, slots=True)
class Content:
    """What bytes are.

    Attributes:
        kind: of bars, or of packing. encoding: of text that is not plain UTF-8, else None.
    """

    kind: Kind | Packing
    encoding: str | None = None


def look(head: bytes, shown: str) -> Content:
    """Tell a file by its beginning.

    Args:
        head: its first HEAD_BYTES bytes, or all of them.
        shown: how messages call the file.

    Raises:
        BarsInvalid: it is empty or of no kind that can be read.
    """
    if not head:
        raise BarsInvalid(
            f"{shown} is empty (0 bytes); expected bars; download or export it again (Dukascopy"
            " serves an empty file for a day without trading: leave that one out)"
        )
    kind = _binary(head)
    if kind is not None:
        return Content(kind)
    _refuse_foreign(head, shown)
    return Content("text", _encoding(head, shown))


def _binary(head: bytes) -> Kind | Packing | None:
    if head.startswith((ZIP, EMPTY_ZIP)):
        return "zip"
    if head.startswith(GZ):
        return "gz"
    if head.startswith(b"PAR1"):
        return "parquet"
    version = int.from_bytes(head[:4], "little")
    # Another version is told by the copyright behind it, so that it can be refused by its number.
    if version in HST_VERSIONS or (version < 1 << 16 and b"opyright" in head[4:68]):
        return "hst"
    # LZMA without a container has no magic: its properties byte, as every packer writes it, and a
    # dictionary of at least 64 KiB.
    if head[:3] == b"\x5d\0\0":
        return "bi5"
    return None


def _refuse_foreign(head: bytes, shown: str) -> None:
    found = next((said for magic, said in _FOREIGN.items() if head.startswith(magic)), None)
    if head[257:262] == b"ustar":
        found = ("a tar archive", "unpack it")
    if head[:3] == b"BZh" and head[4:10] == b"1AY&SY":
        found = ("a bzip2 archive", "unpack it")
    if _PAGE.match(head.removeprefix(codecs.BOM_UTF8)):
        found = ("a web page or XML", "the download may have failed; export it as CSV")
    if found is not None:
        raise BarsInvalid(
            f"{shown} is {found[0]}; expected CSV or other text, Parquet, MetaTrader .hst,"
            f" Dukascopy .bi5, or one of them in a zip or gz; {found[1]}"
        )


def _encoding(head: bytes, shown: str) -> str | None:
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    nul = head.find(b"\0")
    if nul >= 0:
        pairs = len(head) // 2
        even, odd = head[0 : 2 * pairs : 2].count(0), head[1 : 2 * pairs : 2].count(0)
        # Nearly all that is in bar files is ASCII: every other byte is zero, and no byte between.
        if not even and odd > 0.7 * pairs:
            return "utf-16-le"
        if not odd and even > 0.7 * pairs:
            return "utf-16-be"
        raise BarsInvalid(
            f"{shown} is of no known kind: byte {nul} is zero, so it is no text; expected CSV or"
            " other text, Parquet, MetaTrader .hst or Dukascopy .bi5; export it as CSV"
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return None


def has_rows(head: bytes, encoding: str | None) -> bool:
    """Whether the beginning of a text looks like bars: most lines hold four numbers and more.

    A report that lies beside an export, or a readme with an example, does not.
    """
    text = head.decode(encoding or "utf-8", "replace")
    lines = [line[:_LINE_CHARS] for line in text.splitlines()[:_LINES] if line.strip()]
    rows = sum(map(_is_row, lines))
    return rows > 0 and 2 * rows > len(lines) - _HEADER_LINES


def _is_row(line: str) -> bool:
    bare = _QUOTED.sub(lambda quoted: quoted[1].replace(",", ""), line.strip())
    return any(
        sum(_NUMBER.fullmatch(field.strip()) is not None for field in re.split(mark, bare))
        >= _FEWEST_NUMBERS
        for mark in _SEPARATORS
    )
