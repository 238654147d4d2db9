"""What the catalog hears of is on the disk: the commit, the files it added, and the folders that name them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from hakiri.land import durable
from hakiri.land.target import NamedTarget, PathTarget


def test_a_commit_and_what_it_added_is_synced_files_before_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "a table"
    for number in range(2):
        write_deltalake(root, pa.table({"a": [number]}), mode="append")
    synced: list[Path] = []
    monkeypatch.setattr(durable, "sync", synced.append)
    durable.make_durable(PathTarget(str(root)), 1)
    file, folder, commit, log, *above = synced
    assert (file.suffix, folder, log, above) == (".parquet", root, root / "_delta_log", [root, tmp_path])
    assert file.exists()
    assert commit == log / "00000000000000000001.json"
    synced.clear()
    durable.make_durable(PathTarget(str(root)), 1, since=-1)
    assert [path.stem[-1] for path in synced if path.suffix == ".json"] == ["0", "1"]


def test_what_lies_elsewhere_or_is_older_than_its_log_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(durable, "sync", synced.append)
    durable.make_durable(NamedTarget(("main", "sales", "orders")), 3)
    durable.make_durable(PathTarget("s3://bucket/orders"), 3)
    durable.make_durable(PathTarget(str(tmp_path)), 3)
    assert synced == []
