"""Workers of a fleet: processes of their own where the store is shared between processes, else threads."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.catalog.plans import seal_for
from hakiri.catalog.open import CatalogSettings, open_catalog
from hakiri.catalog.port import Catalog
from hakiri.catalog.store import Session
from hakiri.model.chunk import Lease
from hakiri.model.durable import sync

if TYPE_CHECKING:  # a worker loads its own driver and nothing else
    from conformance.catalog.subjects import Crowd, Subject

Dispatched = list[tuple[str, int]]

# The server that workers are forked from finds its modules by the environment alone.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(
    [__name__, "hakiri.catalog.delta.rust", "hakiri.catalog.postgres", "hakiri.catalog.sqlite"]
)


def dispatch_all(subject: Subject, crowd: Crowd, pipeline: str) -> Dispatched:
    """Have the crowd claim everything; tell what each worker was given."""
    if not crowd.is_processes:
        catalog = subject.open()
        given = drain_together(catalog, pipeline, crowd.workers, crowd.batch, completes=crowd.completes)
        catalog.close()
        return given
    share = [crowd.workers // crowd.processes + (n < crowd.workers % crowd.processes) for n in range(crowd.processes)]
    running = [spawn(_drain, subject.settings, pipeline, count, crowd.batch, crowd.completes) for count in share]
    return [each for process in running for each in process.result()]


def drain_together(catalog: Catalog, pipeline: str, workers: int, batch: int, *, completes: bool) -> Dispatched:
    """So many threads on one handle."""
    with ThreadPoolExecutor(workers) as threads:
        given = list(
            threads.map(lambda number: drain(catalog, pipeline, number, batch, completes=completes), range(workers))
        )
    return [each for some in given for each in some]


def drain(catalog: Catalog, pipeline: str, number: int, batch: int, *, completes: bool) -> Dispatched:
    """Claim until there is nothing left."""
    given: Dispatched = []
    while leases := catalog.claim(pipeline, node=f"worker-{number}", limit=batch):
        for lease in leases if completes else ():
            catalog.complete(lease, seal_for(lease))
        given += [(lease.chunk.key.chunk, lease.attempt) for lease in leases]
    return given


class Spawned:
    """A process under way, and its answer."""

    def __init__(self, process: Any, answers: Connection) -> None:
        self.process = process
        self._answers = answers

    def result(self) -> Any:
        answer = self._answers.recv()
        self.process.join()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def last_word(self) -> Any:
        """What a process that was killed had said before."""
        said = self._answers.recv()
        self.process.join()
        assert self.process.exitcode == -signal.SIGKILL
        return said


def spawn(work: Callable[..., Any], *arguments: Any) -> Spawned:
    """Run the function in a process of its own."""
    receiving, sending = _processes.Pipe(duplex=False)
    process = _processes.Process(target=_answer, args=(sending, work, arguments))
    _start(process)
    sending.close()
    return Spawned(process, receiving)


def _start(process: Any) -> None:
    """Start it without the program that runs the tests, which a worker has no use for."""
    with patch.dict(sys.modules["__main__"].__dict__, {"__spec__": None, "__file__": None}):
        process.start()


def _answer(sending: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        sending.send(work(*arguments))
    except BaseException as error:  # noqa: BLE001 - it crosses to the test, which raises it
        sending.send(error)


def _drain(settings: CatalogSettings, pipeline: str, workers: int, batch: int, completes: bool) -> Dispatched:
    return drain_together(open_catalog(settings), pipeline, workers, batch, completes=completes)


class Killed(BaseException):
    """Where a process would have died, in a session that many share."""


def doomed(subject: Subject, pipeline: str, step: str, folder: Path) -> Lease:
    """A holder that dies at this step; the lease it had."""
    if subject.crowd.is_processes:
        receiving, sending = _processes.Pipe(duplex=False)
        process = _processes.Process(target=_die, args=(sending, subject.settings, pipeline, step, folder))
        _start(process)
        sending.close()
        lease: Lease = Spawned(process, receiving).last_word()
        return lease
    said: list[Lease] = []
    catalog = subject.open()
    try:
        _hold_and_die(catalog, pipeline, step, folder, said.append, _raise)
    except Killed:
        return said[0]
    finally:
        catalog.close()
    raise AssertionError(step)


def _die(sending: Connection, settings: CatalogSettings, pipeline: str, step: str, folder: Path) -> None:
    catalog = open_catalog(settings)
    _hold_and_die(catalog, pipeline, step, folder, sending.send, lambda: os.kill(os.getpid(), signal.SIGKILL))


def _raise() -> None:
    raise Killed


def _hold_and_die(
    catalog: Catalog, pipeline: str, step: str, folder: Path, say: Callable[[Lease], None], die: Callable[[], None]
) -> None:
    (lease,) = catalog.claim(pipeline, node="doomed", lease_seconds=60)
    say(lease)
    if step == "after claim":
        die()
    stage(lease, folder)
    if step == "after stage":
        die()
    if step == "mid-complete":
        _die_inside_write(catalog, die)
    catalog.complete(lease, seal_for(lease))
    if step == "after complete":
        die()


def stage(lease: Lease, folder: Path) -> Path:
    """The attempt's file, durable where its seal will say."""
    file = folder / seal_for(lease).path / "part-00000.parquet"
    file.parent.mkdir(parents=True)
    pq.write_table(pa.table({"id": [lease.chunk.ordinal]}), file)
    sync(file)
    return file


def _die_inside_write(catalog: Catalog, die: Callable[[], None]) -> None:
    """From now on the process dies when the statements of a write have run and the commit has not."""
    store = catalog._store  # type: ignore[attr-defined]
    write = store.write

    def cut_short(table: Any, body: Callable[[Session], Any], **options: Any) -> Any:
        def last(session: Session) -> Any:
            body(session)
            die()

        return write(table, last, **options)

    store.write = cut_short
