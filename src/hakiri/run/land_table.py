"""Staged chunks become a table's rows in the order of docs/adr/0030; what was cut off is finished first (G4, G5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic

from hakiri.catalog.errors import CursorMoved, LandingHeld, LandingLost, SchemaMoved
from hakiri.errors import HookError
from hakiri.extract.transform.reshape import Reshape
from hakiri.land.delta.durable import make_durable
from hakiri.land.errors import NullKeys, StagedFileUnfit
from hakiri.land.lander import Landed, Outcome, check_landing, land, last_number
from hakiri.land.quarantine import land_quarantine
from hakiri.land.recipe import LandRequest
from hakiri.land.table_state import ExpectedLanding, expected_landing
from hakiri.land.target import quarantine_of, tombstones_of
from hakiri.land.tombstones import land_tombstones
from hakiri.model.chunk import ChunkKey, ChunkState, ChunkStatus, TableKey, Window
from hakiri.model.columns.renames import outdated
from hakiri.model.crash_points import Boundary, passing
from hakiri.model.ledger import Landing, LandingStatus, LineageEdge, Snapshot
from hakiri.model.source import CursorKind
from hakiri.model.staged import Content, StagedChunk, Tally
from hakiri.model.types import Struct
from hakiri.plan.batch import exchanges, next_batch
from hakiri.plan.overlap import overlapping
from hakiri.plan.rounds import History, cursor_after
from hakiri.run import events
from hakiri.run.context import RunContext
from hakiri.run.facts import history_of, landed_chunks
from hakiri.run.hooks import TableHooks
from hakiri.run.land_options import LandOptions
from hakiri.run.observe import ObservedChunk
from hakiri.run.schema_history import SchemaDecision, last_schema_decision
from hakiri.spec.pipeline import SchemaPolicy, TableSpec
from hakiri.stage.errors import StagedUnfit
from hakiri.stage.manifest import fingerprint, read_manifest, sidecar_of
from hakiri.stage.seal import verify

_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class TableLanding:
    """One landing that this run has seen through."""

    table: TableKey
    name: str
    """The table's name in the lakehouse."""
    number: int
    landed: Landed


class TableLander:
    """The landings of one table, one after the other."""

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
        """Land what is staged, in as few commits as it takes; with more on its way, only what is worth one.

        Chunks named as fresh were staged by this very run, a moment ago: their files are not read again to compare
        them with their seals. Raises LandError, StagedUnfit and CatalogError. A repeat lands what has come since.
        """
        done: list[TableLanding] = []
        while landing := self._context.with_retries("look for a landing", lambda: self._next(is_last=is_last)):
            started = monotonic()
            self.hooks.before(landing)
            try:
                landed = self._context.with_retries(f"landing of {self._name}", lambda: self._try(landing, fresh))
            except LandingLost:
                continue  # it was taken over, so it is in other hands
            if isinstance(landed, HookError):
                raise landed
            if landed is not None:
                seconds = monotonic() - started
                self._tell(landing, landed.outcome, landed.tally, landed.version, landed.unmarked, seconds)
                done.append(TableLanding(self._key, self._name, landing.number, landed))
        return done

    def settle(self) -> None:
        """Record what a worker that was cut off after its last landing left unrecorded. A repeat changes nothing."""
        finished = [one for one in self._catalog.landings(self._key) if one.status is LandingStatus.LANDED]
        if not finished or finished[-1].version is None:
            return
        last = finished[-1]
        if all(snapshot.landing != last.number for snapshot in self._catalog.snapshots(self._key)):
            states = self._states(last.chunks)
            # Of a landing that was restored from the table's log no more is known than that it happened.
            if len(states) == len(last.chunks):
                self._snapshot(last, self._staged_of(last, states, frozenset(last.chunks)))
        if last.chunks:  # a number that is spent and brought nothing tells nothing of the cursor
            self._advance(last)

    def count_stuck(self) -> int:
        """How many chunks are staged and cannot land, because others of their round are missing."""
        staged = self._catalog.staged(self._key)
        is_reserved = any(one.status is LandingStatus.RESERVED for one in self._catalog.landings(self._key))
        return 0 if is_reserved or self._batch(is_last=True) else len(staged)

    def _next(self, *, is_last: bool) -> Landing | None:
        """The landing to carry out now: one that was left open, else a new one, else none."""
        while True:
            with self._catalog.one_look():
                reserved = [one for one in self._catalog.landings(self._key) if one.status is LandingStatus.RESERVED]
                batch = () if reserved else self._batch(is_last=is_last)
                if not reserved and not batch:
                    return None
                chunks = [state.chunk.key for state in batch]
                cursor = self._cursor_with(chunks)
            try:
                landing = self._reserve(chunks, reserved[0].holder if reserved else "", cursor)
            except (LandingHeld, LandingLost):
                # Another worker is landing this table: what it does not land is looked at again after.
                if self._context.stop.wait(_POLL_SECONDS, self._context.services.clock):
                    return None
                continue
            passing(Boundary.LANDING_RESERVED)
            self._context.journal.record(
                events.LandingReserved(table=self._key.table, number=landing.number, chunks=len(landing.chunks))
            )
            return landing

    def _batch(self, *, is_last: bool) -> tuple[ChunkState, ...]:
        staged = self._catalog.staged(self._key)
        size = sum(state.seal.bytes for state in staged if state.seal)
        if not staged or (not is_last and size < self._context.services.worth_bytes):
            return ()
        return next_batch(
            self._history(),
            staged,
            replaces_table=self._terms.replaces_table,
            tells_versions=self._terms.tells_versions,
            lands_whole=self._terms.load.lands_whole,
            in_order=self._in_order,
        )

    def _history(self) -> History:
        return history_of(self._catalog, self._key)

    def _reserve(self, chunks: Sequence[ChunkKey], holder: str, cursor: str) -> Landing:
        services = self._context.services
        is_ours = holder.partition("#")[0] == str(services.node)  # left behind by an earlier try of this process
        return self._catalog.reserve_landing(
            self._key,
            chunks,
            node=str(services.node),
            cursor=cursor,
            lease_seconds=services.lease_seconds,
            dead_holder=holder if is_ours or services.node.knows_dead(holder) else "",
        )

    def _cursor_with(self, chunks: Sequence[ChunkKey]) -> str:
        """Where the cursor stands once these have landed, too."""
        current = self._catalog.cursor(self._key)
        landed = landed_chunks(self._catalog, self._key) | frozenset(chunks)
        return cursor_after(self._terms.kind, self._catalog.chunks(self._key), landed, current.value if current else "")

    def _try(self, landing: Landing, fresh: frozenset[ChunkKey]) -> Landed | HookError | None:
        """Carry the landing out; None where its chunks, or all files, have to be read again first."""
        try:
            return self._carry_out(landing, fresh)
        except HookError as refused:
            return refused  # it was called as often as it may be, so the landing is not tried again for it
        except (StagedUnfit, StagedFileUnfit) as unfit:
            self._read_again(landing, unfit)
            return None
        except NullKeys as nulls:
            # Staged before such rows were to be set aside, which is done while they are read.
            if not self._terms.load.quarantines_null_keys:
                raise
            self._release(landing, landing.chunks, nulls.message())
            return None

    def _carry_out(self, landing: Landing, fresh: frozenset[ChunkKey]) -> Landed | None:
        with self._catalog.one_look():
            states = self._states(landing.chunks)
            staged = self._staged_of(landing, states, fresh)
            request = self._request(landing, [states[key] for key in landing.chunks], staged)
        if self._has_hole(request, states.values()):
            return self._leave_as_it_is(landing, request, staged)
        check_landing(request, self._context.spark)  # what stops the landing stops what comes before it, too
        aside = land_quarantine(request, self._context.spark, target=self._place.quarantine)
        if aside is not None:
            make_durable(quarantine_of(self._place.target, self._place.quarantine), aside.version)
        ended = land_tombstones(request, self._context.spark)
        if ended is not None:
            make_durable(tombstones_of(self._place.target), ended.version, since=ended.since)
        landed = land(request, self._context.spark, trial=partial(self.hooks.on_build, landing))
        # Also what a landing commits before its rows: properties, wider columns.
        make_durable(self._place.target, landed.version + landed.trailing, since=request.since)
        # Before the landing is finished: a replay finds it noted, and nobody looks for it later.
        self._note_schema(landed, staged, is_exchange=request.replaces_table)
        self._record(landing, landed, staged)
        return landed

    def _has_hole(self, request: LandRequest, states: Iterable[ChunkState]) -> bool:
        """Whether the table would be exchanged for rows that lack a file, though another version of it is there."""
        return request.replaces_table and any(state.seal is not None and state.seal.is_replaced for state in states)

    def _leave_as_it_is(self, landing: Landing, request: LandRequest, staged: tuple[StagedChunk, ...]) -> Landed | None:
        """End the landing without a row, because the next round reads all files again (G9); None without a table."""
        tally = request.tally
        left_out = replace(tally, staged=0, quarantined=0, filtered=tally.filtered + tally.staged + tally.quarantined)
        if request.carried is None:
            self._catalog.finish_landing(landing, version=None)
            self._tell(landing, Outcome.UNCHANGED, left_out, version=None)
            return None
        decided = last_schema_decision(self._catalog, self._key)
        columns = decided.columns if decided else Struct(())
        landed = Landed(Outcome.UNCHANGED, request.carried.version, left_out, columns)
        self._record(landing, landed, staged)
        return landed

    def _request(self, landing: Landing, states: Sequence[ChunkState], staged: tuple[StagedChunk, ...]) -> LandRequest:
        terms, history = self._terms, self._history()
        is_exchange = exchanges(history, states, replaces_table=terms.replaces_table)
        last = expected_landing(self._catalog.landings(self._key))
        decided = last_schema_decision(self._catalog, self._key)
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
            repeats_last=is_exchange and last is not None and self._repeats(last, staged),
            accepted=terms.accepted(decided),
            shapes=decided.shapes if decided else (),
            is_strict=terms.spec.schema_policy is SchemaPolicy.STRICT,
            accepts_loss=self._accepts_loss or all(one.chunk.is_refresh for one in states),
        )

    def _read_again(self, landing: Landing, unfit: StagedUnfit | StagedFileUnfit) -> None:
        """Chunks whose staged files are lost or damaged go back to be read, if nothing of the landing was written.

        Raises the error where that cannot be known from here.
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
        """Of a landing that wrote nothing, these chunks go back to be read."""
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

    def _repeats(self, last: ExpectedLanding, staged: tuple[StagedChunk, ...]) -> bool:
        """Whether the chunks hold the very rows that the last landing brought, as far as that can be told."""
        before = next(one for one in self._catalog.landings(self._key) if one.number == last.number)
        try:
            landed = [self._manifest(state) for state in self._states(before.chunks).values()]
        except (StagedUnfit, LandingLost):
            return False
        content = _content(landed)
        return content is not None and len(landed) == len(before.chunks) and content == _content(staged)

    def _states(self, chunks: Sequence[ChunkKey]) -> dict[ChunkKey, ChunkState]:
        wanted = set(chunks)
        found = self._catalog.chunks(self._key, [ChunkStatus.DONE, ChunkStatus.SUPERSEDED])
        return {state.chunk.key: state for state in found if state.chunk.key in wanted}

    def _staged_of(
        self, landing: Landing, states: Mapping[ChunkKey, ChunkState], fresh: frozenset[ChunkKey]
    ) -> tuple[StagedChunk, ...]:
        """The chunks of the landing as they were sealed. Raises StagedUnfit where one is not what it was."""
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

    def _record(self, landing: Landing, landed: Landed, staged: tuple[StagedChunk, ...]) -> None:
        """Landing, snapshot, lineage; the cursor last (G5)."""
        finished = self._catalog.finish_landing(landing, version=landed.version)
        passing(Boundary.LANDING_FINISHED)
        self._snapshot(finished, staged)
        runs = dict.fromkeys(chunk.run for chunk in staged)
        record = f"{self._name}@{landed.version}"
        self._catalog.append_lineage([LineageEdge(self._context.run, record, run, "landed") for run in runs])
        passing(Boundary.SNAPSHOT_RECORDED)
        self._advance(finished)
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

    def _note_schema(self, landed: Landed, staged: tuple[StagedChunk, ...], *, is_exchange: bool) -> None:
        history = self._catalog.schemas(self._key)
        last = SchemaDecision.from_text(history[-1].schema_json) if history else None
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
            self._catalog.append_schema(self._key, decision.to_text(), after=len(history))
        except SchemaMoved:
            self._note_schema(landed, staged, is_exchange=is_exchange)

    def _advance(self, landing: Landing) -> None:
        current = self._catalog.cursor(self._key)
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
    """What a landing says of another schema than the last one."""
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
