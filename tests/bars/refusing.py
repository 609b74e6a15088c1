"""What is said where a file of bars is refused, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dream.bars import store
from dream.bars.ingest import ingest
from dream.bars.reading import Reading
from dream.errors import BarsInvalid
from dream.types import Instrument
from tests.bars.files import names

if TYPE_CHECKING:
    from pathlib import Path


def refusal(path: Path, instrument: Instrument | None = None) -> str:
    """The message of reading a file; an import says the same of it, and leaves nothing behind."""
    kind = instrument or Instrument()
    with pytest.raises(BarsInvalid) as read:
        store.read(path, kind)
    with pytest.raises(BarsInvalid) as imported:
        ingest(path, path.with_name("out.parquet"), Reading(kind, "utc"))
    assert names(path.parent) == [path.name]
    said, again = str(read.value), str(imported.value)
    assert "\n" not in said + again
    assert max(len(said), len(again)) < 600 + len(str(path))
    if "; mend the file, or import it" in said:  # what single rows are to blame for
        fault = said.partition(": ")[2].partition("; mend the file, or import it")[0]
        assert fault.partition("; and ")[0] in again
        assert "Nothing was written. Mend the file or choose what is done: --on " in again
    else:
        assert said == again
    return said
