"""A snapshot is there with all its sidecars, or it is not there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.catalog.plans import table_of
from hakiri.catalog.port import Catalog
from hakiri.errors import SidecarUnfit, SnapshotChanged
from hakiri.model.ledger import Sidecar, Snapshot

CONTENT = b"rows: 10"


@pytest.fixture
def sidecar(tmp_path: Path) -> Sidecar:
    path = tmp_path / "_manifest.json"
    path.write_bytes(CONTENT)
    return Sidecar(str(path), len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


def snapshot_of(pipeline: str, *sidecars: Sidecar) -> Snapshot:
    return Snapshot(table_of(pipeline), landing=1, version=3, runs=("run-1",), sidecars=sidecars)


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
