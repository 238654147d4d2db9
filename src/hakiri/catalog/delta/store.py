"""The store over Delta tables. Threads that wait for a commit share the next one, so many threads need few commits."""

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
from hakiri.catalog.delta.migrate import migrate
from hakiri.catalog.delta.replica import Changes, Replica
from hakiri.catalog.errors import CatalogBusy, CatalogUnavailable
from hakiri.catalog.store import Row, Session
from hakiri.catalog.tables import ARCHIVE, CHUNKS, CURSORS, LANDINGS, OWNERS, PIPELINES, SCHEMAS, TABLES, Table
from hakiri.errors import HakiriError
from hakiri.model.clock import Clock

T = TypeVar("T")

MAX_TRIES = 200
LONGEST_PAUSE_SECONDS = 0.25
COMMITS_A_TURN = 4
GATHER_SECONDS = 0.005
"""How long a turn is kept for threads that were just served and may send their next request."""


LOOKED_AT = (CHUNKS, ARCHIVE, LANDINGS, CURSORS, OWNERS, SCHEMAS, PIPELINES)
"""The tables that are read together inside `one_look`."""


class DeltaStore:
    """Runs bodies on a replica, in groups, and commits each group with one MERGE."""

    def __init__(self, executor: Executor, locks: Locks, clock: Clock) -> None:
        self._executor = executor
        self._locks = locks
        self._clock = clock
        self._replica = Replica()
        self._lead = _Lead()
        self._queued = Condition()
        self._queues: dict[Table, list[_Ticket[Any]]] = {}
        self._look = local()
        try:
            migrate(self, executor)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def one_look(self) -> Iterator[None]:
        before = self._looked_since()
        self._look.since = self._executor.moment() if before is None else before
        try:
            yield
        finally:
            self._look.since = before

    def _looked_since(self) -> int | None:
        """Return when this thread's `one_look` began; None outside of one."""
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
        with self._lead.held_unless(lambda: ticket.is_settled) as is_leading:
            if is_leading:
                self._serve(table)
        return ticket.result()

    def read(
        self, tables: tuple[Table, ...], body: Callable[[Session], T], *, buckets: frozenset[int] | None = None
    ) -> T:
        since = self._looked_since()
        along = () if since is None else LOOKED_AT
        with self._lead.held_unless(_never):
            self._executor.refresh(dict.fromkeys(tables, buckets), self._replica, since=since, along=along)
            return self._replica.look(body)

    def progress(self, pipeline: str | None) -> list[Row]:
        with self._lead.held_unless(_never):
            counted = self._executor.progress(pipeline)
        if counted is not None:
            return counted
        return self.read((CHUNKS, ARCHIVE), lambda session: session.rows(PROGRESS, pipeline_id=pipeline or ""))

    def tend(self) -> None:
        for table in TABLES:
            with self._lead.held_unless(_never), self._locks.turn(table):
                self._executor.tend(table)

    def close(self) -> None:
        with self._lead.held_unless(_never):
            self._executor.close()
            self._locks.close()
            self._replica.close()

    def _take(self, table: Table) -> list[_Ticket[Any]]:
        with self._queued:
            return self._queues.pop(table, [])

    def _serve(self, table: Table) -> None:
        """Settle every waiting ticket with its answer or an error."""
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
                tickets += self._take(table)  # after waiting, so that tickets queued meanwhile are included
                if self._use_turn(table, tickets):
                    return
            self._clock.sleep(random.uniform(0, min(LONGEST_PAUSE_SECONDS, 0.005 * 2 ** min(tries, 6))))  # noqa: S311 - no secret
        raise CatalogBusy(table=table.name, tries=MAX_TRIES)

    def _use_turn(self, table: Table, tickets: list[_Ticket[Any]]) -> bool:
        """Commit, and again for threads that return at once: during this turn, the replica stays the newest."""
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
        """Run the group on the replica as it is if it is probably up to date; otherwise refresh it first.

        A successful commit proves that the replica was up to date. Without a commit nothing proves it, so a group that
        changes nothing is run again after a refresh. A group that reads other tables always needs a refresh of them
        and of the written table.
        """
        if self._executor.can_try(table) and not any(ticket.reads for ticket in tickets):
            done = self._decide(table, tickets, settles_unchanged=False)
            if done is not None:
                return done
        self._executor.refresh(_wanted(table, tickets), self._replica)
        return bool(self._decide(table, tickets, settles_unchanged=True))

    def _decide(self, table: Table, tickets: list[_Ticket[Any]], *, settles_unchanged: bool) -> bool | None:
        """Run the bodies, commit their changes, and return whether that succeeded. None if nothing changed."""
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
    """List the written table first, so that the replica's copy of the others is never older."""
    buckets = [ticket.buckets for ticket in tickets]
    some = None if None in buckets else frozenset().union(*(one for one in buckets if one is not None))
    return {table: some, **{other: None for ticket in tickets for other in ticket.reads}}


class _Lead:
    """Gives the replica to one thread at a time, the leader. Threads whose tickets it settled all continue at once: if
    each had to wait for the lead first, the next leader would find an empty queue."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._is_taken = False

    @contextmanager
    def held_unless(self, is_moot: Callable[[], bool]) -> Iterator[bool]:
        """Wait for the lead, or until `is_moot()`. Yields whether this thread leads."""
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
        """Wake the threads whose tickets are settled."""
        with self._condition:
            self._condition.notify_all()


def _never() -> bool:
    return False


def _interrupted(table: Table) -> CatalogUnavailable:
    """Return the error for the other tickets of a group when the committing thread is stopped."""
    return CatalogUnavailable(store=table.name, reason="the thread that was committing was stopped")


@dataclass(slots=True)
class _Ticket(Generic[T]):
    """A waiting body, and its result."""

    body: Callable[[Session], T]
    reads: tuple[Table, ...]
    buckets: frozenset[int] | None
    is_settled: bool = False
    answers: tuple[T, ...] = ()
    error: BaseException | None = None

    def decide(self, replica: Replica, table: Table, changes: Changes) -> None:
        """Run the body. Its error goes to its own caller and does not affect the group."""
        self.answers, self.error = (), None
        try:
            self.answers = (replica.attempt(table, self.body, changes),)
        except Exception as refusal:  # noqa: BLE001 - raised again in its caller's thread
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
