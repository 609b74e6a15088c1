"""How a record becomes a line of a file and how whole lines are found again.

A line is the record's JSON object (its body), then `meta` where there is any, `chain` and `crc`::

    {"v":1,"kind":...,"meta":{...},"chain":"<32 hex>","crc":"<8 hex>"}

The body's bytes are cut out of a line, never written again to be compared. The first `,"meta":{`
is the line's own meta: inside a JSON text a quote is always escaped, so the quote after the comma
cannot stand in one; it cannot end one either, because `m` cannot follow; so it begins the key
`meta` whose value is an object. Records have no such key at any depth: their own fields are not
called so, and a spec with one is refused. The first is enough, since meta itself comes after it.
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar, cast

from pydantic import ValidationError

from dream.errors import JournalCorrupt, SchemaUnknown
from dream.runs.records import KINDS, SCHEMA, AnyRecord, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

LINE_MAX: Final = 16 * 1024 * 1024
"""No line is longer, in bytes: a reader never holds more than one."""

RESTORE: Final = "restore the file from a copy, or start another run with --fresh"

NO_CHAIN: Final = "0" * 32
"""The chain before the first line."""

UPCASTS: Final[Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
"""Schema version to the pure function that turns such a line into one of the next version."""

R = TypeVar("R", bound=Record)

_CRC = b',"crc":"'
_CHAIN = b',"chain":"'
_META = b',"meta":{'
_CRC_BYTES = len(_CRC) + 8 + len(b'"}\n')
_CHAIN_BYTES = len(_CHAIN) + 32 + len(b'"')


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _fields(value: object) -> dict[str, Any]:
    if isinstance(value, Record):
        return vars(value)
    raise TypeError(f"not JSON: {value!r}")


_encode = json.JSONEncoder(
    allow_nan=False, check_circular=False, separators=(",", ":"), default=_fields
).encode
_decode = json.JSONDecoder(parse_constant=_no_constant).decode


def encode(record: Record) -> bytes:
    """The body of a line: compact ASCII JSON, fields in their order, floats in shortest form."""
    return _encode(vars(record)).encode("ascii")


def with_crc(head: bytes) -> bytes:
    """A whole line from an object's bytes without the closing brace."""
    return head + b'%b%08x"}\n' % (_CRC, zlib.crc32(head))


def without_crc(line: bytes) -> bytes | None:
    """The bytes that `with_crc` was given, None where the line is not whole."""
    head, tail = line[:-_CRC_BYTES], line[-_CRC_BYTES:]
    return head if tail == b'%b%08x"}\n' % (_CRC, zlib.crc32(head)) else None


def seal(body: bytes, meta: dict[str, Any] | None, before: str) -> tuple[bytes, str]:
    """The line of a body and its chain; before is the chain of the line before.

    Raises:
        ValueError: a number in meta is NaN or infinite.
    """
    facts = b"" if meta is None else b',"meta":%b' % _encode(meta).encode("ascii")
    chain = _link(before, body)
    return with_crc(b'%b%b%b%b"' % (body[:-1], facts, _CHAIN, chain.encode())), chain


def _link(before: str, body: bytes) -> str:
    return blake2b(before.encode() + body, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Line:
    """A whole line: where it is, for messages, and its bytes before the crc."""

    place: str
    head: bytes


class LineReader:
    """The whole lines of a file, as it is now or up to stop bytes, in order.

    A bad last line is a torn tail: the reader stops before it. So it does where the file has
    become shorter meanwhile, as one does whose writer takes back what it could not sync.

    Attributes:
        end: the byte after the last whole line so far.
        torn_bytes: length of the torn tail, 0 until it is reached.
    """

    def __init__(self, file: BinaryIO, path: Path, stop: int | None = None) -> None:
        self._file = file
        self._path = path
        self._stop = os.fstat(file.fileno()).st_size if stop is None else stop
        self.end = 0
        self.torn_bytes = 0

    def __iter__(self) -> Iterator[Line]:
        """Yields each whole line.

        Raises:
            JournalCorrupt: a bad line has others after it.
        """
        number = 1
        while self.end < self._stop:
            raw = self._file.readline(min(LINE_MAX, self._stop - self.end))
            head = without_crc(raw)
            if head is None and self._is_last(raw):
                self.torn_bytes = len(raw)
                return
            place = f"{self._path}: line {number} at byte {self.end}"
            if head is None:
                raise JournalCorrupt(
                    f"{place}: damaged: its checksum does not fit and more follows: "
                    f"{raw[:40]!r}...; {RESTORE}"
                )
            number += 1
            self.end += len(raw)
            yield Line(place, head)

    def _is_last(self, raw: bytes) -> bool:
        end = self.end + len(raw)
        return end == self._stop or end >= os.fstat(self._file.fileno()).st_size


@dataclass(frozen=True, slots=True)
class Sealed:
    """A line of a journal whose crc and chain are right.

    Attributes:
        place: where it is, for messages.
        body: the record's own bytes.
        whole: the JSON object with meta and chain.
        chain: its chain.
    """

    place: str
    body: bytes
    whole: bytes
    chain: str

    def meta(self) -> dict[str, Any]:
        """The line's wall-clock facts, empty where it has none.

        Raises:
            JournalCorrupt: they are not JSON.
        """
        after = b"{" + self.whole[len(self.body) :]
        found = load_json(after, self.place).get("meta")
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def body_of(line: Line) -> bytes:
    """The record's own bytes in a line of a journal."""
    inner = line.head[:-_CHAIN_BYTES]
    at = inner.find(_META)
    return (inner if at < 0 else inner[:at]) + b"}"


def chained(reader: LineReader) -> Iterator[Sealed]:
    """The lines of a journal, each checked against the chain before it.

    Raises:
        JournalCorrupt: a damaged line that is not the last, or a history that was edited.
    """
    before = NO_CHAIN
    for line in reader:
        body, tail = body_of(line), line.head[-_CHAIN_BYTES:]
        chain = _link(before, body)
        if tail != b'%b%b"' % (_CHAIN, chain.encode()):
            raise JournalCorrupt(
                f"{line.place}: edited: it is whole but its chain does not fit the lines up to it: "
                f"expected {chain}, found {tail[-33:-1].decode('latin-1')}; {RESTORE}"
            )
        before = chain
        yield Sealed(line.place, body, line.head + b"}", chain)


def load_json(body: bytes, place: str) -> dict[str, Any]:
    """A JSON object as a dict.

    Raises:
        JournalCorrupt: anything else; the message starts with place.
    """
    try:
        data: Any = _decode(body.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise JournalCorrupt(f"{place}: not JSON ({error}): {body[:60]!r}...") from error
    if not isinstance(data, dict):
        raise JournalCorrupt(f"{place}: expected a JSON object, found {body[:60]!r}...")
    return data


def load(body: bytes, place: str) -> dict[str, Any]:
    """A journal line as a dict whose `v` and `kind` are known; its fields are not validated.

    Raises:
        JournalCorrupt: not a JSON object, or of no known kind.
        SchemaUnknown: written by a newer version.
    """
    data = load_json(body, place)
    version = data.get("v")
    if type(version) is not int or version < 1:
        raise JournalCorrupt(f"{place}: expected a schema version v, found {version!r}")
    if version > SCHEMA:
        raise SchemaUnknown(
            f"{place}: written with version {version} of the journal's schema; this dream reads up "
            f"to version {SCHEMA}; install a newer one to read this run"
        )
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise JournalCorrupt(f"{place}: expected a kind among {', '.join(KINDS)}, found {kind!r}")
    return data


def parse(body: bytes, place: str) -> AnyRecord:
    """The record of a line's body, whichever known version wrote it.

    Raises:
        JournalCorrupt, SchemaUnknown: as `load`, or a field is missing, extra or of another type.
    """
    data = load(body, place)
    for version in range(data["v"], SCHEMA):
        data = UPCASTS[version](data)
    return parse_as(KINDS[data["kind"]], data, place)


def parse_as(model: type[R], data: dict[str, Any], place: str) -> R:
    """A record of a known kind.

    Raises:
        JournalCorrupt: a field is missing, extra, of another type or out of range.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise JournalCorrupt(
            f"{place}: {model.__name__}, field {field}: {first['msg']}, "
            f"found {str(first['input'])[:60]!r}; {RESTORE}"
        ) from error
