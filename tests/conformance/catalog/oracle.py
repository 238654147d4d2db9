"""What one pipeline's chunks do when nobody is in anybody's way: the truth that histories are held against."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from hakiri.model.chunk import ChunkStatus, FailureKind

S = TypeVar("S", bound=Hashable)
C = TypeVar("C")

CLAIMABLE = (ChunkStatus.PENDING, ChunkStatus.WAITING)


@dataclass(frozen=True)
class Fact:
    """One chunk's latest generation."""

    status: ChunkStatus = ChunkStatus.PENDING
    generation: int = 1
    attempt: int = 0
    fence: int = 0
    failures: int = 0
    is_idle: bool = False  # its holder has let a whole lease go by


Facts = tuple[Fact, ...]


def claim(facts: Facts, max_attempts: int) -> tuple[Facts, int | None]:
    """End what is idle, then give the first free chunk."""
    facts = tuple(_ended(fact, max_attempts, 1) if fact.is_idle else fact for fact in facts)
    for index, fact in enumerate(facts):
        if fact.status in CLAIMABLE:
            taken = replace(fact, status=ChunkStatus.RUNNING, attempt=fact.attempt + 1, fence=fact.fence + 1)
            return _with(facts, index, taken), index
    return facts, None


def is_held(facts: Facts, index: int, fence: int) -> bool:
    return facts[index].status is ChunkStatus.RUNNING and facts[index].fence == fence


def complete(facts: Facts, index: int, fence: int) -> tuple[Facts, bool]:
    """The holder's word counts, and may be repeated."""
    if not is_held(facts, index, fence):
        return facts, facts[index].status is ChunkStatus.DONE and facts[index].fence == fence
    return _with(facts, index, replace(facts[index], status=ChunkStatus.DONE, is_idle=False)), True


def fail(facts: Facts, index: int, fence: int, kind: FailureKind, max_attempts: int) -> tuple[Facts, bool]:
    """The holder's word counts, once."""
    if not is_held(facts, index, fence):
        return facts, False
    ended = _ended(facts[index], max_attempts, kind is not FailureKind.RELEASED)
    if kind is FailureKind.PERMANENT:
        ended = replace(ended, status=ChunkStatus.FAILED)
    return _with(facts, index, ended), True


def renew(facts: Facts, index: int, fence: int) -> tuple[Facts, bool]:
    """A holder that speaks up is not idle."""
    if not is_held(facts, index, fence):
        return facts, False
    return _with(facts, index, replace(facts[index], is_idle=False)), True


def rewind(facts: Facts, index: int) -> Facts:
    """A new generation, unless the chunk has yet to run."""
    if facts[index].status is ChunkStatus.PENDING:
        return facts
    old = facts[index]
    return _with(facts, index, Fact(generation=old.generation + 1, attempt=old.attempt, fence=old.fence + 1))


def pause(facts: Facts) -> Facts:
    """Time goes by, and nobody renews."""
    return tuple(replace(fact, is_idle=fact.status is ChunkStatus.RUNNING) for fact in facts)


@dataclass(frozen=True)
class Operation(Generic[C]):
    """A call somebody made, when it was under way, and what came of it."""

    call: C
    answer: object
    started: int
    ended: int


def is_linearizable(history: Sequence[Operation[C]], start: S, step: Callable[[S, C], tuple[S, object]]) -> bool:
    """Whether the calls, taken in some order that respects real time, give exactly these answers.

    The search of Wing and Gong: next in order may be any call that began before every other open call ended.
    """
    seen: set[tuple[frozenset[int], S]] = set()
    open_ends = [(frozenset(range(len(history))), start)]
    while open_ends:
        left, state = open_ends.pop()
        if not left:
            return True
        if (left, state) in seen:
            continue
        seen.add((left, state))
        first_end = min(history[index].ended for index in left)
        for index in left:
            if history[index].started <= first_end:
                after, answer = step(state, history[index].call)
                if answer == history[index].answer:
                    open_ends.append((left - {index}, after))
    return False


def _ended(fact: Fact, max_attempts: int, counted: int) -> Fact:
    failures = fact.failures + counted
    status = ChunkStatus.FAILED if failures >= max_attempts else ChunkStatus.WAITING
    return replace(fact, status=status, fence=fact.fence + 1, failures=failures, is_idle=False)


def _with(facts: Facts, index: int, fact: Fact) -> Facts:
    return (*facts[:index], fact, *facts[index + 1 :])
