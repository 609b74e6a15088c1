"""dream bars import and check: any export, read and checked."""

from __future__ import annotations

import json
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dream.cli.words import bar_file, many, printable
from dream.errors import BarsInvalid, SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Generator

    from dream.bars.checks.faults import Policy
    from dream.bars.checks.report import Report
    from dream.bars.importers.sheet import Hints
    from dream.bars.reading import Reading
    from dream.types import Bars

Source = Annotated[
    Path,
    typer.Argument(
        help="Export of MetaTrader 4 or 5, Dukascopy, HistData, TradingView, Yahoo, investing.com,"
        " or any CSV or Parquet file of bars; also as .zip or .gz."
    ),
]
Clock = Annotated[
    str | None,
    typer.Option(
        help="Clock of the stamps: utc, fixed:+03:00, ny+7, eet-eu, eet-us, london-5, a zone such"
        " as Europe/London, or RULE,RULE@DATE where it changes. Needed where the file does not say."
    ),
]
On = Annotated[
    list[str] | None,
    typer.Option("--on", metavar="FAULT=ACTION", help="What is done about a fault; repeatable."),
]
Rounding = Annotated[
    bool, typer.Option("--round", help="Round prices to the tick, as --on off_tick=round does.")
]
Tick = Annotated[float, typer.Option(help="Smallest price step.")]
Symbol = Annotated[str, typer.Option(help="What the prices are of.")]
Unit = Annotated[
    Literal["price", "ticks", "points"] | None,
    typer.Option(help="Unit of the spread column; by default what the format says."),
]
Point = Annotated[
    float | None,
    typer.Option(help="Price of one point of the spread; by default the last decimal of prices."),
]
Column = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=NAME", help="Column of timestamp, open, ... by name or number; repeatable."
    ),
]
DayFirst = Annotated[
    bool | None,
    typer.Option("--day-first/--month-first", help="Order in dates such as 01/02/2024."),
]
Divisor = Annotated[
    int | None, typer.Option(help="Stored integers per unit of currency, such as 100 for cents.")
]
Reference = Annotated[
    Path | None, typer.Option(help="Known bars of the same market, to measure the shift against.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object.")]


def import_(
    *,
    source: Source,
    out: Annotated[Path, typer.Option("-o", "--out", help="Parquet file to write.")],
    clock: Clock = None,
    on: On = None,
    rounding: Rounding = False,
    tick: Tick = 0.01,
    symbol: Symbol = "XAUUSD",
    spread_unit: Unit = None,
    point: Point = None,
    column: Column = None,
    day_first: DayFirst = None,
    price_divisor: Divisor = None,
    reference: Reference = None,
    append: Annotated[
        bool, typer.Option("--append", help="Add the newer bars to the series in OUT.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read an export, check it, and write it as bars.

    Every fault is counted; one that is refused stops the import, and then nothing is written.

    Example: dream bars import XAUUSD_M15.csv --clock eet-eu -o gold.parquet
    """
    from dream.bars import ingest
    from dream.bars.clock.clocks import iso

    reading = _reading(
        {"symbol": symbol, "tick": tick}, clock, _policy(on, rounding=rounding), spread_unit, point,
        _hints(column, day_first, price_divisor),
    )  # fmt: skip
    known, target = _known(reference), bar_file(out)
    added: dict[str, Any] = {}
    if append:
        with _leaving_nothing():
            report, done = ingest.extend(bar_file(source), target, reading, reference=known)
        added = {
            "added": done.added,
            "overlapped": done.overlapped,
            "earlier_left_out": done.earlier,
            "gaps": [[iso(gap.from_ns), iso(gap.to_ns), gap.trading_min] for gap in done.gaps],
            "notes_append": list(done.notes),
        }
    else:
        with _leaving_nothing():
            report = ingest.ingest(bar_file(source), target, reading, reference=known, force=force)
    if as_json:
        typer.echo(json.dumps(report.as_json() | {"file": str(out)} | added, allow_nan=False))
        return
    _print(report)
    if added:
        typer.echo(f"{'appended':<14}{many(added['added'], 'bar')}; {added['overlapped']:,} agreed")
        for start, end, minutes in added["gaps"]:
            typer.echo(f"{'gap':<14}{start} to {end}: {minutes / 60:,.0f} hours of trading")
        if added["earlier_left_out"]:
            early = many(added["earlier_left_out"], "bar")
            typer.echo(f"{'left out':<14}{early} from before the begin of the series")
        for note in added["notes_append"]:
            typer.echo(f"{'note':<14}{note}")
    typer.echo(f"{'written':<14}{out}")


def check(
    *,
    source: Source,
    clock: Clock = None,
    on: On = None,
    rounding: Rounding = False,
    tick: Tick = 0.01,
    symbol: Symbol = "XAUUSD",
    spread_unit: Unit = None,
    point: Point = None,
    column: Column = None,
    day_first: DayFirst = None,
    price_divisor: Divisor = None,
    reference: Reference = None,
    as_json: AsJson = False,
) -> None:
    """Say what an import of this file would find; nothing is written.

    Ends with 2 where an import would be refused.

    Example: dream bars check XAUUSD_M15.csv --clock eet-eu --reference gold.parquet
    """
    from dream.bars import ingest

    reading = _reading(
        {"symbol": symbol, "tick": tick}, clock, _policy(on, rounding=rounding), spread_unit, point,
        _hints(column, day_first, price_divisor),
    )  # fmt: skip
    with _leaving_nothing():
        report, _ = ingest.read(bar_file(source), reading, _known(reference))
    if as_json:
        typer.echo(json.dumps(report.as_json(), allow_nan=False))
    else:
        _print(report)
    if report.refused:
        names = [fault.kind for fault in report.refused]
        fits = report.clock.fitting if "clock" in names else ()
        hint = f"try --clock {fits[0]}" if fits else "mend the file, or see --on"
        typer.echo(f"An import is refused: {', '.join(names)}; {hint}.", err=True)
        raise typer.Exit(BarsInvalid.exit_code)


@contextmanager
def _leaving_nothing() -> Generator[None]:
    """A request to end (SIGTERM) ends the block as an error does: temporary files are removed."""

    def leave(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    previous = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _reading(
    instrument: dict[str, Any],
    clock: str | None,
    policy: Policy,
    spread_unit: Any,
    point: float | None,
    hints: Hints,
) -> Reading:
    from dream.bars.reading import Reading
    from dream.runs.spec import check_instrument
    from dream.types import Instrument

    if point is not None and not 0 < point < 1_000:
        raise SpecInvalid(f"--point {point}: expected the price of one point, such as 0.01")
    made = check_instrument(Instrument(**instrument))
    return Reading(made, clock, policy, hints, spread_unit, point)


def _policy(on: list[str] | None, *, rounding: bool) -> Policy:
    from dream.bars.checks.faults import Policy

    chosen: dict[str, Any] = {"off_tick": "round"} if rounding else {}
    for text in on or []:
        kind, equals, action = text.partition("=")
        if not equals:
            raise SpecInvalid(f"--on takes FAULT=ACTION, found {text[:60]!r}")
        if chosen.get(kind, action) != action:
            raise SpecInvalid(f"--on {kind[:40]} is given twice, with different actions")
        chosen[kind] = action
    return Policy(chosen)


def _hints(column: list[str] | None, day_first: bool | None, divisor: int | None) -> Hints:
    from dream.bars.importers.sheet import ROLES, Hints

    columns: dict[str, str] = {}
    for text in column or []:
        role, equals, name = text.partition("=")
        if not equals or not name or role not in ROLES:
            raise SpecInvalid(
                f"--column takes ROLE=NAME, found {text[:60]!r}; roles: {', '.join(ROLES)}"
            )
        columns[role] = name
    if divisor is not None and not 1 <= divisor <= 1_000_000:
        raise SpecInvalid(f"--price-divisor {divisor}: expected 1 to 1,000,000, such as 100")
    return Hints(day_first, divisor, columns)


def _known(reference: Path | None) -> Bars | None:
    from dream.bars import store

    return None if reference is None else store.read(bar_file(reference))


def _print(report: Report) -> None:
    """The report as a trader reads it: what was read, the clock, every fault with what was done."""
    from dream.bars.checks.report import DONE, described
    from dream.bars.clock.clocks import iso
    from dream.types import MINUTE_NS

    clock, days = report.clock, report.days
    early = f"{report.full_days:,} complete, {report.half_days:,} with an early close"
    minutes = many(report.bar_ns // MINUTE_NS, "minute")
    lines = [
        ("format", report.format),
        ("clock", f"{clock.declared}; {clock.why}" if clock.why else clock.declared),
        ("rows", f"{report.rows_read:,} read, {report.rows_kept:,} kept"),
        ("bars", f"{minutes}, {iso(report.from_ns)} to {iso(report.to_ns)}"),
        ("prices", f"{report.symbol}, tick {report.tick:g}, {many(report.rounded, 'row')} rounded"),
        ("days", f"{days:,}: {early}; {report.closed_days:,} holidays without a bar"),
        *(("reference", text) for text in clock.shifts),
        *(("note", text) for text in report.notes),
        ("not used", ", ".join(report.unused) or "nothing: every column was read"),
    ]
    for name, value in lines:
        typer.echo(f"{name:<14}{printable(value)}")
    if not report.found:
        typer.echo(f"{'faults':<14}none")
        return
    typer.echo("faults")
    for fault in report.found:
        head = f"  {fault.kind:<14}{fault.count:>10,} {DONE[fault.action]:<15}"
        typer.echo(f"{head}{printable(described(fault))}")
        if fault.places:
            typer.echo(f"{'':<18}first: {printable(fault.places[0])}")
