"""A snapshot is there with all its sidecars, or it is not there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance.catalog.plans import table_of
from conformance.catalog.subjects import Subject
from hakiri.catalog.errors import SidecarUnfit, SnapshotChanged
from hakiri.catalog.port import Catalog
from hakiri.catalog.sidecars import LocalSidecars
from hakiri.model.chunk import TableKey
from hakiri.model.clock import Clock
from hakiri.model.ledger import Sidecar, Snapshot

Handles = Callable[[Subject, Clock | None], Catalog]

CONTENT = b"rows: 10"


@pytest.fixture
def sidecar(tmp_path: Path) -> Sidecar:
    path = tmp_path / "_manifest.json"
    path.write_bytes(CONTENT)
    return Sidecar(str(path), len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


def snapshot_of(pipeline: str, *sidecars: Sidecar, landing: int = 1) -> Snapshot:
    return Snapshot(table_of(pipeline), landing=landing, version=3, runs=("run-1",), sidecars=sidecars)


def test_a_committed_snapshot_is_visible_at_once_and_committed_once(
    catalog: Catalog, other: Catalog, pipeline: str, sidecar: Sidecar
) -> None:
    wanted = snapshot_of(pipeline, sidecar)
    committed = catalog.commit_snapshot(wanted)
    assert other.snapshots(wanted.table) == (committed,)
    assert other.commit_snapshot(wanted) == committed
    with pytest.raises(SnapshotChanged):
        other.commit_snapshot(snapshot_of(pipeline))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_bytes(CONTENT[:-1]), "wrong size"),
        (lambda path: path.write_bytes(CONTENT[::-1]), "wrong content"),
    ],
    ids=["missing", "short", "corrupt"],
)
def test_an_unfit_sidecar_leaves_no_snapshot(
    catalog: Catalog, other: Catalog, pipeline: str, sidecar: Sidecar, damage: Callable[[Path], object], problem: str
) -> None:
    sound = Path(sidecar.path).with_name("sound.json")
    sound.write_bytes(CONTENT)
    damage(Path(sidecar.path))
    wanted = snapshot_of(pipeline, Sidecar(str(sound), sidecar.size, sidecar.sha256), sidecar)
    with pytest.raises(SidecarUnfit) as refusal:
        catalog.commit_snapshot(wanted)
    assert refusal.value.problem == problem
    assert other.snapshots(wanted.table) == ()


def test_a_reader_that_never_stops_looking_never_sees_half_a_snapshot(
    subject: Subject, handles: Handles, pipeline: str, tmp_path: Path
) -> None:
    last = 10 if subject.crowd.is_processes else 2
    writer, reader = handles(subject, None), handles(subject, None)
    with ThreadPoolExecutor(1) as thread:
        looking = thread.submit(look_until, reader, table_of(pipeline), last)
        for landing in range(1, last + 1):
            commit_on_the_second_try(writer, pipeline, landing, tmp_path)
        looks = looking.result()
    counts = [len(seen) for seen in looks]
    assert counts == sorted(counts)
    assert all(len(snapshot.sidecars) == 2 for seen in looks for snapshot in seen)


def commit_on_the_second_try(catalog: Catalog, pipeline: str, landing: int, folder: Path) -> None:
    """The first time, one of the sidecars is not there yet."""
    content = f"rows: {landing}".encode()
    paths = [folder / f"{landing}-{part}.json" for part in ("rows", "index")]
    sidecars = [Sidecar(str(path), len(content), hashlib.sha256(content).hexdigest()) for path in paths]
    paths[0].write_bytes(content)
    with pytest.raises(SidecarUnfit):
        catalog.commit_snapshot(snapshot_of(pipeline, *sidecars, landing=landing))
    paths[1].write_bytes(content)
    catalog.commit_snapshot(snapshot_of(pipeline, *sidecars, landing=landing))


def look_until(catalog: Catalog, table: TableKey, last: int) -> list[tuple[Snapshot, ...]]:
    """What a reader sees, time after time; every sidecar it is told of must be whole at that moment."""
    looks: list[tuple[Snapshot, ...]] = [()]
    while len(looks[-1]) < last:
        looks.append(catalog.snapshots(table))
        for snapshot in looks[-1]:
            for sidecar in snapshot.sidecars:
                LocalSidecars().require(sidecar)
    return looks
