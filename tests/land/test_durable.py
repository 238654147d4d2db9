"""What the catalog hears of is on the disk: the commit, the files it added, and the folders that name them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from hakiri.land.delta.durable import make_durable
from hakiri.land.target import NamedTarget, PathTarget


def test_a_commit_and_what_it_added_is_synced_files_before_folders(tmp_path: Path, synced: list[Path]) -> None:
    root = tmp_path / "a table"
    for number in range(2):
        write_deltalake(root, pa.table({"a": [number], "b": [7]}), mode="append", partition_by="b")
    make_durable(PathTarget(str(root)), 1)
    file, commit, *folders = synced
    assert (file.parent, file.suffix) == (root / "b=7", ".parquet")
    assert commit == root / "_delta_log/00000000000000000001.json"
    assert folders == [root / "b=7", root / "_delta_log", root, tmp_path]
    synced.clear()
    make_durable(PathTarget(str(root)), 1, since=-1)
    assert [path.stem[-1] for path in synced if path.suffix == ".json"] == ["0", "1"]


def test_a_checkpoint_is_synced_with_its_commit(tmp_path: Path, synced: list[Path]) -> None:
    every_commit = {"delta.checkpointInterval": "1"}
    for _ in range(2):
        write_deltalake(tmp_path, pa.table({"a": [1]}), mode="append", configuration=every_commit)
    make_durable(PathTarget(str(tmp_path)), 1)
    names = [path.name for path in synced]
    assert names.index("_last_checkpoint") > names.index("00000000000000000001.checkpoint.parquet")


def test_a_checksum_is_synced_with_its_file(tmp_path: Path, synced: list[Path]) -> None:
    """Spark does not read a file beside which it finds an empty one."""
    write_deltalake(tmp_path, pa.table({"a": [1]}))
    (file,) = tmp_path.glob("*.parquet")
    checksums = [file.with_name(f".{file.name}.crc"), tmp_path / "_delta_log/.00000000000000000000.json.crc"]
    for path in checksums:
        path.touch()
    make_durable(PathTarget(str(tmp_path)), 0)
    assert set(checksums) <= set(synced)


def test_what_lies_elsewhere_or_is_older_than_its_log_is_left_alone(tmp_path: Path, synced: list[Path]) -> None:
    make_durable(NamedTarget(("main", "sales", "orders")), 3)
    make_durable(PathTarget("s3://bucket/orders"), 3)
    (tmp_path / "_delta_log").mkdir()
    make_durable(PathTarget(str(tmp_path)), 3, since=3)
    assert synced == []
