"""From any export to a dream file: checked, counted, all or nothing."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from dream.bars import adopt, append, gather, importers, opening, store
from dream.bars.checks import examine, market, report
from dream.bars.checks.faults import Tally
from dream.bars.fingerprint import hashing
from dream.errors import BarsInvalid, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from dream.bars.append import Appended
    from dream.bars.checks.report import Report
    from dream.bars.reading import Reading
    from dream.types import Bars


def read(source: Path, reading: Reading, reference: Bars | None = None) -> tuple[Report, Bars]:
    """An export, read and checked; a fault that is refused is in the report, not raised.

    Args:
        source: a file of any known format, packed or not.
        reading: what is said of it.
        reference: known bars of the same market.

    Returns:
        The report, and the bars that are left, without those of refused rows.

    Raises:
        BarsInvalid: the format is not known, no row can be read, the clock must be given, or the
            file changed meanwhile.
        SpecInvalid: a clock, a fault or an action that does not exist.
    """
    opening.check_regular(source)
    tally = Tally(reading.policy)
    with hashing(source) as hashed:
        with importers.opened(source, reading.hints) as opened:
            rows = gather.gather(opened, reading, tally, source)
            at = examine.Examination(source, opened.layout, reading, tally, rows.columns)
            examine.order(at)
            market.look(at, reference)
        sha256 = hashed()
    columns, instrument, gaps = at.columns, reading.instrument, at.gaps
    bars = adopt(
        instrument, at.bar_ns, columns.t_ns, columns.px, columns.spread, columns.volume
    )  # fmt: skip
    made = report.Report(
        source=str(source),
        sha256=sha256,
        format=opened.layout.format,
        symbol=instrument.symbol,
        tick=instrument.tick,
        point=rows.point,
        clock=at.clocks,
        rows_read=rows.rows,
        rows_kept=len(columns),
        rounded=rows.rounded,
        bar_ns=at.bar_ns,
        from_ns=int(columns.t_ns[0]),
        to_ns=int(columns.t_ns[-1]) + at.bar_ns,
        found=tally.found(),
        days=0 if gaps is None else gaps.days,
        full_days=0 if gaps is None else gaps.full_days,
        half_days=0 if gaps is None else gaps.half_days,
        closed_days=0 if gaps is None else gaps.closed_days,
        unused=opened.layout.unused,
        notes=(*opened.layout.notes, *rows.notes, *at.notes),
    )
    return made, bars


def ingest(
    source: Path, out: Path, reading: Reading, *, reference: Bars | None = None, force: bool = False
) -> Report:
    """Read and check an export, and write a dream file where nothing is refused.

    Args:
        source: the export.
        out: the file to write.
        reading: what is said of it.
        reference: known bars of the same market.
        force: replace an existing file.

    Raises:
        BarsInvalid: as `read`, or a fault is refused; nothing is written.
        InputError: the file exists, is the source, or cannot be written.
    """
    if same_file(source, out):
        raise InputError(f"{out} is the source itself; give another output")
    made, bars = read(source, reading, reference)
    if made.refused:
        raise BarsInvalid(report.refusal(made))
    store.write(
        bars, out, source_clock=made.clock.declared, provenance=(origin(made),), force=force
    )
    return made


def extend(
    source: Path, series_file: Path, reading: Reading, *, reference: Bars | None = None
) -> tuple[Report, Appended]:
    """Read and check a newer export and add what it has beyond the end of a series.

    Args:
        source: the export.
        series_file: the dream file; it is replaced as a whole, or not at all.
        reading: what is said of the export.
        reference: known bars of the same market.

    Raises:
        BarsInvalid: as `ingest`, or where both have bars they differ.
        InputError: the file cannot be written.
    """
    with store.alone(series_file):
        old, origins = store.read(series_file), store.provenance(series_file)
        made, bars = read(source, reading, reference)
        if made.refused:
            raise BarsInvalid(report.refusal(made))
        _same_clock(made, origins, reading)
        done = append.append(old, bars)
        if done.added:
            store.write(
                done.bars, series_file, source_clock=store.source_clock(series_file),
                provenance=(*origins, origin(made)), force=True,
            )  # fmt: skip
    return made, done


def _same_clock(made: Report, origins: tuple[dict[str, Any], ...], reading: Reading) -> None:
    """Refuse the same kind of export on another clock: a short one fits many clocks.

    Raises:
        BarsInvalid: naming both.
    """
    was = next((o.get("clock") for o in origins if o.get("format") == made.format), None)
    now = made.clock.declared
    if was not in {None, now} and reading.policy.of("clock") != "keep":
        raise BarsInvalid(
            f"{made.source} ({made.format}) was read by the clock {now}, the exports of this kind "
            f"in the series by {was}; give --clock {was}, or --on clock=keep where it did change"
        )


def origin(made: Report) -> dict[str, Any]:
    """Where bars came from, as their file says it."""
    return {
        "source": PurePath(made.source).name,
        "sha256": made.sha256,
        "format": made.format,
        "clock": made.clock.declared,
        "rows_read": made.rows_read,
        "rows_kept": made.rows_kept,
        "rounded": made.rounded,
        "faults": {fault.kind: [fault.count, fault.action] for fault in made.found},
    }


def same_file(source: Path, out: Path) -> bool:
    """Whether the output is the source, by whatever name."""
    try:
        return source.samefile(out)
    except (OSError, ValueError):  # what cannot be a path is refused where it is opened
        return False
