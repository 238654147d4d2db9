"""Decide what a landing will do, from one look at the table. Touches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hakiri.land.decide.adoptable import can_adopt
from hakiri.land.decide.reconcile import Agreement, reconcile
from hakiri.land.decide.same_rows import ColumnPath, given_by
from hakiri.land.errors import RowsUncounted
from hakiri.land.layout import lacking, renamed_layout, require_fit, with_names
from hakiri.land.modes import mode_of
from hakiri.land.modes.port import Situation
from hakiri.land.recipe import MAPPED_NAMES, LandRequest, Part, Recipe
from hakiri.land.staged.sample import sample_column
from hakiri.land.staged.types import table_type
from hakiri.land.stamp import stamp_of
from hakiri.land.table_state import DeltaState
from hakiri.land.target import PathTarget
from hakiri.model.columns.change import KEPT_COLUMN
from hakiri.model.columns.renames import doubled, outdated
from hakiri.model.errors import RenameUnfit, SchemaDrift, SchemaIncompatible
from hakiri.model.staged import StagedChunk, StagedFile
from hakiri.model.types import TIMESTAMP_NTZ, Struct, needs_mapped_names, within
from hakiri.model.types.text import shown_type

_KEEP_LOG = ("delta.logRetentionDuration", "interval 365 days")
_NO_DELETION_VECTORS = ("delta.enableDeletionVectors", "false")
_NTZ = ("delta.feature.timestampNtz", "supported")
_WIDENING = ("delta.enableTypeWidening", "true")


def decide(request: LandRequest, state: DeltaState | None) -> Recipe:
    """Return the recipe for this table at this version.

    Raises SchemaIncompatible, SchemaDrift, TypeUnsupported, ColumnsCollide, RenameUnfit, LayoutUnfit, KeyMissing,
    WatermarkMissing, MirrorUnfit, RowsUncounted, StagedFileUnfit or LandingTooLarge.
    """
    _require_whole(request)
    renames = {} if state is None else _renames(request, state.schema)
    if state is not None:
        layout = renamed_layout(state.layout, renames)
        state = replace(state, schema=state.schema.renamed(renames), layout=layout)
    stored, mode = state.schema if state else None, mode_of(request)
    staged = [_staged(request, chunk) for chunk in request.chunks]
    agreement = _agree(request, stored, [mode.landed_columns(one, request) for one in staged])
    _require_still(request, stored, agreement.schema)
    seen = mode.staged_columns(agreement.schema)
    parts = _parts(request, staged, agreement, seen)
    steps = mode.steps(Situation(request, agreement.schema, state, parts))
    found = state.layout if state else None
    require_fit(request.layout, found, agreement.schema, table=request.landing.table.table)
    wanted = with_names(request.layout, agreement.schema)
    properties = _properties(request, agreement, state)
    can_widen = _WIDENING in properties or (state is not None and "typeWidening" in state.features)
    return Recipe(
        target=request.target,
        stamp=stamp_of(request.project, request.landing, tuple(dict.fromkeys(chunk.run for chunk in request.chunks))),
        parts=parts,
        root=request.root,
        agreement=agreement,
        steps=steps,
        staged=seen,
        tells_places=request.lands_latest,
        tally=request.tally,
        adopts=can_adopt(request, agreement, state),
        is_new=state is None,
        properties=properties,
        comment=request.comment,
        widens_in_place=can_widen and agreement.is_widening,
        layout=wanted if state is None else lacking(wanted, state.layout, state.schema),
        renames=renames,
        renames_in_place=_renames_in_place(request, state),
    )


def _staged(request: LandRequest, chunk: StagedChunk) -> Struct:
    """Return the chunk's columns by their present names; it may have been staged under older ones."""
    own = _as_read(request, chunk)
    _require_single(request, own)
    return own.renamed(outdated(own.names, request.renamed))


def _as_read(request: LandRequest, chunk: StagedChunk) -> Struct:
    return table_type(chunk.schema, table=request.landing.table.table)


def _renames(request: LandRequest, stored: Struct) -> dict[str, str]:
    """Return the stored columns to rename first, with their new names. Raises RenameUnfit."""
    _require_single(request, stored)
    return outdated(stored.names, request.renamed)


def _require_single(request: LandRequest, columns: Struct) -> None:
    if both := doubled(columns.names, request.renamed):
        raise _unfit(request, both, "both names are there")


def _unfit(request: LandRequest, name: str, reason: str) -> RenameUnfit:
    table = request.landing.table
    return RenameUnfit(
        pipeline=table.pipeline, table=table.table, before=request.renamed[name], after=name, reason=reason
    )


def _renames_in_place(request: LandRequest, state: DeltaState | None) -> bool:
    """Return whether Delta renames the columns without a rewrite.

    A table on a path is rewritten once instead, because files can only be added to a table whose names are not mapped.
    """
    is_mapped = state is not None and "columnMapping" in state.features
    return is_mapped or not isinstance(request.target, PathTarget)


def _agree(request: LandRequest, stored: Struct | None, staged: Sequence[Struct]) -> Agreement:
    table = request.landing.table
    try:
        return reconcile(stored, staged, pipeline=table.pipeline, table=table.table, accepted=request.accepted)
    except SchemaIncompatible as refused:
        refused.sample = sample_column(request.root, request.chunks, refused.column)
        raise


def _require_still(request: LandRequest, stored: Struct | None, schema: Struct) -> None:
    """Require that a strict table keeps its columns. Raises SchemaDrift."""
    if stored is None or not request.is_strict:
        return
    stored, schema = (Struct(tuple(own for own in one.fields if own.name != KEPT_COLUMN)) for one in (stored, schema))
    if schema == stored:
        return
    before, after = ({own.name: shown_type(own.type) for own in one.fields} for one in (stored, schema))
    changes = [f"~ {name} {before[name]} -> {kind}" for name, kind in after.items() if before.get(name, kind) != kind]
    changes += [f"+ {name} {kind}" for name, kind in after.items() if name not in before]
    table = request.landing.table
    raise SchemaDrift(pipeline=table.pipeline, table=table.table, changes=tuple(changes))


def _parts(request: LandRequest, staged: Sequence[Struct], agreement: Agreement, seen: Struct) -> tuple[Part, ...]:
    """Group the files by the types to read them in. Parquet reads a number as a wider number, but not as text."""
    alike: dict[tuple[Struct, frozenset[ColumnPath]], list[StagedFile]] = {}
    for chunk, own in zip(request.chunks, staged, strict=True):
        fields = ((own.find(one.name) or one) if one.name in agreement.texts else one for one in seen.fields)
        old = {new: name for name, new in outdated(chunk.schema.names, request.renamed).items()}
        alike.setdefault((Struct(tuple(fields)).renamed(old), given_by(own)), []).extend(chunk.files)
    return tuple(Part(schema, tuple(files), given) for (schema, given), files in alike.items())


def _require_whole(request: LandRequest) -> None:
    """Require the chunks that the landing names, with as many rows as were counted (G6). Raises RowsUncounted."""
    named, brought = set(request.landing.chunks), {chunk.chunk for chunk in request.chunks}
    if not brought <= named or (named != brought and not request.is_sparse):
        raise AssertionError("a landing brings exactly the chunks it was reserved for")
    rows = sum(file.rows for chunk in request.chunks for file in chunk.files)
    if request.tally.staged != rows or not request.tally.is_balanced:
        raise RowsUncounted(table=request.landing.table.table, expected=request.tally.staged, found=rows)


def _properties(request: LandRequest, agreement: Agreement, state: DeltaState | None) -> tuple[tuple[str, str], ...]:
    """Return the properties of a new table, or those that an existing one lacks for this schema."""
    wanted = [MAPPED_NAMES] if needs_mapped_names(agreement.schema) else []
    if state is None:
        # delta-rs reads every table on a path, and miscounts rows if there are deletion vectors.
        return (_KEEP_LOG, *wanted, *([_NO_DELETION_VECTORS] if isinstance(request.target, PathTarget) else []))
    if "columnMapping" in state.features:
        wanted = []
    if TIMESTAMP_NTZ in within(agreement.schema) and "timestampNtz" not in state.features:
        wanted.append(_NTZ)
    # delta-rs cannot read widened tables, so on a path the stored rows are rewritten instead.
    is_named = not isinstance(request.target, PathTarget)
    if agreement.widened and agreement.is_widening and is_named and "typeWidening" not in state.features:
        wanted.append(_WIDENING)
    return tuple(wanted)
