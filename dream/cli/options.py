"""The options of `dream run`, which the table [run] of a file of settings has as well."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_MONEY, _PRICE = "account currency", "quote currency"
Model = Annotated[
    str,
    typer.Option(
        help="rules, never, random:P, scripted:FILE, a model (dream models), or module:function."
    ),
]
Decisions = Annotated[int, typer.Option(help="End the run at this many decisions.")]
Bars = Annotated[
    str | None,
    typer.Option(help="Parquet or CSV file of bars; without it, synthetic bars are made once."),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        envvar="DREAM_FROM",
        help="Leave out bars that open before this date or instant (UTC).",
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        envvar="DREAM_TO",
        help="Leave out bars that close after this date or instant (UTC).",
    ),
]
Memory = Annotated[str, typer.Option(help="none, similarity, hybrid, or module:function.")]
Ask = Annotated[str, typer.Option(help="When to ask: bar, every:N or setup.")]
Manage = Annotated[
    bool, typer.Option("--manage", help="Also ask at every bar while a position is open.")
]
Context = Annotated[
    str, typer.Option(help="Bars shown: window (the last 20), or day (the trading day so far).")
]
Prompt = Annotated[str, typer.Option(help="Prompt template of a model: v1, or module:name.")]
Strategies = Annotated[
    str, typer.Option(help="Comma-separated names or module:function, in board order.")
]
Autonomy = Annotated[
    str, typer.Option(help="free, or filter to accept entries of live set-ups only.")
]
Shorts = Annotated[bool, typer.Option("--shorts/--no-shorts", help="Allow SELL.")]
Equity = Annotated[float, typer.Option(help=f"Starting money, {_MONEY}.")]
Risk = Annotated[float, typer.Option(help="Share of equity at risk per trade; 0.0025 is 0.25 %.")]
Spread = Annotated[float, typer.Option(help=f"Floor under the bars' own spread, {_PRICE}.")]
Slippage = Annotated[float, typer.Option(help=f"Against us on market and stop fills, {_PRICE}.")]
Commission = Annotated[float, typer.Option(help=f"Per lot and side, {_MONEY}.")]
Swap = Annotated[
    float, typer.Option(help=f"Per lot and change of trading day, {_MONEY}; negative costs.")
]
Intrabar = Annotated[
    str, typer.Option(help="A bar reaches both levels: stop_first, target_first or nearer_first.")
]
MaxGap = Annotated[
    float | None, typer.Option(help="Refuse a fill more than this many minutes after the decision.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        envvar="DREAM_SET",
        help="Any other setting: VolBreakout.range_atr=0.4, memory.k=3, instrument.lot_step=0.01.",
    ),
]
Seed = Annotated[int, typer.Option(help="Of everything that is drawn.")]
OnError = Annotated[
    str, typer.Option(help="A call that keeps failing: stop the run (it can be resumed) or hold.")
]
BaseUrl = Annotated[
    str | None, typer.Option(help="Endpoint of the model instead of the catalogue's.")
]
Money = Annotated[
    float | None,
    typer.Option(
        help="Stop before the calls of this run, also of earlier days, could pass it; US dollars."
    ),
]
Timeout = Annotated[float, typer.Option(help="Seconds after which one call to a model has failed.")]
LocalThreads = Annotated[
    int, typer.Option(min=1, max=64, help="Processor threads of the model local.")
]
Sync = Annotated[str, typer.Option(help="batch, or each to write every line through to the disk.")]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", show_envvar=False, help="Start another run although this one exists."),
]
Reuse = Annotated[
    bool,
    typer.Option(
        "--reuse-answers",
        help="Take answers to equal requests from the other runs of the folder, free of cost.",
    ),
]
Repeats = Annotated[
    int | None,
    typer.Option(min=1, max=1_000, help="Make the run so many times, beside each other."),
]
AtOnce = Annotated[
    int, typer.Option(min=1, max=256, help="Runs, and calls of one model, at the same time.")
]
Runs = Annotated[Path, typer.Option(help="Folder that holds the run folders.")]
AsJson = Annotated[
    bool, typer.Option("--json", envvar="DREAM_JSON", help="Print exactly one JSON object.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress bar.")]
