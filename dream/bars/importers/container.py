"""Unpacks what bars lie in (zip, gz, UTF-16 and the like) into a temporary file, within bounds.

Archives come from strangers: nothing is written under a name that one gives, and every size is
counted while it is unpacked, whatever the archive says of it.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
import struct
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, BinaryIO, Final

from dream.bars import opening
from dream.bars.importers.content import HEAD_BYTES, Content, Kind, has_rows, look
from dream.errors import BarsInvalid
from dream.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

MOST_BYTES: Final = 4 << 30
"""Of an unpacked file: twice what MOST_ROWS rows of text take."""
MOST_RATIO: Final = 200
"""Unpacked to packed bytes. Bars shrink to a tenth; the flattest filler to a hundredth."""
ALWAYS_BYTES: Final = 16 << 20
"""Up to here every ratio is fine."""
MOST_MEMBERS: Final = 1_000
BLOCK_BYTES: Final = 1 << 20
SHOWN, SHOWN_CHARS = 10, 60
"""Members named in a message, and characters of each."""

_LEADS_OUT: Final = re.compile(r"(^|/)\.\.(/|$)|^/|^[A-Za-z]:")
_DAMAGED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    KeyError,
    IndexError,
    OverflowError,
)
"""What gzip and zipfile raise, as the case may be, of bytes that are not what they should be."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A file of bars as its reader takes it.

    Attributes:
        path: where it lies now; text is UTF-8 without a mark, at least in its first lines.
        kind: what it is, by content. notes: what was done to it, for the report.
        member: its name in the zip, None outside of one.
        named: the path that the bytes had, for what only a path tells (the day of a bi5).
    """

    path: Path
    kind: Kind
    notes: tuple[str, ...]
    member: str | None
    named: PurePath


@contextmanager
def unpacked(path: Path) -> Generator[Unpacked]:
    """The bars of a file, unpacked into the system's temporary folder where need be.

    What was unpacked is deleted at the end. A BarsInvalid raised inside the block that names the
    temporary file is raised again with the name of the real one.

    Raises:
        BarsInvalid: no file, damaged, of no known kind, too large, encrypted, packed twice, or
            with more than one file of bars; or there is no room to unpack it.
    """
    opening.check_regular(path)
    content = look(_head(path), str(path))
    if content.kind not in {"zip", "gz"} and content.encoding is None:
        yield _result(path, content, (), _Origin(str(path), path))
        return
    with _folder() as folder:
        source, origin, notes = path, _Origin(str(path), path), ()
        if content.kind in {"zip", "gz"}:
            source = folder / "bars"
            unpack = _unzip if content.kind == "zip" else _gunzip
            origin, notes = unpack(path, source)
            content = look(_head(source), origin.shown)
            _refuse_packed(content, origin.shown)
        if content.encoding is not None:
            text = folder / "text"
            _transcode(source, text, content.encoding, origin.shown)
            if source != path:
                source.unlink()
            source, notes = text, (*notes, _SAID[content.encoding])
        try:
            yield _result(source, content, notes, origin)
        except BarsInvalid as e:
            raise BarsInvalid(str(e).replace(str(source), origin.shown)) from e


@dataclass(frozen=True, slots=True)
class _Origin:
    """How messages call the bytes, the path they had, and their name in a zip."""

    shown: str
    named: PurePath
    member: str | None = None


def _result(path: Path, content: Content, notes: tuple[str, ...], origin: _Origin) -> Unpacked:
    assert content.kind != "zip"
    assert content.kind != "gz"
    return Unpacked(path, content.kind, notes, origin.member, origin.named)


def _refuse_packed(content: Content, shown: str) -> None:
    if content.kind in {"zip", "gz"}:
        raise BarsInvalid(
            f"{shown} is packed twice ({content.kind} inside); expected bars; unpack it once"
        )


def _open(path: Path) -> BinaryIO:
    return open_regular(path, "bars", error=BarsInvalid)


def _head(path: Path) -> bytes:
    with _open(path) as f:
        return _reading(f.read, str(path))(HEAD_BYTES)


# Writing the temporary file


def _no_room(e: OSError) -> BarsInvalid:
    return BarsInvalid(
        f"cannot unpack into {tempfile.gettempdir()}: {e.strerror}; make room there, or name"
        " another folder in the environment variable TMPDIR"
    )


@contextmanager
def _folder() -> Generator[Path]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="dream-", ignore_cleanup_errors=True)
    except OSError as e:
        # Where there is no folder at all, asking for its name fails as well.
        raise BarsInvalid(
            f"no temporary folder to unpack into: {e.strerror}; name one in the environment"
            " variable TMPDIR"
        ) from e
    with folder as name:
        yield Path(name)


def _copy(
    read: Callable[[int], bytes], packed: Callable[[], int], target: Path, shown: str
) -> None:
    """Write what `read` gives until it ends, within the bounds.

    Args:
        read: at most so many bytes, none at the end; raises BarsInvalid where they are damaged.
        packed: how many packed bytes they came from so far.
        target: a new file.
        shown: how messages call the source.
    """
    total = 0
    try:
        # Without a buffer: closing would write its rest, and fail again where a disk is full.
        file = target.open("xb", buffering=0)
    except OSError as e:
        raise _no_room(e) from e
    with file:
        while block := read(BLOCK_BYTES):
            total += len(block)
            if total > MOST_BYTES:
                raise BarsInvalid(
                    f"{shown} unpacks to more than {MOST_BYTES >> 30} GiB; cut it into parts"
                )
            if total > ALWAYS_BYTES and total > MOST_RATIO * max(packed(), 1):
                raise BarsInvalid(
                    f"{shown} unpacks to more than {MOST_RATIO} times its size, which bars do not;"
                    " unpack it yourself if you trust it"
                )
            rest = memoryview(block)
            while rest:
                try:
                    rest = rest[file.write(rest) :]
                except OSError as e:
                    raise _no_room(e) from e


def _reading(read: Callable[[int], bytes], shown: str) -> Callable[[int], bytes]:
    """The same, but damage is said in words."""

    def checked(size: int) -> bytes:
        try:
            return read(size)
        except _DAMAGED as e:
            raise _damaged(shown, e) from e

    return checked


def _damaged(shown: str, e: Exception) -> BarsInvalid:
    reason = str(e).split("\n", maxsplit=1)[0][:120]
    return BarsInvalid(f"{shown} is cut off or damaged: {reason}; download or export it again")


# Packed files


def _gunzip(path: Path, target: Path) -> tuple[_Origin, tuple[str, ...]]:
    """Unpack a gz, also one of several parts, as some programs append to it."""
    shown = f"{path} (unpacked)"
    with _open(path) as raw, gzip.GzipFile(fileobj=raw) as file:
        _copy(_reading(file.read, str(path)), raw.tell, target, str(path))
    named = path.with_suffix("") if path.suffix.lower() in {".gz", ".gzip"} else path
    return _Origin(shown, named), ("unpacked from gz",)


def _unzip(path: Path, target: Path) -> tuple[_Origin, tuple[str, ...]]:
    """Unpack the one member of a zip that holds bars."""
    with _open(path) as raw:
        try:
            archive = zipfile.ZipFile(raw)
        except _DAMAGED as e:
            raise _damaged(str(path), e) from e
        with archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
            _check_members(members, path)
            member = members[0] if len(members) == 1 else _member(archive, members, path)
            shown = f"{path} ({_name(member)})"
            packed = min(member.compress_size, os.fstat(raw.fileno()).st_size)
            with _opened(archive, member, path) as file:
                _copy(_reading(file.read, shown), lambda: packed, target, shown)
    ignored = [_name(m) for m in members if m is not member]
    notes = (f"unpacked from zip: {_name(member)}",)
    if ignored:
        notes += (f"{len(ignored)} other files in the zip hold no bars: {_listed(ignored)}",)
    named = path.parent / _name(member)
    return _Origin(shown, named, _name(member)), notes


def _name(member: zipfile.ZipInfo) -> str:
    return member.filename.replace("\\", "/")


def _listed(names: list[str]) -> str:
    more = ", ..." if len(names) > SHOWN else ""
    return ", ".join(ascii(n[:SHOWN_CHARS])[1:-1] for n in names[:SHOWN]) + more


def _check_members(members: list[zipfile.ZipInfo], path: Path) -> None:
    """Refuse what no honest export has, by what the archive says; sizes are counted later too."""
    names = [_name(m) for m in members]
    if not members:
        raise BarsInvalid(f"{path} is a zip without a file in it; download or export it again")
    if "[Content_Types].xml" in names:
        raise BarsInvalid(f"{path} is an Excel workbook; expected bars; save its sheet as CSV")
    if len(members) > MOST_MEMBERS:
        raise BarsInvalid(
            f"{path} has {len(members):,} files; expected one file of bars; unpack it"
        )
    for member, name in zip(members, names, strict=True):
        shown = f"{path} ({_listed([name])})"
        if _LEADS_OUT.search(name) or not name.isprintable():
            raise BarsInvalid(f"{shown}: the name leads out of the zip; do not trust this file")
        if member.flag_bits & 0x41:
            raise BarsInvalid(f"{shown} is encrypted; unpack it with its password first")
        if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            # Python unpacks the other methods without a bound on memory.
            raise BarsInvalid(
                f"{shown} is packed by method {member.compress_type}; expected deflate; unpack it"
                " first"
            )
        if member.file_size > MOST_BYTES:
            raise BarsInvalid(
                f"{shown} unpacks to more than {MOST_BYTES >> 30} GiB; cut it into parts"
            )


@contextmanager
def _opened(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> Generator[IO[bytes]]:
    try:
        file = archive.open(member)
    except _DAMAGED as e:
        raise _damaged(f"{path} ({_name(member)})", e) from e
    with file:
        yield file


def _member(
    archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], path: Path
) -> zipfile.ZipInfo:
    """The one of several members that holds bars."""
    holding = [m for m in members if _may_hold_bars(archive, m, path)]
    if len(holding) == 1:
        return holding[0]
    if holding:
        found = f"{len(holding)} files that may hold bars: {_listed([_name(m) for m in holding])}"
        raise BarsInvalid(f"{path} has {found}; expected one; unpack it and import them singly")
    found = f"no file of bars among {_listed([_name(m) for m in members])}"
    raise BarsInvalid(f"{path} has {found}; expected one; unpack it and look")


def _may_hold_bars(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bool:
    shown = f"{path} ({_name(member)})"
    with _opened(archive, member, path) as file:
        head = _reading(file.read, shown)(HEAD_BYTES)
    try:
        content = look(head, shown)
    except BarsInvalid:
        return False
    return content.kind != "text" or has_rows(head, content.encoding)


# Text

_SAID: Final = {
    "utf-8-sig": "the mark of UTF-8 before the text was left out",
    "utf-16-le": "the text is UTF-16 (little-endian)",
    "utf-16-be": "the text is UTF-16 (big-endian)",
    "utf-32-le": "the text is UTF-32 (little-endian)",
    "utf-32-be": "the text is UTF-32 (big-endian)",
    "cp1252": "the text is no UTF-8; it was read as Windows-1252 (Latin-1)",
}


def _transcode(source: Path, target: Path, encoding: str, shown: str) -> None:
    """Write text anew as UTF-8 without a mark; lines stay where they are.

    Raises:
        BarsInvalid: it is not in that encoding all through.
    """
    # Windows-1252 leaves five bytes open; they become the sign for a character that is not known.
    errors = "replace" if encoding == "cp1252" else "strict"
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    begun = False

    with _open(source) as file:

        def read(size: int) -> bytes:
            nonlocal begun
            text = ""
            while not text:
                block = file.read(size)
                try:
                    text = decoder.decode(block, final=not block)
                except UnicodeDecodeError as e:
                    raise BarsInvalid(
                        f"{shown}: the text begins as {encoding.removesuffix('-sig')}, but"
                        f" {e.reason} before byte {file.tell()}; export it again"
                    ) from e
                if not begun and text:
                    text, begun = text.removeprefix("\ufeff"), True
                if not block:
                    break
            return text.encode("utf-8", "replace")

        _copy(_reading(read, shown), file.tell, target, shown)
