"""Reads a foreign file as it is, for a command that wants bars: whatever is wrong is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dream.bars import gather, importers
from dream.bars.check import Rows, Stamps
from dream.bars.checks import examine
from dream.bars.checks.faults import KINDS, Policy, Tally
from dream.bars.checks.report import listed
from dream.bars.reading import Reading
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from pathlib import Path

    from dream.types import Instrument

STRICT: Final = Policy({name: "refuse" for name, kind in KINDS.items() if "refuse" in kind.actions})


def read(path: Path, instrument: Instrument) -> tuple[Rows, int]:
    """The rows in ticks and the length of a bar in nanoseconds.

    Args:
        path: an export of any known format whose stamps say what instants they are.
        instrument: what the prices are of.

    Raises:
        BarsInvalid: it cannot be read, its clock must be given, or anything is wrong with a row.
    """
    reading, tally = Reading(instrument, policy=STRICT), Tally(STRICT)
    with importers.opened(path, reading.hints) as opened:
        if opened.layout.clock in {"wall", "date"}:
            raise BarsInvalid(
                f"{path} ({opened.layout.format}): its times carry no zone; import it with "
                f"dream bars import {path} --clock RULE -o OUT.parquet, --clock utc if they are UTC"
            )
        rows = gather.gather(opened, reading, tally, path)
        at = examine.Examination(path, opened.layout, reading, tally, rows.columns)
        _refuse(at)
        examine.order(at)
        _refuse(at)
    columns = at.columns
    stamps = Stamps(str(path), 1, columns.t_ns)
    return Rows(stamps, columns.px, columns.spread, columns.volume), at.bar_ns


def _refuse(at: examine.Examination) -> None:
    found = at.tally.found()
    if found:
        raise BarsInvalid(
            f"{at.path} ({at.layout.format}): {listed(found)}; mend the file, or import it with "
            f"dream bars import, which can leave such rows out and counts them"
        )
