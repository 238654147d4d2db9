"""Seals an attempt, so that it survives a power failure, and verifies sealed files (G3)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from hakiri.model.crash_points import Boundary, passing
from hakiri.model.key import KeyValue
from hakiri.model.staged import Content, StagedChunk, StagedFile, Tally
from hakiri.stage.errors import StagedUnfit, TallyUnbalanced
from hakiri.stage.fingerprint import read_fingerprint
from hakiri.stage.layout import parents
from hakiri.stage.manifest import fingerprint, read_manifest, to_json
from hakiri.stage.port import Files
from hakiri.stage.writer import AttemptWriter


def seal(
    writer: AttemptWriter,
    tally: Tally,
    *,
    cursor_low: KeyValue | None = None,
    cursor_high: KeyValue | None = None,
    content: Content | None = None,
    token: KeyValue | None = None,
    predicate: str = "",
    ingested_at: datetime | None = None,
    transform: str = "",
) -> StagedChunk:
    """Finish the attempt and make it durable. Call it once, before the catalog records the attempt.

    The order is that of ADR 0020: the files' content; the manifest's content; the attempt's folder; its parents, up to
    the table's root. Raises TallyUnbalanced, and writes no manifest, if a row is not accounted for.
    """
    _check(writer, tally)
    files, quarantine = writer.close()
    for file in (*files, *quarantine):
        writer.files.sync_file(file.path)
    passing(Boundary.SEALED)
    attempt = writer.attempt
    staged = StagedChunk(
        chunk=attempt.chunk,
        run=attempt.run,
        node=attempt.node,
        attempt=attempt.number,
        folder=attempt.folder,
        schema=writer.schema,
        files=files,
        quarantine=quarantine,
        tally=tally,
        cursor_low=cursor_low,
        cursor_high=cursor_high,
        content=content,
        token=token,
        predicate=predicate,
        ingested_at=ingested_at,
        transform=transform,
    )
    _write_manifest(writer.files, attempt.manifest, staged)
    # From the inside out: an entry becomes durable only after what it refers to. All parents, because another worker
    # may just have created one of them without syncing it.
    for folder in (attempt.folder, *parents(attempt.folder)):
        writer.files.sync_folder(folder)
    passing(Boundary.MANIFEST_WRITTEN)
    return staged


def verify(files: Files, staged: StagedChunk) -> None:
    """Check that every file exists and has the sealed content. Raises StagedUnfit. A repeat checks again."""
    if fingerprint(read_manifest(files, staged.folder)) != fingerprint(staged):
        raise StagedUnfit(folder=staged.folder, path=f"{staged.folder}/", problem="wrong content")
    for file in (*staged.files, *staged.quarantine):
        if problem := _problem(files, file):
            raise StagedUnfit(folder=staged.folder, path=file.path, problem=problem)


def _check(writer: AttemptWriter, tally: Tally) -> None:
    """Check that the tally and the files have the same rows (G6)."""
    folder = writer.attempt.folder
    if not tally.is_balanced:
        raise TallyUnbalanced(folder=folder, reason=f"{tally}")
    for what, counted, written in [
        ("staged", tally.staged, writer.staged_rows),
        ("quarantined", tally.quarantined, writer.set_aside_rows),
    ]:
        if counted != written:
            raise TallyUnbalanced(folder=folder, reason=f"{counted} rows counted as {what}, {written} written")


def _write_manifest(files: Files, path: str, staged: StagedChunk) -> None:
    with files.create(path) as file:
        file.write(to_json(staged).encode())
    files.sync_file(path)


def _problem(files: Files, file: StagedFile) -> Literal["missing", "wrong size", "wrong content"] | None:
    try:
        with files.open(file.path) as opened:
            size, sha256 = read_fingerprint(opened)
    except FileNotFoundError:
        return "missing"
    if size != file.bytes:
        return "wrong size"
    return None if sha256 == file.sha256 else "wrong content"
