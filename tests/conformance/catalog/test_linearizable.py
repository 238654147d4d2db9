"""Whatever several workers do at once to one pipeline, there is an order in which they did it one after the other."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from conformance.catalog import oracle
from conformance.catalog.oracle import Fact, Facts, Operation, is_linearizable
from conformance.catalog.plans import registered, seal_for
from conformance.catalog.subjects import Subject
from hakiri.catalog.errors import LeaseLost
from hakiri.catalog.port import Catalog
from hakiri.model.chunk import Failure, FailureKind, Lease
from hakiri.model.clock import Clock

Handles = Callable[[Subject, Clock | None], Catalog]

CHUNKS = 4
MAX_ATTEMPTS = 100


@dataclass(frozen=True)
class Call:
    """A verb, and the lease it was about."""

    verb: Literal["claim", "complete", "release", "renew"]
    chunk: int = -1
    fence: int = -1


def step(facts: Facts, call: Call) -> tuple[Facts, object]:
    """What the call does and answers when it is alone."""
    match call.verb:
        case "claim":
            after, index = oracle.claim(facts, MAX_ATTEMPTS)
            return after, None if index is None else (index, after[index].fence)
        case "complete":
            return oracle.complete(facts, call.chunk, call.fence)
        case "release":
            return oracle.fail(facts, call.chunk, call.fence, FailureKind.RELEASED, MAX_ATTEMPTS)
        case "renew":
            return oracle.renew(facts, call.chunk, call.fence)


def test_concurrent_histories_are_linearizable(subject: Subject, handles: Handles, pipeline: str) -> None:
    workers, calls = (4, 10) if subject.crowd.is_processes else (2, 3)
    opened = [handles(subject, None) for _ in range(2)]
    registered(opened[0], pipeline, CHUNKS, max_attempts=MAX_ATTEMPTS)
    with ThreadPoolExecutor(workers) as threads:
        dice = [random.Random(n) for n in range(workers)]  # noqa: S311 - a history to look at, not a secret
        working = [threads.submit(work, opened[n % 2], pipeline, dice[n], calls) for n in range(workers)]
        history = [operation for worker in working for operation in worker.result()]
    assert is_linearizable(history, (Fact(),) * CHUNKS, step), history


def test_the_checker_rejects_a_chunk_given_to_two_workers() -> None:
    twice = [Operation(Call("claim"), (0, 1), 0, 10), Operation(Call("claim"), (0, 1), 5, 15)]
    assert not is_linearizable(twice, (Fact(),), step)
    once = [Operation(Call("claim"), (0, 1), 0, 10), Operation(Call("claim"), None, 5, 15)]
    assert is_linearizable(once, (Fact(),), step)


def test_the_checker_rejects_an_answer_older_than_one_that_had_ended() -> None:
    stale = [Operation(Call("claim"), (0, 1), 0, 1), Operation(Call("claim"), (0, 1), 2, 3)]
    assert not is_linearizable(stale, (Fact(), Fact()), step)


def work(catalog: Catalog, pipeline: str, dice: random.Random, calls: int) -> list[Operation[Call]]:
    """Do this and that, also with leases long given back, and write down when."""
    known: list[Lease] = []
    history: list[Operation[Call]] = []
    for _ in range(calls):
        verb = dice.choice(["claim", "complete", "release", "renew"]) if known else "claim"
        lease = dice.choice(known) if verb != "claim" else None
        started = time.perf_counter_ns()
        answer, call = carry_out(catalog, pipeline, verb, lease, known)
        history.append(Operation(call, answer, started, time.perf_counter_ns()))
    return history


def carry_out(
    catalog: Catalog, pipeline: str, verb: str, lease: Lease | None, known: list[Lease]
) -> tuple[object, Call]:
    if lease is None:
        claimed = catalog.claim(pipeline, node="worker")
        known.extend(claimed)
        return (claimed[0].chunk.ordinal, claimed[0].fence) if claimed else None, Call("claim")
    try:
        if verb == "complete":
            catalog.complete(lease, seal_for(lease))
            return True, Call("complete", lease.chunk.ordinal, lease.fence)
        if verb == "release":
            catalog.fail(lease, Failure(FailureKind.RELEASED))
            return True, Call("release", lease.chunk.ordinal, lease.fence)
        return bool(catalog.renew([lease])), Call("renew", lease.chunk.ordinal, lease.fence)
    except LeaseLost:
        refused: Literal["complete", "release"] = "complete" if verb == "complete" else "release"
        return False, Call(refused, lease.chunk.ordinal, lease.fence)
