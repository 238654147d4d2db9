"""A seal is durable before it is told, tells what is there, and is refused when a row is missing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from hakiri.model.crash_points import STOP_AT, Boundary
from hakiri.model.key import KeyValue
from hakiri.model.staged import StagedChunk, Tally
from hakiri.stage.errors import StagedUnfit, TallyUnbalanced
from hakiri.stage.layout import parents
from hakiri.stage.local import LocalFiles
from hakiri.stage.manifest import fingerprint, from_json, read_manifest, to_json
from hakiri.stage.port import Files
from hakiri.stage.seal import seal, verify
from hakiri.stage.writer import AttemptWriter
from stage.attempts import ATTEMPT, LoggedFiles, batch, quarantined, stage

FOLDER = ATTEMPT.folder


def test_the_manifest_gives_back_the_staged_chunk(files: Files) -> None:
    staged = stage(files)
    assert read_manifest(files, FOLDER) == staged
    verify(files, staged)


def test_the_fingerprint_is_that_of_the_bytes_on_disk(tmp_path: Path) -> None:
    staged = stage(LocalFiles(tmp_path))
    digest = subprocess.run(["sha256sum", tmp_path / staged.files[0].path], capture_output=True, text=True, check=True)
    assert digest.stdout.split()[0] == staged.files[0].sha256
    assert (tmp_path / staged.files[0].path).stat().st_size == staged.files[0].bytes


def test_the_manifest_counts_what_was_staged(tmp_path: Path) -> None:
    staged = stage(LocalFiles(tmp_path), rows=10)
    manifest = json.loads((tmp_path / ATTEMPT.manifest).read_text())
    assert manifest["version"] == 1
    assert manifest["rows"] == 10
    assert manifest["bytes"] == staged.files[0].bytes
    assert manifest["tally"] == {"read": 11, "staged": 10, "quarantined": 1, "filtered": 0, "deduplicated": 0}
    assert manifest["cursor_high"] == ["int", "9"]


def test_two_attempts_at_the_same_rows_have_the_same_files(tmp_path: Path) -> None:
    first, second = stage(LocalFiles(tmp_path / "a")), stage(LocalFiles(tmp_path / "b"))
    assert to_json(first) == to_json(second)
    assert fingerprint(first) == fingerprint(second)


BOUNDS: list[KeyValue] = [
    *(True, 7, 1.5, Decimal("1.50"), "text", b"\xff", date(2026, 1, 5)),
    *(datetime(2026, 1, 5, 7, 30), datetime(2026, 1, 5, 7, 30, tzinfo=UTC)),
]


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_cursor_bounds_come_back_exactly(tmp_path: Path, bound: KeyValue) -> None:
    staged = replace(stage(LocalFiles(tmp_path)), cursor_low=bound, cursor_high=None)
    again = from_json(to_json(staged))
    assert again == staged
    assert type(again.cursor_low) is type(bound)


def test_a_schema_comes_back_as_delta_has_it(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("flag", pa.bool_()),
            ("price", pa.decimal128(12, 2)),
            ("at", pa.timestamp("us", tz="UTC")),
            ("plain", pa.timestamp("us")),
            ("tags", pa.list_(pa.field("element", pa.string()))),
            ("nested", pa.struct([("a", pa.map_(pa.string(), pa.int32()))])),
        ]
    )
    staged = replace(stage(LocalFiles(tmp_path)), schema=schema)
    assert from_json(to_json(staged)).schema == schema


# --- what is durable when ------------------------------------------------------------------------


def test_the_order_of_durable_writes(tmp_path: Path) -> None:
    """ADR 0020. A seal that syncs later, less or in another order fails here."""
    files = LoggedFiles(LocalFiles(tmp_path / "orders"))
    stage(files)
    assert files.log == [
        ("make", FOLDER),
        ("create", ATTEMPT.part(0)),
        ("create", ATTEMPT.quarantine(0)),
        ("sync", ATTEMPT.part(0)),
        ("sync", ATTEMPT.quarantine(0)),
        ("create", ATTEMPT.manifest),
        ("sync", ATTEMPT.manifest),
        ("sync", FOLDER),
        *(("sync", folder) for folder in parents(FOLDER)),
    ]


def test_every_sync_reaches_the_disk(tmp_path: Path, synced: list[Path]) -> None:
    root = tmp_path / "new" / "orders"
    stage(LocalFiles(root))
    wanted = [root / ATTEMPT.part(0), root / ATTEMPT.manifest, root / FOLDER, root, root.parent, tmp_path]
    assert [path for path in synced if path in wanted] == wanted


def test_nothing_is_staged_before_the_files_are_closed(tmp_path: Path) -> None:
    files = LoggedFiles(LocalFiles(tmp_path))
    writer = AttemptWriter(files, ATTEMPT)
    writer.accept(batch())
    writer.close()
    assert not [what for what, _ in files.log if what == "sync"]


# --- rows that do not add up ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "tally",
    [
        Tally(read=11, staged=10),
        Tally(read=11, staged=11),
        Tally(read=10, staged=9, filtered=1),
        Tally(read=12, staged=10, quarantined=2),
    ],
    ids=["a row is nowhere", "not written", "written, not counted", "set aside, not written"],
)
def test_an_unbalanced_tally_seals_nothing(tmp_path: Path, tally: Tally) -> None:
    with AttemptWriter(LocalFiles(tmp_path), ATTEMPT) as writer:
        writer.accept(batch(rows=10))
        writer.accept_quarantined(quarantined(1))
        with pytest.raises(TallyUnbalanced):
            seal(writer, tally)
        writer.abandon()
    assert not (tmp_path / ATTEMPT.manifest).exists()


# --- what happened since -------------------------------------------------------------------------


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("which", [ATTEMPT.part(0), ATTEMPT.quarantine(0)], ids=["rows", "quarantine"])
@pytest.mark.parametrize(
    ("harm", "problem"),
    [(Path.unlink, "missing"), (_cut, "wrong size"), (_flip, "wrong content")],
    ids=["missing", "short", "corrupt"],
)
def test_a_file_that_is_not_what_was_sealed_is_found_out(
    files: Files, tmp_path: Path, which: str, harm: object, problem: str
) -> None:
    staged = stage(files)
    harm(tmp_path / "orders" / which)  # type: ignore[operator]
    with pytest.raises(StagedUnfit) as raised:
        verify(files, staged)
    assert (raised.value.path, raised.value.problem) == (which, problem)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2}', '{"version": 1}', '{"version": 1, "chunk": 3}'])
def test_a_damaged_manifest_is_not_believed(tmp_path: Path, text: str) -> None:
    files = LocalFiles(tmp_path)
    stage(files)
    (tmp_path / ATTEMPT.manifest).write_text(text)
    with pytest.raises(StagedUnfit, match="unreadable"):
        read_manifest(files, FOLDER)


def test_an_attempt_that_was_never_sealed_has_no_manifest(files: Files) -> None:
    AttemptWriter(files, ATTEMPT)
    with pytest.raises(StagedUnfit, match="missing"):
        read_manifest(files, FOLDER)


def test_a_manifest_of_another_attempt_is_not_believed(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    staged = stage(files)
    (tmp_path / ATTEMPT.manifest).write_text(to_json(replace(staged, attempt=2)))
    with pytest.raises(StagedUnfit, match="wrong content"):
        verify(files, staged)


# --- killed on the way ---------------------------------------------------------------------------

CHILD = """
import sys
from pathlib import Path
from hakiri.stage.local import LocalFiles
from stage.attempts import stage
stage(LocalFiles(Path(sys.argv[1])))
"""


def killed_at(boundary: str, root: Path) -> int:
    environment = {**os.environ, STOP_AT: boundary}
    command = [sys.executable, "-c", CHILD, str(root)]
    return subprocess.run(command, cwd=Path(__file__).parents[1], env=environment, check=False).returncode


@pytest.mark.parametrize(
    ("boundary", "left"),
    [
        (Boundary.BATCH_WRITTEN, set()),
        (f"{Boundary.FILE_CLOSED}:2", {"part-00000.parquet", "quarantine-00000.parquet"}),
        (Boundary.SEALED, {"part-00000.parquet", "quarantine-00000.parquet"}),
        (Boundary.MANIFEST_WRITTEN, {"part-00000.parquet", "quarantine-00000.parquet", "_manifest.json"}),
    ],
)
def test_an_attempt_that_was_killed_is_an_orphan_or_whole(tmp_path: Path, boundary: str, left: set[str]) -> None:
    assert killed_at(boundary, tmp_path) == -signal.SIGKILL
    assert {path.name for path in (tmp_path / FOLDER).iterdir()} == left
    whole: StagedChunk | None = None
    if "_manifest.json" in left:
        whole = read_manifest(LocalFiles(tmp_path), FOLDER)
        verify(LocalFiles(tmp_path), whole)
    second = stage(LocalFiles(tmp_path), replace(ATTEMPT, number=2))
    assert second.files[0].sha256 == (whole or second).files[0].sha256


def test_a_boundary_that_is_not_met_stops_nobody(tmp_path: Path) -> None:
    assert killed_at(f"{Boundary.FILE_CLOSED}:3", tmp_path) == 0
