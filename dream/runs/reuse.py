"""Answers that other runs of a folder have paid for, found by the hash of their request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dream.errors import DreamError
from dream.runs import records
from dream.runs.lines import LineReader, body_of, load_json, parse
from dream.runs.stores import JOURNAL, open_for_reading
from dream.types import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dream.types import Reply

_REPLY: Final = b'{"v":1,"kind":"reply",'
_OPENED: Final = b'{"v":1,"kind":"opened",'


class Place(NamedTuple):
    """Where an answer stands: a line of a journal."""

    folder: Path
    start: int
    length: int


class PaidAnswers:
    """What was answered in the other runs of a folder, by the same endpoint.

    Only whole answers count, and only those of runs with the same number of repeat: repeats are
    there to see how answers differ.

    Args:
        runs: the folder of the runs. own: the folder of the run that asks, which is left out.
        repeat: of the run that asks.
        endpoint: id of the one that it asks, see `Access.endpoint_id`.

    Attributes:
        unread: journals that could not be read and give nothing.
    """

    def __init__(self, runs: Path, own: Path, repeat: int, endpoint: str | None) -> None:
        self._places: dict[bytes, Place] = {}
        self.unread = 0
        for path in sorted(runs.glob(f"*/{JOURNAL}")):
            if path.parent.name == own.name:
                continue
            try:
                self._places |= dict(_answers(path.parent, repeat, endpoint))
            except DreamError:
                self.unread += 1

    def __len__(self) -> int:
        return len(self._places)

    def notes(self) -> tuple[str, ...]:
        """What a user should know."""
        if not self.unread:
            return ()
        return (f"{self.unread} journals of other runs are damaged and gave no answers to reuse",)

    def get(self, request: str) -> tuple[Reply, str] | None:
        """The answer to a request, free of cost, and the name of the run that paid for it.

        Args:
            request: sha256 of all that would be sent, in hex.
        """
        place = self._places.get(bytes.fromhex(request))
        if place is None:
            return None
        with open_for_reading(place.folder / JOURNAL) as file:
            file.seek(place.start)
            line = next(iter(LineReader(file, place.folder / JOURNAL, place.length)), None)
        record = None if line is None else parse(body_of(line), line.place)
        if not isinstance(record, records.ReplyRecord) or record.request != request:
            return None  # the file is another one by now
        reply = records.reply_of(record)
        return replace(reply, usage=Usage(), cost_usd=0.0), place.folder.name


def _answers(folder: Path, repeat: int, endpoint: str | None) -> Iterator[tuple[bytes, Place]]:
    with open_for_reading(folder / JOURNAL) as file:
        reader, start = LineReader(file, folder / JOURNAL), 0
        for line in reader:
            if line.head.startswith(_OPENED):
                meta: Any = load_json(line.head + b"}", line.place).get("meta")
                opened = parse(body_of(line), line.place)
                assert isinstance(opened, records.OpenedRecord), "it begins as one"
                asked = meta.get("endpoint_id") if isinstance(meta, dict) else None
                if asked != endpoint or opened.spec.get("repeat", 0) != repeat:
                    return
            elif line.head.startswith(_REPLY):
                record = parse(body_of(line), line.place)
                assert isinstance(record, records.ReplyRecord), "it begins as one"
                if record.raw is not None and record.stop_reason is not None:
                    place = Place(folder, start, reader.end - start)
                    yield bytes.fromhex(record.request), place
            start = reader.end
