"""One look at the table and one request give one recipe: this is where a load mode is chosen and nothing is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hakiri.errors import KeyMissing, MirrorUnfit, ModeUnavailable, RowsUncounted, SchemaIncompatible
from hakiri.land.adoptable import can_adopt
from hakiri.land.modes.append import Overlap, append
from hakiri.land.modes.cdc_mirror import cdc_mirror, of_tombstones, tombstones, with_mirrored
from hakiri.land.modes.truncate import truncate
from hakiri.land.modes.upsert import upsert
from hakiri.land.peek import sample
from hakiri.land.recipe import LandRequest, Mirror, Part, Recipe, Steps
from hakiri.land.reconcile import Agreement, reconcile
from hakiri.land.staged_types import table_type
from hakiri.land.stamp import stamp_of
from hakiri.land.standing import Standing
from hakiri.land.target import PathTarget, sql_name
from hakiri.land.types import Array, Decimal, Field, Map, Simple, Struct, Type, needs_mapped_names, sql_type
from hakiri.model.change import DELETED_COLUMN, HISTORY, MIRRORED, OP_COLUMN
from hakiri.model.key import KeyValue
from hakiri.model.staged import StagedChunk, StagedFile
from hakiri.spec.load import LoadMode

AVAILABLE = (LoadMode.APPEND.value, LoadMode.TRUNCATE.value, LoadMode.UPSERT.value, LoadMode.CDC_MIRROR.value)

_KEEP_LOG = ("delta.logRetentionDuration", "interval 365 days")
_NO_DELETION_VECTORS = ("delta.enableDeletionVectors", "false")
_MAPPED_NAMES = ("delta.columnMapping.mode", "name")
_NTZ = ("delta.feature.timestampNtz", "supported")
_WIDENING = ("delta.enableTypeWidening", "true")


def choose(request: LandRequest, standing: Standing | None) -> Recipe:
    """The recipe for this table at this version.

    Raises SchemaIncompatible, TypeUnsupported, ColumnsCollide, KeyMissing, MirrorUnfit, RowsUncounted or
    LandingTooLarge.
    """
    table = request.landing.table
    _require_whole(request)
    stored = None if standing is None else standing.schema
    staged = [table_type(chunk.schema, table=table.table) for chunk in request.chunks]
    agreement = _agree(request, stored, [_landed(request, one) for one in staged])
    seen = _seen(request, agreement.schema)
    steps = _steps(request, agreement.schema, stored)
    properties = _properties(request, agreement, standing)
    can_widen = _WIDENING in properties or (standing is not None and "typeWidening" in standing.features)
    widens_in_place = can_widen and agreement.is_widening
    if widens_in_place:
        _require_flat(request, agreement, stored)
    return Recipe(
        target=request.target,
        stamp=stamp_of(request.project, request.landing, tuple(dict.fromkeys(chunk.run for chunk in request.chunks))),
        parts=_parts(request, staged, agreement, seen),
        root=request.root,
        agreement=agreement,
        steps=steps,
        staged=seen,
        tally=request.tally,
        adopts=can_adopt(request, agreement, standing),
        is_new=standing is None,
        properties=properties,
        comment=request.comment,
        widens_in_place=widens_in_place,
    )


def _agree(request: LandRequest, stored: Struct | None, staged: Sequence[Struct]) -> Agreement:
    table = request.landing.table
    try:
        return reconcile(stored, staged, pipeline=table.pipeline, table=table.table, accepted=request.accepted)
    except SchemaIncompatible as refused:
        refused.sample = sample(request.root, request.chunks, refused.column)
        raise


def _landed(request: LandRequest, staged: Struct) -> Struct:
    """What a chunk's columns become in the table: of changes, what a mirror makes of them."""
    if request.mirror is None:
        return staged
    return (of_tombstones if request.mirror.is_of_tombstones else with_mirrored)(staged, request.mirror)


def _seen(request: LandRequest, schema: Struct) -> Struct:
    """The columns of the staged rows: the table's, and what a change does."""
    is_told = request.mirror is None or schema.find(OP_COLUMN) is not None
    return schema if is_told else Struct((*schema.fields, Field(OP_COLUMN, Simple("string"))))


def _parts(request: LandRequest, staged: Sequence[Struct], agreement: Agreement, seen: Struct) -> tuple[Part, ...]:
    """The files by the types they are read in: Parquet gives a number as a wider number, and never as a text."""
    alike: dict[Struct, list[StagedFile]] = {}
    for chunk, own in zip(request.chunks, staged, strict=True):
        fields = ((own.find(one.name) or one) if one.name in agreement.texts else one for one in seen.fields)
        alike.setdefault(Struct(tuple(fields)), []).extend(chunk.files)
    return tuple(Part(schema, tuple(files)) for schema, files in alike.items())


def _require_whole(request: LandRequest) -> None:
    """The chunks are those the landing names, and their files hold what their tallies say (G6)."""
    named, brought = set(request.landing.chunks), {chunk.chunk for chunk in request.chunks}
    if not brought <= named or (named != brought and not request.is_sparse):
        raise AssertionError("a landing brings exactly the chunks it was reserved for")
    rows = sum(file.rows for chunk in request.chunks for file in chunk.files)
    if request.tally.staged != rows or not request.tally.is_balanced:
        raise RowsUncounted(table=request.landing.table.table, expected=request.tally.staged, found=rows)


def _steps(request: LandRequest, schema: Struct, stored: Struct | None) -> Steps:
    name = sql_name(request.target)
    if request.mirror is not None:
        return _mirror_steps(request, request.mirror, schema, stored)
    match request.mode:
        case LoadMode.APPEND:
            return append(name, schema, stored, _overlap(request, schema))
        case LoadMode.TRUNCATE:
            return truncate(name)
        case LoadMode.UPSERT:
            _require_key(request, schema, stored)
            return upsert(name, schema, stored, key=request.key, cursor=_present(request.cursor, schema))
        case other:
            raise ModeUnavailable(table=request.landing.table.table, mode=other.value, available=AVAILABLE)


def _mirror_steps(request: LandRequest, mirror: Mirror, schema: Struct, stored: Struct | None) -> Steps:
    name, table = sql_name(request.target), request.landing.table.table
    is_exchange = request.mode is LoadMode.TRUNCATE
    if missing := tuple(one for one in (*mirror.key, *mirror.sequence) if schema.find(one) is None):
        raise KeyMissing(table=table, columns=missing)
    if mirror.is_of_tombstones:
        return tombstones(name, schema, stored, mirror, is_exchange=is_exchange)
    wanted = {DELETED_COLUMN} if mirror.is_soft else set(HISTORY) if mirror.has_history else set()
    if stored is not None and (unfit := _unfit(stored, {*wanted, *mirror.sequence}, is_exchange=is_exchange)):
        raise MirrorUnfit(table=table, columns=unfit)
    return cdc_mirror(name, schema, stored, mirror, is_exchange=is_exchange)


def _unfit(stored: Struct, wanted: set[str], *, is_exchange: bool) -> tuple[str, ...]:
    """The columns by which the table is another kind of mirror, or none; one that is exchanged may lack some."""
    strange = (name for name in MIRRORED if name not in wanted and stored.find(name) is not None)
    lacking = () if is_exchange else (name for name in sorted(wanted) if stored.find(name) is None)
    return (*strange, *lacking)


def _overlap(request: LandRequest, schema: Struct) -> Overlap | None:
    if not request.removes_overlap:
        return None
    _require_columns(request, schema)
    return Overlap(key=request.key, cursor=_present(request.cursor, schema), floor=_floor(request.chunks))


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


def _properties(request: LandRequest, agreement: Agreement, standing: Standing | None) -> tuple[tuple[str, str], ...]:
    """What the table has to be made with, or what it still lacks for this schema."""
    wanted = [_MAPPED_NAMES] if needs_mapped_names(agreement.schema) else []
    if standing is None:
        # delta-rs counts wrong where there are deletion vectors, and every table on a path is read by it.
        return (_KEEP_LOG, *wanted, *([_NO_DELETION_VECTORS] if isinstance(request.target, PathTarget) else []))
    if "columnMapping" in standing.features:
        wanted = []
    if _has_ntz(agreement.schema) and "timestampNtz" not in standing.features:
        wanted.append(_NTZ)
    # delta-rs cannot read a widened table either, so on a path the stored rows are rewritten instead.
    is_named = not isinstance(request.target, PathTarget)
    if agreement.widened and agreement.is_widening and is_named and "typeWidening" not in standing.features:
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


def _require_flat(request: LandRequest, agreement: Agreement, stored: Struct | None) -> None:
    """Delta widens a nested field in place only by its own path; until that is built, it is refused."""
    for wide in agreement.widened:
        old = stored.find(wide.name) if stored else None
        if old is not None and not isinstance(wide.type, Simple | Decimal):
            raise SchemaIncompatible(
                table=request.landing.table.table,
                pipeline=request.landing.table.pipeline,
                column=wide.name,
                stored=sql_type(old.type).lower(),
                incoming=sql_type(wide.type).lower(),
            )
