"""Land staged chunks in a table, in the order of docs/adr/0030, after finishing what was cut off (G4, G5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from time import monotonic

from hakiri.catalog.errors import CursorMoved, LandingHeld, LandingLost, SchemaMoved
from hakiri.errors import HookError
from hakiri.extract.transform.reshape import Reshape
from hakiri.land.delta.durable import make_durable
from hakiri.land.errors import NullKeys, StagedFileUnfit
from hakiri.land.lander import Landed, Outcome, check_landing, land, last_number
from hakiri.land.quarantine import land_quarantine
from hakiri.land.recipe import LandRequest
from hakiri.land.table_state import expected_landing
from hakiri.land.target import quarantine_of, tombstones_of
from hakiri.land.tombstones import land_tombstones
from hakiri.model.chunk import ChunkKey, ChunkState, ChunkStatus, TableKey, Window
from hakiri.model.columns.renames import outdated
from hakiri.model.crash_points import Boundary, passing
from hakiri.model.ledger import Cursor, Landing, LineageEdge, SchemaVersion, Snapshot
from hakiri.model.ledger_state import LedgerState
from hakiri.model.source import CursorKind
from hakiri.model.staged import Content, StagedChunk, Tally
from hakiri.model.types import Struct
from hakiri.plan.batch import exchanges, next_batch
from hakiri.plan.overlap import overlapping
from hakiri.plan.rounds import TOKEN_KINDS, History, cursor_after
from hakiri.run import events
from hakiri.run.context import RunContext
from hakiri.run.facts import history_of
from hakiri.run.hooks import TableHooks
from hakiri.run.land_options import LandOptions
from hakiri.run.observe import ObservedChunk
from hakiri.run.schema_history import SchemaDecision
from hakiri.spec.pipeline import SchemaPolicy, TableSpec
from hakiri.stage.errors import StagedUnfit
from hakiri.stage.manifest import fingerprint, read_manifest, sidecar_of
from hakiri.stage.seal import verify

_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class TableLanding:
    """One landing that this run has finished."""

    table: TableKey
    name: str
    """The table's name in the lakehouse."""
    number: int
    landed: Landed


class TableLander:
    """Lands one table's chunks, one landing after the other."""

    def __init__(
        self,
        context: RunContext,
        table: TableSpec,
        *,
        hooks: TableHooks,
        key: tuple[str, ...] = (),
        kind: CursorKind = CursorKind.MONOTONIC,
        accepts_loss: bool = False,
        reshape: Reshape | None = None,
        dropped: tuple[str, ...] = (),
        in_order: bool = False,
    ) -> None:
        """`key` is the table's primary key as it lands, `kind` how the source is walked.

        `accepts_loss`: whether rows the table has lost are no reason to stop, because all of them are read anew.
        `dropped`: the table's columns that the source no longer has. `in_order`: whether chunks land in the order of
        reading, because nothing else tells which of two rows with one key is newer.
        """
        self.hooks = hooks
        self._context = context
        self._catalog = context.services.catalog
        self.table = table.name
        self._key = TableKey(context.spec.id, table.name)
        self._name = context.spec.landed_name(table)
        self._terms = LandOptions(context.spec, table, key, kind, reshape)
        self._accepts_loss = accepts_loss
        self._dropped = dropped
        self._in_order = in_order
        self._place = context.services.place(context.spec, table)
        self.has_reread = False

    def land(self, *, is_last: bool, fresh: frozenset[ChunkKey] = frozenset()) -> list[TableLanding]:
        """Land what is staged in as few commits as possible; unless `is_last`, only if it is worth one.

        Chunks named as `fresh` were staged by this run: their files are not compared with their seals again.
        Raises LandError, StagedUnfit and CatalogError. A repeat lands what has come since.
        """
        done: list[TableLanding] = []
        while found := self._context.with_retries("look for a landing", lambda: self._next(is_last=is_last)):
            landing, state = found
            states = chain((state,), iter(self._state, None))  # a retry looks at what the failed try has recorded
            started = monotonic()
            self.hooks.before(landing)
            try:
                landed = self._context.with_retries(
                    f"landing of {self._name}", partial(self._try, landing, states, fresh)
                )
            except LandingLost:
                continue  # another worker has taken it over
            if isinstance(landed, HookError):
                raise landed
            if landed is not None:
                seconds = monotonic() - started
                self._tell(landing, landed.outcome, landed.tally, landed.version, landed.unmarked, seconds)
                done.append(TableLanding(self._key, self._name, landing.number, landed))
        return done

    def settle(self) -> None:
        """Record what a worker that was cut off after its last landing left unrecorded. A repeat changes nothing."""
        state = self._state()
        if not state.landings:
            return
        last = state.landings[-1]
        if self._catalog.snapshot(self._key, landing=last.number) is None:
            states = self._states(last.chunks)
            # A landing that was restored from the table's log may have no chunks in the catalog.
            if len(states) == len(last.chunks):
                self._snapshot(last, self._staged_of(last, states, frozenset(last.chunks)))
        if last.chunks:  # a landing without chunks, as of a handover, moves no cursor
            self._advance(last, state.cursor)

    def count_stuck(self) -> int:
        """Count the chunks that are staged and cannot land, because others of their round are missing."""
        state = self._state()
        return 0 if state.reserved or self._batch(state, is_last=True) else len(state.staged)

    def _state(self) -> LedgerState:
        return self._catalog.table_state(self._key)

    def _next(self, *, is_last: bool) -> tuple[Landing, LedgerState] | None:
        """Reserve the landing to carry out now, or take over the one that was left open; None if there is neither.

        Returns with it what the catalog knows of the table.
        """
        while True:
            state = self._state()
            batch = () if state.reserved else self._batch(state, is_last=is_last)
            if not state.reserved and not batch:
                return None
            chunks = [one.chunk.key for one in batch]
            try:
                landing = self._reserve(chunks, state, self._cursor_with(state, chunks))
            except (LandingHeld, LandingLost):
                # Another worker is landing this table: look again after it for what it has left.
                if self._context.stop.wait(_POLL_SECONDS, self._context.services.clock):
                    return None
                continue
            passing(Boundary.LANDING_RESERVED)
            self._context.journal.record(
                events.LandingReserved(table=self._key.table, number=landing.number, chunks=len(landing.chunks))
            )
            # Another worker's landing may have come in between.
            is_expected = landing.number == (state.number if state.reserved else state.number + 1)
            return landing, state if is_expected else self._state()

    def _batch(self, state: LedgerState, *, is_last: bool) -> tuple[ChunkState, ...]:
        staged = state.staged
        size = sum(state.seal.bytes for state in staged if state.seal)
        if not staged or (not is_last and size < self._context.services.worth_bytes):
            return ()
        return next_batch(
            history_of(self._catalog, state),
            staged,
            replaces_table=self._terms.replaces_table,
            tells_versions=self._terms.tells_versions,
            lands_whole=self._terms.load.lands_whole,
            in_order=self._in_order,
        )

    def _reserve(self, chunks: Sequence[ChunkKey], state: LedgerState, cursor: str) -> Landing:
        services = self._context.services
        holder = state.reserved.holder if state.reserved else ""
        is_ours = holder.partition("#")[0] == str(services.node)  # left behind by an earlier try of this process
        return self._catalog.reserve_landing(
            self._key,
            chunks,
            node=str(services.node),
            cursor=cursor,
            lease_seconds=services.lease_seconds,
            dead_holder=holder if is_ours or services.node.knows_dead(holder) else "",
        )

    def _cursor_with(self, state: LedgerState, chunks: Sequence[ChunkKey]) -> str:
        """Return the cursor to store once these chunks have landed, too."""
        current, history = state.cursor.value if state.cursor else "", History.recent(state)
        if self._terms.kind in TOKEN_KINDS:
            history = history.with_round(self._catalog.chunks_of_round(self._key, history.last_round))
        return cursor_after(self._terms.kind, history.after_landing(chunks), current)

    def _try(
        self, landing: Landing, states: Iterator[LedgerState], fresh: frozenset[ChunkKey]
    ) -> Landed | HookError | None:
        """Carry the landing out. Returns None if its chunks, or all files, have to be read again first."""
        try:
            return self._carry_out(landing, next(states), fresh)
        except HookError as refused:
            return refused  # the hook has had all its attempts, so do not try the landing again
        except (StagedUnfit, StagedFileUnfit) as unfit:
            self._read_again(landing, unfit)
            return None
        except NullKeys as nulls:
            # Staged before the manifest asked to quarantine such rows, which happens while they are read.
            if not self._terms.load.quarantines_null_keys:
                raise
            self._release(landing, landing.chunks, nulls.message())
            return None

    def _carry_out(self, landing: Landing, state: LedgerState, fresh: frozenset[ChunkKey]) -> Landed | None:
        states = self._states(landing.chunks, state)
        staged = self._staged_of(landing, states, fresh)
        request = self._request(landing, state, [states[key] for key in landing.chunks], staged)
        if self._has_hole(request, states.values()):
            return self._leave_as_it_is(landing, request, state, staged)
        check_landing(request, self._context.spark)  # before quarantined rows are written
        aside = land_quarantine(request, self._context.spark, target=self._place.quarantine)
        if aside is not None:
            make_durable(quarantine_of(self._place.target, self._place.quarantine), aside.version)
        ended = land_tombstones(request, self._context.spark)
        if ended is not None:
            make_durable(tombstones_of(self._place.target), ended.version, since=ended.since)
        landed = land(request, self._context.spark, trial=partial(self.hooks.on_build, landing))
        # Including what a landing commits before its rows: properties, wider columns.
        make_durable(self._place.target, landed.version + landed.trailing, since=request.since)
        # Before the landing is finished: a replay would find it recorded, and nothing else looks for it later.
        self._note_schema(landed, staged, state.schema, is_exchange=request.replaces_table)
        self._record(landing, landed, state.cursor, staged)
        return landed

    def _has_hole(self, request: LandRequest, states: Iterable[ChunkState]) -> bool:
        """Return whether a file is missing from the rows to exchange the table for: the source has replaced it."""
        return request.replaces_table and any(state.seal is not None and state.seal.is_replaced for state in states)

    def _leave_as_it_is(
        self, landing: Landing, request: LandRequest, state: LedgerState, staged: tuple[StagedChunk, ...]
    ) -> Landed | None:
        """End the landing without a row, because the next round reads all files again (G9); None without a table."""
        tally = request.tally
        left_out = replace(tally, staged=0, quarantined=0, filtered=tally.filtered + tally.staged + tally.quarantined)
        if request.carried is None:
            self._catalog.finish_landing(landing, version=None)
            self._tell(landing, Outcome.UNCHANGED, left_out, version=None)
            return None
        decided = SchemaDecision.of(state.schema)
        columns = decided.columns if decided else Struct(())
        landed = Landed(Outcome.UNCHANGED, request.carried.version, left_out, columns)
        self._record(landing, landed, state.cursor, staged)
        return landed

    def _request(
        self, landing: Landing, state: LedgerState, states: Sequence[ChunkState], staged: tuple[StagedChunk, ...]
    ) -> LandRequest:
        terms, history = self._terms, history_of(self._catalog, state)
        is_exchange = exchanges(history, states, replaces_table=terms.replaces_table)
        before = self._landings_before(landing, state)
        last = expected_landing(before)
        decided = SchemaDecision.of(state.schema)
        return LandRequest(
            project=self._context.services.project,
            landing=landing,
            carried=last,
            target=self._place.target,
            root=self._place.root,
            chunks=staged,
            mode=terms.load.mode_of_landing(is_exchange=is_exchange),
            key=terms.key(decided, is_exchange=is_exchange),
            cursor=terms.cursor,
            renamed=terms.table.renamed,
            watermark=terms.watermark,
            keeps_latest=is_exchange and terms.load.keeps_latest,
            mirror=terms.mirror(self._place, staged),
            layout=terms.layout,
            removes_overlap=last is not None and bool(overlapping((one.chunk for one in states), history)),
            repeats_last=is_exchange and last is not None and self._repeats(before[0], staged),
            accepted=terms.accepted(decided),
            shapes=decided.shapes if decided else (),
            is_strict=terms.spec.schema_policy is SchemaPolicy.STRICT,
            accepts_loss=self._accepts_loss or all(one.chunk.is_refresh for one in states),
        )

    def _landings_before(self, landing: Landing, state: LedgerState) -> tuple[Landing, ...]:
        """Return the last finished landings before this one: a retry may find this one finished, or a later one."""
        if all(one.number < landing.number for one in state.landings):
            return state.landings
        return self._catalog.last_landings(self._key, before=landing.number)

    def _read_again(self, landing: Landing, unfit: StagedUnfit | StagedFileUnfit) -> None:
        """Send chunks whose staged files are lost or damaged back to be read, if nothing of the landing was written.

        Raises the error if it is not known whether anything was written.
        """
        services = self._context.services
        number = last_number(services.project, landing, self._place.target, self._context.spark)
        is_unwritten = number is not None and number < landing.number
        states = self._states(landing.chunks)
        damaged = [key for key, state in states.items() if self._is_damaged(state)]
        if not is_unwritten or not damaged:
            raise unfit
        self._release(landing, damaged, unfit.message())

    def _release(self, landing: Landing, chunks: Sequence[ChunkKey], reason: str) -> None:
        """Abandon a landing that wrote nothing, and send these of its chunks back to be read."""
        states = self._states(chunks)
        self._catalog.abandon_landing(landing, reason)
        self._catalog.rewind(self._key, Window(), reason, statuses=[ChunkStatus.DONE], only=chunks)
        self.has_reread = True
        for key in chunks:
            ObservedChunk(self._context.journal, key, states[key].attempt).released(reason)

    def _is_damaged(self, state: ChunkState) -> bool:
        try:
            verify(self._place.files, self._manifest(state))
        except StagedUnfit:
            return True
        return False

    def _repeats(self, before: Landing, staged: tuple[StagedChunk, ...]) -> bool:
        """Whether the chunks hold exactly the rows that a landing before has brought, as far as that is known."""
        try:
            landed = [self._manifest(state) for state in self._states(before.chunks).values()]
        except (StagedUnfit, LandingLost):
            return False
        content = _content(landed)
        return content is not None and len(landed) == len(before.chunks) and content == _content(staged)

    def _states(self, chunks: Sequence[ChunkKey], state: LedgerState | None = None) -> dict[ChunkKey, ChunkState]:
        """Return the staged ones of these chunks by key, from the state if it has them all."""
        known = {one.chunk.key: one for one in state.open} if state else {}
        found = [known[key] for key in chunks if key in known]
        if len(found) < len(chunks):
            found = list(self._catalog.find_chunks(chunks))
        return {one.chunk.key: one for one in found if one.status in (ChunkStatus.DONE, ChunkStatus.SUPERSEDED)}

    def _staged_of(
        self, landing: Landing, states: Mapping[ChunkKey, ChunkState], fresh: frozenset[ChunkKey]
    ) -> tuple[StagedChunk, ...]:
        """Return the chunks of the landing as they were sealed. Raises StagedUnfit if one has changed since."""
        missing = [key for key in landing.chunks if key not in states]
        if missing:
            raise LandingLost(pipeline=self._key.pipeline, table=self._key.table, number=landing.number)
        staged = tuple(self._manifest(states[key]) for key in landing.chunks)
        for chunk in staged:
            if chunk.chunk not in fresh:
                verify(self._place.files, chunk)
        return staged

    def _manifest(self, state: ChunkState) -> StagedChunk:
        if state.seal is None:
            raise StagedUnfit(folder=state.chunk.key.chunk, path="", problem="missing")
        staged = read_manifest(self._place.files, state.seal.path)
        if fingerprint(staged) != state.seal.fingerprint:
            raise StagedUnfit(folder=staged.folder, path=f"{staged.folder}/", problem="wrong content")
        return staged

    def _record(self, landing: Landing, landed: Landed, cursor: Cursor | None, staged: tuple[StagedChunk, ...]) -> None:
        """Record landing, snapshot and lineage, and the cursor last (G5). `cursor` is the current one."""
        finished = self._catalog.finish_landing(landing, version=landed.version)
        passing(Boundary.LANDING_FINISHED)
        self._snapshot(finished, staged)
        runs = dict.fromkeys(chunk.run for chunk in staged)
        record = f"{self._name}@{landed.version}"
        self._catalog.append_lineage([LineageEdge(self._context.run, record, run, "landed") for run in runs])
        passing(Boundary.SNAPSHOT_RECORDED)
        self._advance(finished, cursor)
        passing(Boundary.CURSOR_MOVED)

    def _snapshot(self, landing: Landing, staged: tuple[StagedChunk, ...]) -> None:
        if landing.version is None:
            raise AssertionError("a finished landing has a version")
        sidecars = (sidecar_of(chunk) for chunk in staged)
        self._catalog.commit_snapshot(
            Snapshot(
                table=self._key,
                landing=landing.number,
                version=landing.version,
                runs=tuple(dict.fromkeys(chunk.run for chunk in staged)),
                sidecars=tuple(replace(one, path=f"{self._name}/{one.path}") for one in sidecars),
            )
        )

    def _note_schema(
        self, landed: Landed, staged: tuple[StagedChunk, ...], latest: SchemaVersion | None, *, is_exchange: bool
    ) -> None:
        last = SchemaDecision.of(latest)
        moved = outdated(last.columns.names, self._terms.table.renamed) if last else {}
        decision = SchemaDecision(
            columns=landed.schema,
            key=self._terms.key(last, is_exchange=is_exchange),
            accepted=self._terms.accepted(last),
            partition_by=landed.partition_by,
            renamed={new: old for old, new in moved.items()},
            dropped=tuple(name for name in self._dropped if landed.schema.find(name) is not None),
            shapes=self._terms.shapes(last, staged, is_exchange=is_exchange),
            transform=self._terms.transform(last, staged, is_exchange=is_exchange),
            older_transforms=self._terms.older_transforms(last, staged, is_exchange=is_exchange),
            mode=self._terms.load.mode.value,
            by=str(self._context.services.node),
            run=self._context.run,
            reason=_why(last, moved),
        )
        if last is not None and last.is_like(decision):
            return
        try:
            self._catalog.append_schema(self._key, decision.to_text(), after=latest.version if latest else 0)
        except SchemaMoved:
            moved_on = self._catalog.latest_schema(self._key)
            self._note_schema(landed, staged, moved_on, is_exchange=is_exchange)

    def _advance(self, landing: Landing, current: Cursor | None) -> None:
        before = current.value if current else ""
        if landing.cursor == before or (current and current.landing >= landing.number):
            return
        try:
            self._catalog.advance_cursor(self._key, landing.cursor, landing=landing.number)
        except CursorMoved:
            return  # a later landing has moved it on
        self._context.journal.record(events.CursorMoved(table=self._key.table, landing=landing.number))

    def _tell(
        self,
        landing: Landing,
        outcome: Outcome,
        tally: Tally,
        version: int | None,
        unmarked: int = 0,
        seconds: float = 0.0,
    ) -> None:
        self._context.journal.record(
            events.Landed(
                table=self._key.table,
                number=landing.number,
                version=version,
                outcome=outcome.value,
                chunks=len(landing.chunks),
                rows=tally.staged,
                deduplicated=tally.deduplicated,
                quarantined=tally.quarantined,
                filtered=tally.filtered,
                merged=tally.merged,
                added=tally.added,
                unmarked=unmarked,
                seconds=round(seconds, 3),
            )
        )


def _why(last: SchemaDecision | None, moved: Mapping[str, str]) -> str:
    """Return the reason to record for a schema other than the last one."""
    if last is None or not last.has_landed:
        return "first landing"
    return "renamed" if moved else "the source has changed"


def _content(chunks: Sequence[StagedChunk]) -> Content | None:
    total = Content()
    for chunk in chunks:
        if chunk.content is None:
            return None
        total += chunk.content
    return total
