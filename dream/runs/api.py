"""Run, resume and replay from Python; the command line is a thin face of this."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal, cast, get_args

from pydantic import ValidationError

from dream.engine.session import Session
from dream.errors import (
    BarsInvalid,
    InputError,
    JournalUnwritable,
    SchemaUnknown,
)
from dream.llm import catalog
from dream.memory.episodes import Memory
from dream.reports.metrics import RunFacts, summarise
from dream.runs import assemble, drive, episodes, folders, handed, notes, state, summaries
from dream.runs.access import Access
from dream.runs.budget import Attempts
from dream.runs.costs import cost_of
from dream.runs.journal import EndOfRecord, Journal, Sync, read_records
from dream.runs.records import OpenedRecord, TradeRecord, trade_of
from dream.runs.reuse import PaidAnswers
from dream.runs.spec import RunSpec
from dream.runs.spending import spent_usd
from dream.runs.stores import JOURNAL, drop_empty
from dream.strategies import asks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dream.reports.metrics import Summary, UsdSums
    from dream.runs.assemble import AnyDecider, Parts
    from dream.runs.handed import Answers
    from dream.types import AskingDecider, RecallFn, RunTable, Trade

_OUTSIDE = ("script", "decider", "recall_fn")
"""What a replay does not need: answers are recorded, and what is recalled is compared."""


@dataclass(frozen=True, slots=True)
class Options:
    """What cannot change a result.

    Attributes:
        folder: where run folders are kept.
        sync: `each` writes every line through to the disk, `batch` only paid replies.
        fresh: start another run although this one exists.
        reuse_answers: take the answer to a request that another run of the folder has asked before.
        access: how models are reached. watch: who is told, and who may stop it.
    """

    folder: Path = Path("runs")
    sync: Literal["each", "batch"] = "batch"
    fresh: bool = False
    reuse_answers: bool = False
    access: Access = field(default_factory=Access)
    watch: drive.Watch = field(default_factory=drive.Watch)


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run.

    Attributes:
        folder: where its journal is. summary: what `dream run --json` prints.
        already_done: it had been finished before, and nothing was done now.
        notes: what the user should know, such as a torn line that was set aside.
    """

    folder: Path
    summary: Summary
    already_done: bool = False
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Name of the run and of its folder."""
        return self.folder.name

    @property
    def digest(self) -> str:
        """Hash of all decisions, orders and trades: equal runs have equal digests."""
        return self.summary["digest"]

    @property
    def trades(self) -> tuple[Trade, ...]:
        """The closed trades, read from the journal."""
        records = read_records(self.folder)
        return tuple(trade_of(r) for r in records if isinstance(r, TradeRecord))


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay found: every line came out again, byte for byte."""

    decisions: int
    complete: bool
    digest: str
    wall_s: float
    table: RunTable | None


def run(
    spec: RunSpec,
    *,
    decider: AnyDecider | Answers | None = None,
    memory_recall_fn: RecallFn | None = None,
    options: Options | None = None,
) -> Run:
    """Run, or go on with, the run that `spec` describes; a finished one is only read.

    Args:
        spec: every setting that can change the result.
        decider: a decider object, or answers: a list, a generator or a function of the snapshot
            and the recalled episodes. None for the one that spec.model names.
        memory_recall_fn: called at every decision; None for the one that spec.memory names.
        options: folder, durability, model access and progress.

    Raises:
        DreamError: as the tree in dream.errors says.
        Stopped: the watch asked to stop; the same call goes on.
    """
    options = Options() if options is None else options
    handed.expect("spec", spec, RunSpec, "what make_spec returns")
    runs = _checked(options)
    spec = handed.named(spec, decider, memory_recall_fn, options.access.own)
    parts = assemble.assemble(spec, memory_recall_fn)
    parts.hashes.update(handed.content_hashes(decider, memory_recall_fn))
    told = tuple(dict.fromkeys((*parts.notes, *state.notes(decider))))
    folder = folders.folder_of(parts, runs, fresh=options.fresh)
    live = handed.as_decider(decider, spec.model)
    endpoint = assemble.endpoint(spec, options.access)
    endpoint_id = assemble.endpoint_id(spec, options.access)
    if folders.is_finished(folder, parts):
        with Journal.read(folder) as journal:
            noted = notes.other_endpoint(journal, endpoint)
        done = _finished(folder, parts, (live, memory_recall_fn), options.access.own)
        return replace(done, notes=(*told, *noted, *done.notes))
    started = perf_counter()
    attempts = Attempts(folder, options.access.budget)
    with ExitStack() as held:
        held.callback(drop_empty, folder)
        # What can be wrong with what was given is found before a folder is made.
        live = live or assemble.live_decider(parts, options.access, attempts, held)
        session = _session(parts)
        journal = held.enter_context(Journal.open(folder, sync=options.sync))
        held.callback(attempts.close)
        noted = (*told, *notes.other_endpoint(journal, endpoint), *notes.of_resume(journal))
        _tell_estimate(session, live, journal.recorded, parts.spec.model, options.access)
        loop = _loop(parts, session, live, journal, options.watch)
        loop.foreign = assemble.is_foreign(spec)
        if options.reuse_answers and assemble.is_model(spec.model):
            loop.answers = PaidAnswers(runs, folder, spec.repeat, endpoint_id)
            noted = (*noted, *loop.answers.notes())
        journal.emit(
            _opened(parts, live),
            meta={
                "versions": notes.versions(),
                "at": options.watch.now_iso(),
                "endpoint": endpoint,
                "endpoint_id": endpoint_id,
            },
        )
        table = drive.table(loop, loop.run())
    summary = _summarise(folder, parts, table, perf_counter() - started, options.access.own)
    return Run(folder, summary, notes=(*noted, *_cache_notes(summary)))


def _checked(options: Options) -> Path:
    """The folder of the runs, if every option is of its kind."""
    handed.expect("options", options, Options, "dream.Options")
    handed.expect("options.access", options.access, Access, "dream.runs.access.Access")
    handed.expect("options.watch", options.watch, drive.Watch, "dream.runs.drive.Watch")
    if options.sync not in get_args(Sync):
        raise InputError(f"sync: expected each or batch, found {options.sync!r}")
    return handed.path_of("options.folder", options.folder)


def replay(
    folder: Path,
    *,
    bars: str | None = None,
    decider: AnyDecider | Answers | None = None,
    memory_recall_fn: RecallFn | None = None,
    watch: drive.Watch | None = None,
) -> Replayed:
    """Derive every line of a journal again from bars and recorded replies; nothing is sent.

    Args:
        folder: of the run.
        bars: where the bars are now, if not where the spec says.
        decider: the decider object that the run was given, if it was given one.
        memory_recall_fn: the function that the run was given, if it was given one.
        watch: told of every decision.

    Raises:
        Diverged: at the first line that comes out differently.
        InputError: the bars or the prompt are not those of the run.
    """
    started, folder = perf_counter(), handed.path_of("folder", folder)
    bars = None if bars is None else str(handed.path_of("bars", bars))
    watch = drive.Watch() if watch is None else watch
    handed.expect("watch", watch, drive.Watch, "dream.runs.drive.Watch")
    handed.check(decider, memory_recall_fn)
    with Journal.read(folder) as journal:
        if journal.opened is None:
            raise InputError(f"{folder}: the journal is empty; there is nothing to replay")
        spec = _recorded_spec(journal.opened, folder)
        if bars is None and not Path(spec.bars).exists():
            raise InputError(
                f"{folder}: the bars of the run, {spec.bars}, are not there; say where they are "
                f"now with --bars (bars= in Python)"
            )
        parts = assemble.assemble(spec, memory_recall_fn, bars)
        folders.same_content(journal.opened, parts, but=_OUTSIDE)
        asked = handed.as_decider(decider, parts.spec.model) or assemble.replay_decider(parts)
        loop = _loop(parts, _session(parts), asked, journal, watch)
        loop.foreign = decider is not None or assemble.own_prompt(spec)
        journal.emit(_opened(parts, asked, journal.opened.hashes))
        table = None
        with suppress(EndOfRecord):  # an unfinished run: what it has, came out again
            table = drive.table(loop, loop.run())
        return Replayed(
            loop.tally.decisions, table is not None, journal.digest, perf_counter() - started, table
        )


def _tell_estimate(
    session: Session, live: AnyDecider, recorded: int, model: str, access: Access
) -> None:
    if access.on_estimate is None or access.now_ns is None or not assemble.is_model(model):
        return
    from dream.runs.estimate import estimate  # noqa: PLC0415 - only for models

    entry = catalog.resolve(model, access.own)
    asking = cast("AskingDecider", live)
    access.on_estimate(estimate(entry, asking, session.afresh(), recorded, access.now_ns()))


def _opened(
    parts: Parts, decider: AnyDecider, recorded: Mapping[str, str] | None = None
) -> OpenedRecord:
    """The first line; a replay takes the hashes of what it does not need from the record."""
    kept = {name: recorded[name] for name in _OUTSIDE if recorded and name in recorded}
    hashes = {**parts.hashes, **kept}
    in_order = {name: hashes[name] for name in recorded or hashes if name in hashes} | hashes
    return OpenedRecord(
        run_id=parts.spec.run_id(),
        spec=parts.spec.as_json(),
        hashes=in_order,
        system=getattr(decider, "system", None),
        strategies=tuple(parts.strategies),
    )


def _recorded_spec(opened: OpenedRecord, folder: Path) -> RunSpec:
    try:
        return RunSpec.model_validate(opened.spec)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise SchemaUnknown(
            f"{folder}: the recorded settings are not those of this version of dream: "
            f"{'.'.join(map(str, first['loc']))}: {first['msg']}. Use the version that wrote it"
        ) from None


def _session(parts: Parts) -> Session:
    """The session of a run, its strategies checked.

    Raises:
        LeakError: a strategy uses later bars.
        InputError: there is no such ask policy, or there are too few bars.
    """
    spec = parts.spec
    session = Session(
        parts.bars,
        parts.strategies,
        spec.terms,
        asks=asks.policy(spec.ask, spec.manage),
        limit=spec.decisions,
        seed=spec.seed,
    )
    if spec.context == "day":
        session.show_day()
    if session.first >= len(parts.bars):
        raise BarsInvalid(
            f"{spec.bars}: {len(parts.bars)} bars are too few; every value that an agent is shown "
            f"exists after 34 completed trading days (about 3,130 M15 bars). Use a longer series"
        )
    return session


def _loop(
    parts: Parts, session: Session, decider: AnyDecider, journal: Journal, watch: drive.Watch
) -> drive.Loop:
    spec = parts.spec
    queries = drive.Queries(parts.recall, spec.memory, parts.k, spec.seed)
    identity = episodes.Identity(spec.run_id(), spec.settings_hash())
    return drive.Loop(session, Memory(), queries, decider, journal, identity, watch)


def _finished(
    folder: Path,
    parts: Parts,
    given: tuple[AnyDecider | None, RecallFn | None],
    own: catalog.Own,
) -> Run:
    """A run that was finished before: its summary is read, or made again by a replay."""
    summary, noted = summaries.kept(folder), ()
    if summary is None:
        replayed = replay(folder, decider=given[0], memory_recall_fn=given[1])
        assert replayed.table is not None, "a closed journal replays to its end"
        facts = _facts(folder, parts, replayed.wall_s, replayed.table, own)
        summary = summarise(replayed.table, facts)
        try:
            summaries.keep(folder, summary)
        except JournalUnwritable as error:  # on a medium that is only read; there is the result
            reason = getattr(error.__cause__, "strerror", None) or error
            told = f"the summary was derived again and could not be kept in {folder}: {reason}"
            noted = (f"{told}; the run is finished and this is its result",)
    # The folder may lie elsewhere now, or be named from elsewhere.
    summary = cast("Summary", {**summary, "run_id": folder.name, "journal": str(folder / JOURNAL)})
    return Run(folder, summary, already_done=True, notes=(*noted, *_cache_notes(summary)))


def _summarise(
    folder: Path, parts: Parts, table: RunTable, wall_s: float, own: catalog.Own
) -> Summary:
    summary = summarise(table, _facts(folder, parts, wall_s, table, own))
    summaries.keep(folder, summary)
    return summary


def _cache_notes(summary: Summary) -> tuple[str, ...]:
    return () if summary["cache_note"] is None else (summary["cache_note"],)


def _facts(
    folder: Path, parts: Parts, wall_s: float, table: RunTable, own: catalog.Own
) -> RunFacts:
    paid = cost_of(folder, own) if table.replies else None
    usd = cast("UsdSums", paid.usd) if paid is not None and paid.cost_usd is not None else None
    return RunFacts(
        run_id=folder.name,
        journal=str(folder / JOURNAL),
        bars=parts.spec.bars,
        wall_s=round(wall_s, 3),
        terms=parts.spec.terms,
        spent_usd=spent_usd(folder),
        cache_note=assemble.cache_note(parts.spec, table),
        usd=usd,
        reused=0 if paid is None else paid.reused,
    )
