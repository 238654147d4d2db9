"""Reads and writes the manifest of a sealed attempt, from which the staged chunk can be restored without the catalog.

The text is deterministic, so its SHA-256 identifies every file of the attempt.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from hakiri.model.chunk import ChunkKey
from hakiri.model.key import KeyValue, from_plain, to_plain
from hakiri.model.ledger import Sidecar
from hakiri.model.staged import Content, StagedChunk, StagedFile, Tally
from hakiri.model.types.arrow import from_fields, to_schema
from hakiri.model.types.delta import from_delta, to_delta
from hakiri.stage.errors import StagedUnfit
from hakiri.stage.layout import MANIFEST
from hakiri.stage.port import Files

VERSION = 1


def to_json(staged: StagedChunk) -> str:
    """Write the manifest: sorted keys, one line per fact, a newline at the end."""
    plain = {
        "version": VERSION,
        "chunk": asdict(staged.chunk),
        "run": staged.run,
        "node": staged.node,
        "attempt": staged.attempt,
        "folder": staged.folder,
        "rows": sum(file.rows for file in staged.files),
        "bytes": sum(file.bytes for file in staged.files),
        "files": [asdict(file) for file in staged.files],
        "quarantine": [asdict(file) for file in staged.quarantine],
        "tally": _tally(staged.tally),
        "cursor_low": _bound_to_plain(staged.cursor_low),
        "cursor_high": _bound_to_plain(staged.cursor_high),
        "content": staged.content and asdict(staged.content),
        "predicate": staged.predicate,
        "schema": to_delta(from_fields(staged.schema)),
    }
    if staged.ingested_at is not None:  # so that manifests of earlier releases keep their fingerprint
        plain["ingested_at"] = staged.ingested_at.isoformat()
    if staged.transform:
        plain["transform"] = staged.transform
    if staged.token is not None:
        plain["token"] = to_plain(staged.token)
    return json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def from_json(text: str | bytes) -> StagedChunk:
    """Parse what `to_json` wrote. Raises ValueError for any other text, including newer versions."""
    plain = json.loads(text)
    if not isinstance(plain, dict) or plain.get("version") != VERSION:
        raise ValueError("not a manifest of this version")
    try:
        return _from_plain(plain)
    except (KeyError, TypeError) as cause:
        raise ValueError("not a manifest") from cause


def fingerprint(staged: StagedChunk) -> str:
    """Return the SHA-256 of the manifest, which the catalog records for the attempt."""
    return hashlib.sha256(to_json(staged).encode()).hexdigest()


def sidecar_of(staged: StagedChunk) -> Sidecar:
    """Return the manifest as a sidecar of a snapshot; the path is relative to the table's Delta root."""
    text = to_json(staged).encode()
    return Sidecar(f"{staged.folder}/{MANIFEST}", len(text), hashlib.sha256(text).hexdigest())


def read_manifest(files: Files, folder: str) -> StagedChunk:
    """Read the manifest of the attempt in this folder. Raises StagedUnfit if it is missing or damaged."""
    path = f"{folder}/{MANIFEST}"
    try:
        with files.open(path) as file:
            staged = from_json(file.read())
    except FileNotFoundError as cause:
        raise StagedUnfit(folder=folder, path=path, problem="missing") from cause
    except ValueError as cause:
        raise StagedUnfit(folder=folder, path=path, problem="unreadable") from cause
    if staged.folder != folder:
        raise StagedUnfit(folder=folder, path=path, problem="wrong content")
    return staged


def _from_plain(plain: dict[str, Any]) -> StagedChunk:
    return StagedChunk(
        chunk=ChunkKey(**plain["chunk"]),
        run=plain["run"],
        node=plain["node"],
        attempt=plain["attempt"],
        folder=plain["folder"],
        schema=to_schema(from_delta(plain["schema"])),
        files=tuple(StagedFile(**file) for file in plain["files"]),
        quarantine=tuple(StagedFile(**file) for file in plain["quarantine"]),
        tally=Tally(**plain["tally"]),
        cursor_low=_bound_from_plain(plain["cursor_low"]),
        cursor_high=_bound_from_plain(plain["cursor_high"]),
        token=_bound_from_plain(plain.get("token")),
        content=Content(**plain["content"]) if plain["content"] else None,
        predicate=plain.get("predicate", ""),
        ingested_at=datetime.fromisoformat(plain["ingested_at"]) if "ingested_at" in plain else None,
        transform=plain.get("transform", ""),
    )


def _tally(tally: Tally) -> dict[str, int]:
    """Return the counts; `merged` and `added` are left out if zero, to keep fingerprints of earlier releases."""
    return {kind: count for kind, count in asdict(tally).items() if count or kind not in ("merged", "added")}


def _bound_to_plain(value: KeyValue | None) -> list[str] | None:
    return None if value is None else to_plain(value)


def _bound_from_plain(plain: Any) -> KeyValue | None:
    return None if plain is None else from_plain(plain)
