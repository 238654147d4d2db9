"""Decide whether staged files may be added to a table without rewriting them."""

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
"""Adopt more files than this only if they are large on average, to avoid many small files."""

# Delta logs store paths as URLs, and engines differ in what they escape.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_=/-][A-Za-z0-9_=./-]*")
_UNDERSTOOD = frozenset(("appendOnly", "invariants", "timestampNtz"))


def can_adopt(request: LandRequest, agreement: Agreement, state: DeltaState | None) -> bool:
    """Return whether the staged files can be added to the table without rewriting them."""
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
    """Return whether the files of a build, which have the landing's types, can be added to the table."""
    return (
        folder_of(request.target) is not None
        and request.may_adopt
        and (state is None or _is_plain(state, agreement))
        and not (state and request.replaces_table and _is_append_only(state))
        and not needs_mapped_names(agreement.schema)
    )


def is_worth_adopting(files: list[StagedFile]) -> bool:
    """Return whether readers gain more from these files than from fewer, rewritten ones."""
    return len(files) <= MANY_FILES or sum(file.bytes for file in files) >= SMALL_BYTES * len(files)


def _is_plain(state: DeltaState, agreement: Agreement) -> bool:
    return (
        not agreement.changes_table
        and not state.layout.partition_by
        and state.features <= _UNDERSTOOD
        and all(field.is_nullable for field in state.schema.fields)
    )


def _is_append_only(state: DeltaState) -> bool:
    """Return whether the table forbids removing rows. Spark says so clearly; delta-rs only reports a conflict."""
    return dict(state.layout.properties).get("delta.appendOnly", "false") != "false"


def _fits(chunk: StagedChunk, schema: Struct) -> bool:
    """Return whether each column of the chunk has the same name, case and type as the table's."""
    staged = table_type(chunk.schema, table=chunk.chunk.table)
    return not any(map(why_not, chunk.schema.types)) and all(
        (found := schema.find(field.name)) is not None and (found.name, found.type) == (field.name, field.type)
        for field in staged.fields
    )
