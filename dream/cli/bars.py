"""dream bars: look at, import and make bar series."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dream.cli import imports
from dream.cli.words import bar_file, many, printable
from dream.errors import InputError

if TYPE_CHECKING:
    from dream.bars.overview import Overview

app = typer.Typer(name="bars", help="Look at, import and make bar series.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object.")]
Out = Annotated[Path, typer.Option("-o", "--out", help="Parquet file to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
From = Annotated[
    str | None,
    typer.Option("--from", help="Leave out bars that open before this date or instant (UTC)."),
]
To = Annotated[
    str | None,
    typer.Option("--to", help="Leave out bars that close after this date or instant (UTC)."),
]


@app.command()
def info(
    file: Annotated[Path, typer.Argument(help="Bar file, or an export whose stamps say UTC.")],
    from_: From = None,
    to: To = None,
    as_json: AsJson = False,
) -> None:
    """Show what a bar file holds; every row is checked first.

    Example: dream bars info gold.parquet
    """
    from dream.bars import store
    from dream.bars.chart import chart
    from dream.bars.clock import clocks
    from dream.bars.overview import overview

    start, end = (None if text is None else clocks.parse_instant(text) for text in (from_, to))
    bars = store.read(bar_file(file), from_ns=start, to_ns=end)
    seen = overview(bars)
    record: dict[str, Any] = {
        "file": str(file),
        "symbol": bars.instrument.symbol,
        "tick": bars.instrument.tick,
        "source_clock": store.source_clock(file),
        "bars": seen.bars,
        "bar_minutes": seen.bar_min,
        "from": clocks.iso(seen.from_ns),
        "to": clocks.iso(seen.to_ns),
        "days": seen.days,
        "full_days": seen.full_days,
        "half_days": seen.half_days,
        "missing_bars": seen.missing_bars,
        "closed_hour_bars": seen.closed_hour_bars,
        "low": _price(seen.low),
        "high": _price(seen.high),
        "spread": None if seen.spread is None else _spread(seen.spread),
        "atr_m5": bars.atr_m5 is not None,
        "provenance": list(store.provenance(file)),
        "content_hash": seen.content_hash,
    }
    if as_json:
        typer.echo(json.dumps(record, allow_nan=False))
        return
    spread = (
        "unknown"
        if seen.spread is None
        else "{q05} / {q50} / {q95} / {max}".format(**record["spread"])
    )
    doubt = ": is the clock of the stamps right?" if seen.closed_hour_bars else ""
    _show(
        ("file", file),
        ("instrument", f"{record['symbol']}, tick {record['tick']:g}"),
        ("bars", f"{seen.bars:,} of {many(seen.bar_min, 'minute')}"),
        ("range", f"{record['from']} to {record['to']}"),
        ("source clock", record["source_clock"]),
        ("trading days", _days(seen)),
        ("missing", f"{many(seen.missing_bars, 'bar')} inside trading days"),
        (
            "closed hour",
            f"{many(seen.closed_hour_bars, 'bar')} between 17:00 and 18:00 New York{doubt}",
        ),
        ("price", f"{record['low']} to {record['high']}"),
        ("spread", f"{spread} (5 %, median, 95 %, largest)" if seen.spread else spread),
        *(("from export", _origin(origin)) for origin in record["provenance"]),
        ("content hash", seen.content_hash),
    )
    typer.echo(f"\n{_printable(chart(bars))}")


def _printable(text: str) -> str:
    """The chart as a terminal can show it; one that is not UTF-8 gets plain characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(str.maketrans("█▓▒·", "#=-."))
    return text


def _origin(origin: dict[str, Any]) -> str:
    """An export that bars came from; the text was in a file and may hold anything."""
    words = [origin.get(name, "?") for name in ("source", "format", "clock", "rows_kept")]
    source, form, clock, rows = (str(word)[:80] for word in words)
    text = f"{source} ({form}, clock {clock}), {rows} rows"
    return printable(text)


app.command("import")(imports.import_)
app.command("check")(imports.check)


@app.command()
def resample(
    file: Annotated[Path, typer.Argument(help="Bar file, or an export whose stamps say UTC.")],
    to: Annotated[Literal["M5", "M15", "M30", "H1", "H4", "D1"], typer.Option(help="Length.")],
    out: Out,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make longer bars on the trading clock (New York + 7 h).

    Bars made of M1 or M5 bars carry the ATR(14, M5) that the strategies' stops are measured by.

    Example: dream bars resample m5.parquet --to M15 -o m15.parquet
    """
    from dream.bars import content_hash, ingest, store
    from dream.bars import resample as longer
    from dream.bars.clock import clocks

    if ingest.same_file(file, out):
        raise InputError(f"{out} is the source itself; give another output")
    bars = store.read(bar_file(file))
    made = longer.resample(bars, longer.PERIODS[to])
    store.write(
        made.bars, bar_file(out), source_clock=store.source_clock(file),
        provenance=store.provenance(file), force=force,
    )  # fmt: skip
    left = made.partial
    record = {
        "file": str(out),
        "bars_read": len(bars),
        "bars": len(made.bars),
        "bar_minutes": longer.PERIODS[to],
        "from": clocks.iso(int(made.bars.t_close_ns[0]) - made.bars.bar_ns),
        "to": clocks.iso(int(made.bars.t_close_ns[-1])),
        "left_out_at_the_begin": left.head,
        "left_out_at_the_end": left.tail,
        "bars_with_holes": len(left.holed),
        "missing_inside": left.missing,
        "atr_m5": made.bars.atr_m5 is not None,
        "content_hash": content_hash(made.bars),
    }
    if as_json:
        typer.echo(json.dumps(record, allow_nan=False))
        return
    average = "ATR(14, M5) of the bars inside" if record["atr_m5"] else "none: bars are not M5"
    _show(
        ("bars", f"{len(made.bars):,} of {to}, made of {len(bars):,}"),
        ("range", f"{record['from']} to {record['to']}"),
        (
            "left out",
            f"{left.head:,} at the begin and {left.tail:,} at the end, of cut periods",
        ),
        ("missing", f"{left.missing:,} shorter bars, in {many(len(left.holed), 'bar')}"),
        ("M5 average", average),
        ("written", out),
    )


@app.command()
def synth(
    out: Out,
    bars: Annotated[int, typer.Option(help="How many 15-minute bars.")] = 50_802,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bars.")] = 0,
    from_: Annotated[
        str | None, typer.Option("--from", help="No bar opens before this date or instant (UTC).")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make bars that behave like gold.

    Example: dream bars synth -o made-up.parquet --bars 50802 --seed 1
    """
    from dream.bars import content_hash, store
    from dream.bars import synth as generator
    from dream.bars.clock import clocks

    start_ns = generator.START_NS if from_ is None else clocks.parse_instant(from_)
    made = generator.make(bars, seed, start_ns=start_ns)
    store.write(made, bar_file(out), source_clock="utc", force=force)
    record = {
        "file": str(out),
        "bars": len(made),
        "seed": seed,
        "from": clocks.iso(int(made.t_close_ns[0]) - made.bar_ns),
        "to": clocks.iso(int(made.t_close_ns[-1])),
        "content_hash": content_hash(made),
    }
    if as_json:
        typer.echo(json.dumps(record, allow_nan=False))
        return
    _show(
        ("bars", f"{len(made):,} made with seed {seed}"),
        ("range", f"{record['from']} to {record['to']}"),
        ("content hash", record["content_hash"]),
        ("written", out),
    )


def _days(seen: Overview) -> str:
    """Each day once: complete, closed early as before a holiday, or lacking bars otherwise."""
    lacking = seen.days - seen.full_days - seen.half_days
    return (
        f"{seen.days:,}: {seen.full_days:,} complete, {seen.half_days:,} with an early close, "
        f"{lacking:,} with bars missing or at an end of the series"
    )


def _price(value: float) -> float:
    """A price without the last bits of a float product."""
    return float(f"{value:.10g}")


def _spread(values: tuple[float, ...]) -> dict[str, float]:
    return dict(zip(("q05", "q50", "q95", "max"), map(_price, values), strict=True))


def _show(*lines: tuple[str, object]) -> None:
    for name, value in lines:
        typer.echo(f"{name:<14}{value}")
