"""One look at the table and one request give one recipe: this is where a load mode is chosen and nothing is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, assert_never

from hakiri.land.decide.adoptable import can_adopt
from hakiri.land.decide.reconcile import Agreement, reconcile
from hakiri.land.decide.same_rows import Given, comparisons, given_by
from hakiri.land.errors import KeyMissing, MirrorUnfit, RowsUncounted, WatermarkMissing
from hakiri.land.layout import lacking, renamed_layout, require_fit, with_names
from hakiri.land.modes.append import Overlap, append
from hakiri.land.modes.blue_green import blue_green
from hakiri.land.modes.cdc_mirror import cdc_mirror, of_staged, of_tombstones, tombstones, with_mirrored
from hakiri.land.modes.incremental_watermark import incremental_watermark
from hakiri.land.modes.truncate import truncate
from hakiri.land.modes.upsert import latest, upsert
from hakiri.land.recipe import MAPPED_NAMES, LandRequest, Mirror, Part, Recipe, Steps
from hakiri.land.staged.files import has_distinct_keys
from hakiri.land.staged.sample import sample_column
from hakiri.land.staged.types import table_type
from hakiri.land.stamp import stamp_of
from hakiri.land.table_state import DeltaState
from hakiri.land.target import PathTarget, folder_of, sql_name
from hakiri.model.change import DELETED_COLUMN, HISTORY, KEPT_COLUMN, MIRRORED
from hakiri.model.column_renames import doubled, outdated
from hakiri.model.errors import RenameUnfit, SchemaDrift, SchemaIncompatible
from hakiri.model.key import KeyValue
from hakiri.model.staged import StagedChunk, StagedFile
from hakiri.model.types import Array, Decimal, Field, Map, Simple, Struct, Type, columns_of, needs_mapped_names
from hakiri.spec.load import LoadMode

_KEEP_LOG = ("delta.logRetentionDuration", "interval 365 days")
_NO_DELETION_VECTORS = ("delta.enableDeletionVectors", "false")
_NTZ = ("delta.feature.timestampNtz", "supported")
_WIDENING = ("delta.enableTypeWidening", "true")


def decide(request: LandRequest, state: DeltaState | None) -> Recipe:
    """The recipe for this table at this version.

    Raises SchemaIncompatible, SchemaDrift, TypeUnsupported, ColumnsCollide, RenameUnfit, LayoutUnfit, KeyMissing,
    WatermarkMissing, MirrorUnfit, RowsUncounted, StagedFileUnfit or LandingTooLarge.
    """
    _require_whole(request)
    renames = {} if state is None else _renames(request, state.schema)
    if state is not None:
        layout = renamed_layout(state.layout, renames)
        state = replace(state, schema=state.schema.renamed(renames), layout=layout)
    stored = state.schema if state else None
    staged = [_staged(request, chunk) for chunk in request.chunks]
    agreement = _agree(request, stored, [_landed(request, one) for one in staged])
    _require_still(request, stored, agreement.schema)
    seen = _seen(request, agreement.schema)
    parts = _parts(request, staged, agreement, seen)
    steps = _steps(request, agreement.schema, state, parts)
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
        tells_places=request.mode is LoadMode.UPSERT or request.keeps_latest,
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
    """The chunk's columns by the names they have now; it may have been staged before they had them."""
    own = _as_read(request, chunk)
    _require_single(request, own)
    return own.renamed(outdated(own.names, request.renamed))


def _as_read(request: LandRequest, chunk: StagedChunk) -> Struct:
    return table_type(chunk.schema, table=request.landing.table.table)


def _renames(request: LandRequest, stored: Struct) -> dict[str, str]:
    """The stored columns that have to be renamed first. Raises RenameUnfit."""
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
    """A table on a path is rewritten once instead: files are adopted by a table whose names are not mapped."""
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
    """A strict table has the columns that it had. Raises SchemaDrift."""
    if stored is None or not request.is_strict:
        return
    stored, schema = (Struct(tuple(own for own in one.fields if own.name != KEPT_COLUMN)) for one in (stored, schema))
    if schema == stored:
        return
    before, after = dict(columns_of(stored)), dict(columns_of(schema))
    changes = [f"~ {name} {before[name]} -> {kind}" for name, kind in after.items() if before.get(name, kind) != kind]
    changes += [f"+ {name} {kind}" for name, kind in after.items() if name not in before]
    table = request.landing.table
    raise SchemaDrift(pipeline=table.pipeline, table=table.table, changes=tuple(changes))


def _landed(request: LandRequest, staged: Struct) -> Struct:
    """What a chunk's columns become in the table: of changes, what a mirror makes of them."""
    if request.mirror is None:
        return staged
    return (of_tombstones if request.mirror.is_of_tombstones else with_mirrored)(staged, request.mirror)


def _seen(request: LandRequest, schema: Struct) -> Struct:
    """The columns of the staged rows: the table's, and those of a change."""
    return schema if request.mirror is None else of_staged(schema)


def _parts(request: LandRequest, staged: Sequence[Struct], agreement: Agreement, seen: Struct) -> tuple[Part, ...]:
    """The files by the types they are read in: Parquet gives a number as a wider number, and never as a text."""
    alike: dict[tuple[Struct, frozenset[str]], list[StagedFile]] = {}
    for chunk, own in zip(request.chunks, staged, strict=True):
        fields = ((own.find(one.name) or one) if one.name in agreement.texts else one for one in seen.fields)
        old = {new: name for name, new in outdated(chunk.schema.names, request.renamed).items()}
        alike.setdefault((Struct(tuple(fields)).renamed(old), given_by(own)), []).extend(chunk.files)
    return tuple(Part(schema, tuple(files), given) for (schema, given), files in alike.items())


def _require_whole(request: LandRequest) -> None:
    """The chunks are those the landing names, and their files hold what their tallies say (G6)."""
    named, brought = set(request.landing.chunks), {chunk.chunk for chunk in request.chunks}
    if not brought <= named or (named != brought and not request.is_sparse):
        raise AssertionError("a landing brings exactly the chunks it was reserved for")
    rows = sum(file.rows for chunk in request.chunks for file in chunk.files)
    if request.tally.staged != rows or not request.tally.is_balanced:
        raise RowsUncounted(table=request.landing.table.table, expected=request.tally.staged, found=rows)


def _steps(request: LandRequest, schema: Struct, state: DeltaState | None, parts: tuple[Part, ...]) -> Steps:
    name, stored = sql_name(request.target), None if state is None else state.schema
    if request.mirror is not None:
        return _mirror_steps(request, request.mirror, schema, state)
    match request.mode:
        case LoadMode.APPEND:
            return append(name, schema, _overlap(request, schema, stored))
        case LoadMode.TRUNCATE if request.keeps_latest:
            first = _latest(request, schema)
            return replace(truncate(), rows=first.rows, required=first.required, takes_every_row=first.takes_every_row)
        case LoadMode.TRUNCATE:
            return truncate()
        case LoadMode.BLUE_GREEN:
            return blue_green()
        case LoadMode.INCREMENTAL_WATERMARK:
            watermark = _watermark(request, schema, state)
            _require_columns(request, schema)
            overlap = _overlapping(request, watermark.name, schema, stored)
            return incremental_watermark(name, schema, stored, watermark=watermark, overlap=overlap)
        case LoadMode.UPSERT:
            return _upsert(request, schema, state, parts)
        case LoadMode.CDC_MIRROR:
            raise AssertionError("a mirror is told what it is a mirror of")
        case _:
            assert_never(request.mode)


def _upsert(request: LandRequest, schema: Struct, state: DeltaState | None, parts: tuple[Part, ...]) -> Steps:
    if state is None:
        return _latest(request, schema)
    _require_key(request, schema, state.schema)
    return upsert(
        sql_name(request.target),
        schema,
        state.schema,
        key=request.key,
        cursor=_present(request.cursor, schema),
        given=Given(tuple(part.given for part in parts)),
        staged=_shapes(request),
        partition_by=state.layout.partition_by,
    )


def _watermark(request: LandRequest, schema: Struct, state: DeltaState | None) -> Field:
    """The column among those that land; a table that has rows has to have it already."""
    wanted = request.watermark or ""
    is_untold = state is not None and state.rows != 0 and state.schema.find(wanted) is None
    field = schema.find(wanted)
    if field is None or is_untold:
        raise WatermarkMissing(table=request.landing.table.table, column=wanted)
    return field


def _mirror_steps(request: LandRequest, mirror: Mirror, schema: Struct, state: DeltaState | None) -> Steps:
    name, table = sql_name(request.target), request.landing.table.table
    stored, parts = (state.schema, state.layout.partition_by) if state else (None, ())
    is_exchange = request.mode is LoadMode.TRUNCATE
    if missing := tuple(one for one in (*mirror.key, *mirror.sequence) if schema.find(one) is None):
        raise KeyMissing(table=table, columns=missing)
    if mirror.is_of_tombstones:
        return tombstones(name, schema, stored, mirror, is_exchange=is_exchange)
    wanted = {DELETED_COLUMN} if mirror.is_soft else set(HISTORY) if mirror.has_history else set()
    if stored is not None and (strange := _strange(stored, {*wanted, *mirror.sequence}, is_exchange=is_exchange)):
        raise MirrorUnfit(table=table, columns=strange)
    return cdc_mirror(name, schema, stored, mirror, is_exchange=is_exchange, partition_by=parts)


def _strange(stored: Struct, wanted: set[str], *, is_exchange: bool) -> tuple[str, ...]:
    """The columns by which the table is another kind of mirror, or none; one that is exchanged may lack some."""
    superfluous = (name for name in MIRRORED if name not in wanted and stored.find(name) is not None)
    lacking = () if is_exchange else (name for name in sorted(wanted) if stored.find(name) is None)
    return (*superfluous, *lacking)


def _latest(request: LandRequest, schema: Struct) -> Steps:
    """Insert the newest row of each key; on this machine's disk it is looked up whether those are all rows."""
    _require_key(request, schema, None)
    return Steps(
        rows=latest(schema, key=request.key, cursor=_present(request.cursor, schema)),
        required=request.key,
        takes_every_row=folder_of(request.target) is not None and has_distinct_keys(request),
        may_rest=True,
    )


def _overlap(request: LandRequest, schema: Struct, stored: Struct | None) -> Overlap | None:
    if not request.removes_overlap:
        return None
    _require_columns(request, schema)
    return _overlapping(request, _present(request.cursor, schema), schema, stored)


def _overlapping(request: LandRequest, cursor: str | None, schema: Struct, stored: Struct | None) -> Overlap:
    if stored is None:
        return Overlap(key=request.key, cursor=cursor)
    found = comparisons(schema, stored, _shapes(request), request.shapes, request.renamed)
    floor = _floor(request.chunks) if cursor and stored.find(cursor) else None
    return Overlap(found, request.key, cursor, floor)


def _shapes(request: LandRequest) -> tuple[Struct, ...]:
    """The columns that the staged rows were read with, by the names they had then."""
    return tuple(dict.fromkeys(_as_read(request, chunk) for chunk in request.chunks if chunk.files))


def _floor(chunks: tuple[StagedChunk, ...]) -> KeyValue | None:
    """The least cursor value of all chunks with rows; None when one of them does not know its own."""
    lows = [chunk.cursor_low for chunk in chunks if chunk.files]
    known: list[KeyValue] = [low for low in lows if low is not None]
    if len(known) < len(lows) or len({type(low) for low in known}) != 1:
        return None
    return min(known, key=_sortable)


class _Sortable(Protocol):
    def __lt__(self, other: object, /) -> bool: ...


def _sortable(value: KeyValue) -> _Sortable:
    return value  # type: ignore[return-value]  # all are of one type


def _require_key(request: LandRequest, schema: Struct, stored: Struct | None) -> None:
    if not request.key:
        raise KeyMissing(table=request.landing.table.table)
    _require_columns(request, schema)
    if stored is not None:
        _require_columns(request, stored)


def _require_columns(request: LandRequest, schema: Struct) -> None:
    if missing := tuple(name for name in request.key if schema.find(name) is None):
        raise KeyMissing(table=request.landing.table.table, columns=missing)


def _present(name: str | None, schema: Struct) -> str | None:
    return name if name and schema.find(name) else None


def _properties(request: LandRequest, agreement: Agreement, state: DeltaState | None) -> tuple[tuple[str, str], ...]:
    """What the table has to be made with, or what it still lacks for this schema."""
    wanted = [MAPPED_NAMES] if needs_mapped_names(agreement.schema) else []
    if state is None:
        # delta-rs counts wrong where there are deletion vectors, and every table on a path is read by it.
        return (_KEEP_LOG, *wanted, *([_NO_DELETION_VECTORS] if isinstance(request.target, PathTarget) else []))
    if "columnMapping" in state.features:
        wanted = []
    if _has_ntz(agreement.schema) and "timestampNtz" not in state.features:
        wanted.append(_NTZ)
    # delta-rs cannot read a widened table either, so on a path the stored rows are rewritten instead.
    is_named = not isinstance(request.target, PathTarget)
    if agreement.widened and agreement.is_widening and is_named and "typeWidening" not in state.features:
        wanted.append(_WIDENING)
    return tuple(wanted)


def _has_ntz(kind: Type) -> bool:
    match kind:
        case Simple():
            return kind.name == "timestamp_ntz"
        case Decimal():
            return False
        case Array():
            return _has_ntz(kind.element)
        case Map():
            return _has_ntz(kind.key) or _has_ntz(kind.value)
        case Struct():
            return any(_has_ntz(field.type) for field in kind.fields)
