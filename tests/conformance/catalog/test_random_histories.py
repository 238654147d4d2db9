"""However several workers mix the verbs, the catalog stands where the oracle says it should."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from clocks import ManualClock
from conformance.catalog import oracle
from conformance.catalog.oracle import Fact, Facts
from conformance.catalog.plans import registered, seal_for, table_of
from conformance.catalog.subjects import Subject
from hakiri.catalog.errors import LeaseLost
from hakiri.model.chunk import Failure, FailureKind, Lease, Window

CHUNKS = 4
TERM = 60.0
MAX_ATTEMPTS = 3

WORKERS = st.integers(0, 1)
PICKS = st.integers(0, 1_000)


class Workers(RuleBasedStateMachine):
    """Two workers with a handle each, one pipeline, one clock."""

    subject: Subject
    numbers = iter(range(1, 1_000_000))

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.handles = [self.subject.open(self.clock) for _ in range(2)]
        self.pipeline = f"random-{next(self.numbers)}"
        registered(self.handles[0], self.pipeline, CHUNKS, max_attempts=MAX_ATTEMPTS)
        self.facts: Facts = (Fact(),) * CHUNKS
        self.leases: list[Lease] = []

    def teardown(self) -> None:
        self.compare()
        for handle in self.handles:
            handle.close()

    @rule(worker=WORKERS)
    def claim(self, worker: int) -> None:
        claimed = self.handles[worker].claim(self.pipeline, node=f"worker-{worker}", lease_seconds=TERM)
        self.facts, index = oracle.claim(self.facts, MAX_ATTEMPTS)
        assert [lease.chunk.ordinal for lease in claimed] == ([] if index is None else [index])
        self.leases.extend(claimed)

    @precondition(lambda self: self.leases)
    @rule(worker=WORKERS, pick=PICKS)
    def complete(self, worker: int, pick: int) -> None:
        lease = self.leases[pick % len(self.leases)]
        self.facts, accepted = self.expect(oracle.complete, lease)
        try:
            self.handles[worker].complete(lease, seal_for(lease))
            assert accepted
        except LeaseLost:
            assert not accepted

    @precondition(lambda self: self.leases)
    @rule(worker=WORKERS, pick=PICKS, kind=st.sampled_from(FailureKind))
    def fail(self, worker: int, pick: int, kind: FailureKind) -> None:
        lease = self.leases[pick % len(self.leases)]
        generation = lease.chunk.key.generation
        index, accepted = lease.chunk.ordinal, False
        if generation == self.facts[index].generation:
            self.facts, accepted = oracle.fail(self.facts, index, lease.fence, kind, MAX_ATTEMPTS)
        try:
            self.handles[worker].fail(lease, Failure(kind))
            assert accepted
        except LeaseLost:
            assert not accepted

    @precondition(lambda self: self.leases)
    @rule(worker=WORKERS, pick=PICKS)
    def renew(self, worker: int, pick: int) -> None:
        lease = self.leases[pick % len(self.leases)]
        self.facts, accepted = self.expect(oracle.renew, lease)
        assert bool(self.handles[worker].renew([lease], lease_seconds=TERM)) == accepted

    @rule(worker=WORKERS, index=st.integers(0, CHUNKS - 1))
    def rewind(self, worker: int, index: int) -> None:
        window = Window(index * 10, index * 10 + 10)
        self.handles[worker].rewind(table_of(self.pipeline), window, "to see whether it can")
        self.facts = oracle.rewind(self.facts, index)

    @rule()
    def pause(self) -> None:
        self.clock.advance(3 * TERM)
        self.facts = oracle.pause(self.facts)

    @rule()
    def compare(self) -> None:
        latest = {state.chunk.ordinal: state for state in self.handles[0].chunks(table_of(self.pipeline))}
        found = [
            (state.status, state.chunk.key.generation, state.attempt, state.fence, state.failures)
            for _, state in sorted(latest.items())
        ]
        assert found == [(fact.status, fact.generation, fact.attempt, fact.fence, fact.failures) for fact in self.facts]

    def expect(self, verb: object, lease: Lease) -> tuple[Facts, bool]:
        if lease.chunk.key.generation != self.facts[lease.chunk.ordinal].generation:
            return self.facts, False
        answer: tuple[Facts, bool] = verb(self.facts, lease.chunk.ordinal, lease.fence)  # type: ignore[operator]
        return answer


def test_random_histories_of_several_workers_end_where_the_oracle_does(subject: Subject) -> None:
    machine = type("SubjectWorkers", (Workers,), {"subject": subject})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=subject.crowd.examples,
            stateful_step_count=subject.crowd.steps,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
