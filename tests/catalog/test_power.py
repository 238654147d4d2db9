"""What a catalog has answered is on the disk, also when the power fails the moment after."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from conformance.catalog.teller import knowledge, open_catalog
from power import Disk, trace

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("backend", ["sqlite", "delta"])
def test_an_answer_survives_a_power_cut(tmp_path: Path, backend: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    teller = [sys.executable, "-m", "conformance.catalog.teller", backend, root]
    calls = trace(teller, root=root, into=tmp_path / "trace", environment={"PYTHONPATH": str(TESTS)})
    disk, answers = Disk(), 0
    for call in disk.replay(calls):
        if (call.name, call.path) != ("write", "told"):
            continue
        answers += 1
        cut = tmp_path / f"cut-{answers}"
        disk.lay_out(cut)
        with closing(open_catalog(backend, cut)) as catalog:
            assert knowledge(catalog) == call.data.decode()
    assert answers == 19
    on_disk = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert disk.content() == on_disk, "a write was missed"
