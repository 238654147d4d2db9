"""Files are adopted only where the table they would join can be understood by everyone who reads it."""

from __future__ import annotations

import re

from hakiri.land.decide.reconcile import Agreement
from hakiri.land.modes import mode_of
from hakiri.land.recipe import LandRequest
from hakiri.land.staged.types import table_type
from hakiri.land.table_state import DeltaState
from hakiri.land.target import folder_of
from hakiri.model.staged import StagedChunk, StagedFile
from hakiri.model.types import Struct, needs_mapped_names
from hakiri.model.types.arrow import why_not

SMALL_BYTES = 8 * 1024 * 1024
MANY_FILES = 8
"""More files than this have to be large on average: many small chunks never make many small files."""

# In a log a path is a URL, and engines disagree on what they escape in one.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_=/-][A-Za-z0-9_=./-]*")
_UNDERSTOOD = frozenset(("appendOnly", "invariants", "timestampNtz"))


def can_adopt(request: LandRequest, agreement: Agreement, state: DeltaState | None) -> bool:
    """Whether the staged files may become files of the table as they lie."""
    roots = (str(folder_of(request.target)), getattr(request.target, "path", "").rstrip("/"))
    files = [file for chunk in request.chunks for file in chunk.files]
    return (
        can_adopt_build(request, agreement, state)
        and mode_of(request).can_adopt(state)
        and request.root.rstrip("/") in roots
        and all(_fits(chunk, agreement.schema) for chunk in request.chunks)
        and all(_PLAIN_PATH.fullmatch(file.path) for file in files)
        and is_worth_adopting(files)
    )


def can_adopt_build(request: LandRequest, agreement: Agreement, state: DeltaState | None) -> bool:
    """Whether files that Spark wrote in the landing's own types may become files of the table."""
    return (
        folder_of(request.target) is not None
        and request.may_adopt
        and (state is None or _is_plain(state, agreement))
        and not (state and request.replaces_table and _is_append_only(state))
        and not needs_mapped_names(agreement.schema)
    )


def is_worth_adopting(files: list[StagedFile]) -> bool:
    """Whether readers are better served by these files than by a rewrite into fewer."""
    return len(files) <= MANY_FILES or sum(file.bytes for file in files) >= SMALL_BYTES * len(files)


def _is_plain(state: DeltaState, agreement: Agreement) -> bool:
    return (
        not agreement.changes_table
        and not state.layout.partition_by
        and state.features <= _UNDERSTOOD
        and all(field.is_nullable for field in state.schema.fields)
    )


def _is_append_only(state: DeltaState) -> bool:
    """Whether rows of the table stay for good: Spark says so clearly, and delta-rs as if another writer were first."""
    return dict(state.layout.properties).get("delta.appendOnly", "false") != "false"


def _fits(chunk: StagedChunk, schema: Struct) -> bool:
    """Whether each column of the chunk is a column of the table, spelt and typed the same."""
    staged = table_type(chunk.schema, table=chunk.chunk.table)
    return not any(map(why_not, chunk.schema.types)) and all(
        (found := schema.find(field.name)) is not None and (found.name, found.type) == (field.name, field.type)
        for field in staged.fields
    )
