"""What the metadata of a dream file says, and how it is guarded."""

from __future__ import annotations

import json
import math
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from dream.bars import check
from dream.errors import BarsInvalid, SchemaUnknown
from dream.types import Instrument

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA: Final = 2
"""Schema 1 had no provenance and no average of finer bars."""
LABELS: Final = {
    b"1": ("schema", "instrument", "bar_ns", "source_clock"),
    b"2": ("schema", "instrument", "bar_ns", "source_clock", "provenance"),
}
"""Schema to the labels that its checksum is over, in that order."""
PROVENANCE_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Label:
    """What a file is of and where it came from.

    Attributes:
        instrument: what the prices are of. bar_ns: length of a bar in nanoseconds.
        source_clock: the clock in which the source had its times.
        provenance: one record for each export that the bars came from, the oldest first, of values
            that JSON has; none for bars that were made up.
    """

    instrument: Instrument
    bar_ns: int
    source_clock: str
    provenance: tuple[dict[str, Any], ...] = ()


def metadata(label: Label) -> dict[str, str]:
    """The metadata of a dream file; its pages have checksums of their own.

    Raises:
        BarsInvalid: the provenance is more than PROVENANCE_BYTES of JSON, or has what JSON has not.
    """
    try:
        provenance = json.dumps(label.provenance, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as e:
        raise BarsInvalid(
            f"the provenance of the bars cannot be written: {e}; expected values that JSON has"
        ) from e
    if len(provenance) > PROVENANCE_BYTES:
        raise BarsInvalid(
            f"the provenance of the bars takes {len(provenance):,} bytes of JSON; expected at most"
            f" {PROVENANCE_BYTES:,}; import the exports in one go, or shorten what is told of them"
        )
    said = {
        "dream.schema": str(SCHEMA),
        "dream.instrument": json.dumps(asdict(label.instrument)),
        "dream.bar_ns": str(label.bar_ns),
        "dream.source_clock": label.source_clock,
        "dream.provenance": provenance,
    }
    return said | {"dream.crc32": _crc32("\n".join(said.values()).encode())}


def label_of(found: Mapping[bytes, bytes], path: Path) -> Label | None:
    """The label in a file's metadata, None where dream did not write the file.

    Raises:
        BarsInvalid: it is damaged.
        SchemaUnknown: written by a later dream.
    """
    version = found.get(b"dream.schema")
    if version is None:
        return None
    if version not in LABELS:
        shown = version[:20].decode(errors="replace")
        raise SchemaUnknown(
            f"{path} has bar schema {shown}; this dream knows 1 to {SCHEMA}; use the dream that"
            " wrote it"
        )
    try:
        said = [found[f"dream.{name}".encode()] for name in LABELS[version]]
        if found[b"dream.crc32"] != _crc32(b"\n".join(said)).encode():
            raise damaged(path, "its label is not as it was written")
        fields: dict[str, Any] = json.loads(found[b"dream.instrument"])
        symbol = str(fields.pop("symbol"))
        numbers = {name: float(value) for name, value in fields.items()}
        instrument = Instrument(symbol, **numbers)
        bar_ns = check.bar_length({int(found[b"dream.bar_ns"]): 1}, str(path))
        clock = found[b"dream.source_clock"].decode()
        provenance = () if version == b"1" else _provenance(found[b"dream.provenance"])
    except KeyError as e:
        name = e.args[0].decode() if isinstance(e.args[0], bytes) else e.args[0]
        raise damaged(path, f"its label has no {name}") from e
    except (ValueError, TypeError, AttributeError, RecursionError) as e:
        raise damaged(path, e) from e
    if not all(math.isfinite(x) and x > 0 for x in numbers.values()):
        raise damaged(path, f"instrument {numbers}")
    return Label(instrument, bar_ns, clock, provenance)


def _provenance(text: bytes) -> tuple[dict[str, Any], ...]:
    """The records in a label.

    Raises:
        ValueError: it is too long or no list of records.
    """
    if len(text) > PROVENANCE_BYTES:
        raise ValueError(f"a provenance of {len(text):,} bytes, expected {PROVENANCE_BYTES:,}")
    records: Any = json.loads(text)
    if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
        raise ValueError("its provenance is no list of records")
    return tuple(records)


def damaged(path: Path, reason: object) -> BarsInvalid:
    """What to raise for a dream file that is not as dream writes them."""
    line = str(reason).split("\n", maxsplit=1)[0]
    return BarsInvalid(f"{path} is damaged: {line}; import it or copy it again")


def _crc32(said: bytes) -> str:
    return f"{zlib.crc32(said):08x}"
