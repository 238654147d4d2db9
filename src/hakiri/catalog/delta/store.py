"""Whoever waits for a commit shares the next one, so a hundred threads cost a handful of commits."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, local
from typing import Any, Generic, TypeVar

from hakiri.catalog.chunks import PROGRESS
from hakiri.catalog.delta.executor import Executor, Wanted
from hakiri.catalog.delta.locks import Locks
from hakiri.catalog.delta.replica import Changes, Replica
from hakiri.catalog.errors import CatalogBusy, CatalogUnavailable
from hakiri.catalog.store import Row, Session
from hakiri.catalog.tables import ARCHIVE, CHUNKS, CURSORS, LANDINGS, PIPELINES, SCHEMAS, TABLES, Table
from hakiri.errors import HakiriError
from hakiri.model.clock import Clock

T = TypeVar("T")

MAX_TRIES = 200
LONGEST_PAUSE_SECONDS = 0.25
COMMITS_A_TURN = 4
GATHER_SECONDS = 0.005
"""How long a turn is kept for threads that were just served and may be back with their next request."""


LOOKED_AT = (CHUNKS, ARCHIVE, LANDINGS, CURSORS, SCHEMAS, PIPELINES)
"""The tables that one look at a pipeline's state reads together."""


class DeltaStore:
    """A store over Delta tables: bodies are run on a replica, in groups, and each group is one MERGE."""

    def __init__(self, executor: Executor, locks: Locks, clock: Clock) -> None:
        self._executor = executor
        self._locks = locks
        self._clock = clock
        self._replica = Replica()
        self._lead = _Lead()
        self._queued = Condition()
        self._queues: dict[Table, list[_Ticket[Any]]] = {}
        self._look = local()

    @contextmanager
    def one_look(self) -> Iterator[None]:
        before = self._looked_since()
        self._look.since = self._executor.moment() if before is None else before
        try:
            yield
        finally:
            self._look.since = before

    def _looked_since(self) -> int | None:
        """The moment at which this thread's look began; None outside of a look."""
        found: int | None = getattr(self._look, "since", None)
        return found

    def write(
        self,
        table: Table,
        body: Callable[[Session], T],
        *,
        reads: tuple[Table, ...] = (),
        buckets: frozenset[int] | None = None,
    ) -> T:
        ticket = _Ticket(body, reads, buckets)
        with self._queued:
            self._queues.setdefault(table, []).append(ticket)
            self._queued.notify_all()
        with self._lead.unless(lambda: ticket.is_settled) as is_leading:
            if is_leading:
                self._serve(table)
        return ticket.result()

    def read(
        self, tables: tuple[Table, ...], body: Callable[[Session], T], *, buckets: frozenset[int] | None = None
    ) -> T:
        since = self._looked_since()
        along = () if since is None else LOOKED_AT
        with self._lead.unless(_never):
            self._executor.refresh(dict.fromkeys(tables, buckets), self._replica, since=since, along=along)
            return self._replica.look(body)

    def progress(self, pipeline: str | None) -> list[Row]:
        with self._lead.unless(_never):
            counted = self._executor.progress(pipeline)
        if counted is not None:
            return counted
        return self.read((CHUNKS, ARCHIVE), lambda session: session.rows(PROGRESS, pipeline_id=pipeline or ""))

    def tend(self) -> None:
        for table in TABLES:
            with self._lead.unless(_never), self._locks.turn(table):
                self._executor.tend(table)

    def close(self) -> None:
        with self._lead.unless(_never):
            self._executor.close()
            self._locks.close()
            self._replica.close()

    def _take(self, table: Table) -> list[_Ticket[Any]]:
        with self._queued:
            return self._queues.pop(table, [])

    def _serve(self, table: Table) -> None:
        """Settle every ticket that is waiting, with its answer or with an error."""
        tickets: list[_Ticket[Any]] = []
        try:
            self._commit(table, tickets)
        except BaseException as error:
            shared = error if isinstance(error, HakiriError) else _interrupted(table)
            for ticket in tickets:
                ticket.fail(shared)
            if error is not shared:
                raise

    def _commit(self, table: Table, tickets: list[_Ticket[Any]]) -> None:
        for tries in range(MAX_TRIES):
            with self._locks.turn(table):
                tickets += self._take(table)  # as late as can be: who came while we waited comes along
                if self._use_turn(table, tickets):
                    return
            self._clock.sleep(random.uniform(0, min(LONGEST_PAUSE_SECONDS, 0.005 * 2 ** min(tries, 6))))  # noqa: S311 - no secret
        raise CatalogBusy(table=table.name, tries=MAX_TRIES)

    def _use_turn(self, table: Table, tickets: list[_Ticket[Any]]) -> bool:
        """Commit, and again for those who come back at once: while it is our turn, what we hold is the newest."""
        for left in reversed(range(COMMITS_A_TURN)):
            if not self._try(table, tickets):
                return False
            others = len(tickets) - 1
            tickets.clear()
            if not left or not others:
                break
            self._lead.announce()
            tickets += self._gather(table, others)
            if not tickets:
                break
        return True

    def _gather(self, table: Table, others: int) -> list[_Ticket[Any]]:
        with self._queued:
            self._queued.wait_for(lambda: len(self._queues.get(table, ())) >= others, timeout=GATHER_SECONDS)
            return self._queues.pop(table, [])

    def _try(self, table: Table, tickets: list[_Ticket[Any]]) -> bool:
        """Decide everything on what the replica holds if that is likely to be the newest version, else on the newest.

        A commit proves that the decision was made on the newest version, whatever a body has answered. Without a
        commit nothing proves it, so a group that changes nothing is decided again after a refresh. So is a group that
        reads other tables: those are read anew each time, and the written table along with them.
        """
        if self._executor.can_try(table) and not any(ticket.reads for ticket in tickets):
            done = self._decide(table, tickets, settles_unchanged=False)
            if done is not None:
                return done
        self._executor.refresh(_wanted(table, tickets), self._replica)
        return bool(self._decide(table, tickets, settles_unchanged=True))

    def _decide(self, table: Table, tickets: list[_Ticket[Any]], *, settles_unchanged: bool) -> bool | None:
        """Run the bodies and commit what they change; whether that is done. None if nothing changed or is settled."""
        changes = Changes(table)
        self._replica.begin()
        try:
            for ticket in tickets:
                ticket.decide(self._replica, table, changes)
            if not changes.by_key and not settles_unchanged:
                self._replica.undo()
                return None
            done = not changes.by_key or self._executor.commit(changes)
        except BaseException:
            self._replica.undo()
            raise
        if done:
            self._replica.keep()
        else:
            self._replica.undo()
        if done:
            for ticket in tickets:
                ticket.settle()
        return done


def _wanted(table: Table, tickets: list[_Ticket[Any]]) -> Wanted:
    """The written table first: what the replica holds of the others is then never older."""
    buckets = [ticket.buckets for ticket in tickets]
    some = None if None in buckets else frozenset().union(*(one for one in buckets if one is not None))
    return {table: some, **{other: None for ticket in tickets for other in ticket.reads}}


class _Lead:
    """One thread at a time has the replica. Those whose work it did along the way all go on at once: had they to take
    turns to learn of it, the next leader would start with an empty queue."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._is_taken = False

    @contextmanager
    def unless(self, is_moot: Callable[[], bool]) -> Iterator[bool]:
        """Wait for the lead, or until there is nothing left to lead for; say which."""
        with self._condition:
            self._condition.wait_for(lambda: is_moot() or not self._is_taken)
            is_leading = not is_moot()
            self._is_taken = self._is_taken or is_leading
        try:
            yield is_leading
        finally:
            if is_leading:
                with self._condition:
                    self._is_taken = False
                    self._condition.notify_all()

    def announce(self) -> None:
        """Let those go on for whom there is nothing left to lead for."""
        with self._condition:
            self._condition.notify_all()


def _never() -> bool:
    return False


def _interrupted(table: Table) -> CatalogUnavailable:
    """What the others of a group are told when the thread that was committing for them is stopped."""
    return CatalogUnavailable(store=table.name, reason="the thread that was committing was stopped")


@dataclass(slots=True)
class _Ticket(Generic[T]):
    """A body waiting for its turn, and what came of it."""

    body: Callable[[Session], T]
    reads: tuple[Table, ...]
    buckets: frozenset[int] | None
    is_settled: bool = False
    answers: tuple[T, ...] = ()
    error: BaseException | None = None

    def decide(self, replica: Replica, table: Table, changes: Changes) -> None:
        """Run the body. What it refuses is its own caller's affair, not the group's."""
        self.answers, self.error = (), None
        try:
            self.answers = (replica.attempt(table, self.body, changes),)
        except Exception as refusal:  # noqa: BLE001 - raised again where it belongs
            self.error = refusal

    def settle(self) -> None:
        self.is_settled = True

    def fail(self, error: BaseException) -> None:
        if not self.is_settled:
            self.error = error
            self.is_settled = True

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return self.answers[0]
