"""Runs a table's transforms on Arrow batches, and counts filtered, merged and added rows (G6)."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

import polars as pl
import pyarrow as pa

from hakiri.errors import ComponentError, HakiriError, Place
from hakiri.extract.errors import ReferenceUnfit, TransformFailed, TransformUnfit
from hakiri.extract.landing_types import landing_schema
from hakiri.extract.transform.apply import Apply, prepare
from hakiri.extract.transform.casts import hopeless_cast
from hakiri.extract.transform.check import Size, reach_of
from hakiri.extract.transform.component import Applying, Component
from hakiri.extract.transform.unchanged_columns import leaves_alone
from hakiri.spec.transform import Explode, Join, Select, Step, TransformPlan
from hakiri.spec.validation_errors import guess

CHUNK_BYTES = 512 << 20
"""The most bytes, in Arrow, that a transform of scope `chunk` may get."""

_COLUMN = re.compile(r"in column '([^']+)'")
_UNABLE = re.compile(r'unable to find column "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Reshaped:
    """Rows after a transform, with counts: in + added = out + filtered + merged."""

    rows: pa.RecordBatch
    filtered: int = 0
    merged: int = 0
    """Rows lost because several became one."""
    added: int = 0
    """Rows gained because one became several."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A plan or a component, and its place in the manifest."""

    plan: TransformPlan | Component
    file: str
    place: Place


@dataclass(frozen=True, slots=True)
class Reshape:
    """The transforms of one table, in order, and the tables they join with. Can be pickled."""

    table: str
    plans: tuple[Placed, ...]
    references: Mapping[str, bytes] = field(default_factory=dict)
    """Landed tables as Arrow streams, the same for all chunks of a run."""

    @property
    def sees_all(self) -> bool:
        """Return whether it needs all rows of a chunk at once."""
        return any(isinstance(one.plan, TransformPlan) and one.plan.scope == "chunk" for one in self.plans)

    @property
    def digest(self) -> str:
        """Return a digest of all its transforms."""
        plain = [
            one.plan.digest if isinstance(one.plan, Component) else one.plan.model_dump(mode="json")
            for one in self.plans
        ]
        return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    @property
    def keeps_rows_apart(self) -> bool:
        """Return whether every output row is one input row, so that keys stay distinct."""
        return all(effect_of(step) in (Effect.KEEPS, Effect.FILTERS) for _, _, step in self._steps())

    def keeps(self, column: str) -> bool:
        """Return whether the column is certain to stay unchanged."""
        return all(
            column in step.spec.keeps if isinstance(step, Component) else leaves_alone(step, column)
            for _, _, step in self._steps()
        )

    def open(self) -> Reshaping:
        """Prepare it to run in this process: decode the joined tables, and start components with fresh memory."""
        references = self._tables()
        moves = [
            _Call(effect_of(step), step.open(self.table))
            if isinstance(step, Component)
            else _Move(step, prepare(step, references), shown)
            for _, shown, step in self._steps()
        ]
        for _, _, step in self._steps():
            if isinstance(step, Join):
                self._require_distinct(step, references[step.table])
        return Reshaping(self.table, tuple(_segments(moves)))

    def bind(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the result for rows of this one. Reads no rows; a repeat gives the same.

        Raises TransformUnfit with the step and its place in the manifest.
        """
        references = self._tables()
        frame = _frame(pa.Table.from_batches([], schema=schema)).lazy()
        for placed, shown, step in self._steps():
            if isinstance(step, Component):
                frame = self._announced(placed, step, frame.collect()).lazy()
                continue
            known = frame.collect_schema().names()
            try:
                reason = hopeless_cast(step, frame)
                frame = prepare(step, references)(frame).collect().lazy()
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as cause:
                raise self._unfit(placed, shown, cause, known) from cause
            if reason:
                raise TransformUnfit(place=placed.place, table=self.table, step=shown, reason=reason)
        return _arrow(frame.collect()).schema

    def _announced(self, placed: Placed, component: Component, frame: pl.DataFrame) -> pl.DataFrame:
        """Return an empty frame with the columns that a component announces."""
        before = landing_schema(_arrow(frame).schema, table=self.table)
        try:
            return _frame(component.open(self.table).schema(before).empty_table())
        except ComponentError as failure:
            reason = failure.reason
            raise TransformUnfit(place=placed.place, table=self.table, step=placed.file, reason=reason) from failure

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {name: pl.read_ipc_stream(io.BytesIO(stream)) for name, stream in self.references.items()}

    def _unfit(self, placed: Placed, shown: str, cause: BaseException, known: list[str]) -> TransformUnfit:
        missing = _missing(cause)
        reason = f"there is no column `{missing}` here" if missing else _first_line(cause)
        likely = guess(missing, known) if missing else None
        return TransformUnfit(place=placed.place, table=self.table, step=shown, reason=reason, guess=likely)

    def _steps(self) -> Iterator[tuple[Placed, str, Step | Component]]:
        for placed in self.plans:
            if isinstance(placed.plan, Component):
                yield placed, placed.file, placed.plan
                continue
            for number, step in enumerate(placed.plan.steps, start=1):
                yield placed, f"step {number} (`{step.type}`) of {placed.file}", step

    def _require_distinct(self, step: Join, table: pl.DataFrame) -> None:
        # NULL keys match nothing, so duplicates of them are harmless.
        keys = table.select(step.right_on).drop_nulls()
        if step.how in ("inner", "left") and keys.is_duplicated().any():
            reason = f"it has rows that are alike in {', '.join(step.right_on)}, so a row would become several"
            raise ReferenceUnfit(table=self.table, reference=step.table, reason=reason)


class Effect(StrEnum):
    """The effect of a step on the number of rows."""

    KEEPS = "keeps"
    FILTERS = "filters"
    MERGES = "merges"
    ADDS = "adds"
    REPLACES = "replaces"
    """Unknown: all input rows count as merged, all output rows as added."""


def effect_of(step: Step | Component) -> Effect:
    """Return the effect of a step that was checked; of a component, the one declared in the manifest."""
    if isinstance(step, Component):
        return Effect(step.spec.rows)
    match step.type:
        case "filter" | "drop_nulls" | "slice" | "join":
            return Effect.FILTERS
        case "unique" | "group_by":
            return Effect.MERGES
        case "explode" | "unpivot":
            return Effect.ADDS
        case "select" if isinstance(step, Select) and all(reach_of(one).size is Size.ONE for one in step.exprs):
            return Effect.MERGES
        case _:
            return Effect.KEEPS


@dataclass(frozen=True, slots=True)
class _Move:
    step: Step
    apply: Apply
    shown: str


@dataclass(frozen=True, slots=True)
class _Segment:
    """Steps that Polars runs as one query, because they change the number of rows in only one way."""

    effect: Effect
    moves: tuple[_Move, ...]

    def lost(self, frame: pl.DataFrame) -> int:
        """Count the rows that an explode drops: those with an empty list or NULL, depending on its options."""
        step = self.moves[0].step
        if not isinstance(step, Explode):
            return 0
        lists = pl.col(step.columns[0])
        is_empty = pl.lit(value=False) if step.empty_as_null else lists.list.len() == 0
        is_null = pl.lit(value=False) if step.keep_nulls else lists.is_null()
        return int(frame.select((is_empty.fill_null(value=False) | is_null).sum()).item()) if frame.height else 0

    def run(self, frame: pl.DataFrame, table: str) -> pl.DataFrame:
        query = frame.lazy()
        for move in self.moves:
            query = move.apply(query)
        try:
            return query.collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as cause:
            raise self._failed(frame, cause, table) from None  # its message may quote a value

    def _failed(self, frame: pl.DataFrame, cause: BaseException, table: str) -> HakiriError:
        """Find the failing step by running the steps one by one."""
        for move in self.moves:
            try:
                frame = move.apply(frame.lazy()).collect()
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as found:
                return TransformFailed(table=table, step=move.shown, reason=_reason_of(found))
        return TransformFailed(table=table, step=self.moves[-1].shown, reason=_reason_of(cause))


@dataclass(frozen=True, slots=True)
class _Call:
    """A component, which runs outside Polars."""

    effect: Effect
    applying: Applying

    def lost(self, frame: pl.DataFrame) -> int:
        del frame
        return 0

    def run(self, frame: pl.DataFrame, table: str) -> pl.DataFrame:
        del table
        return _frame(self.applying(_arrow(frame)))


class Reshaping:
    """A transform prepared to run on one chunk."""

    def __init__(self, table: str, segments: tuple[_Segment | _Call, ...]) -> None:
        self._table = table
        self._segments = segments

    def __call__(self, rows: pa.Table) -> Reshaped:
        """Transform the rows; no rows give none. Raises TransformFailed and ComponentError."""
        frame = _frame(rows)
        filtered = merged = added = 0
        for segment in self._segments:
            before, lost = frame.height, segment.lost(frame)
            frame = segment.run(frame, self._table)
            if segment.effect is Effect.REPLACES:
                merged, added = merged + before, added + frame.height
                continue
            grown = frame.height - (before - lost)
            filtered += lost + (-grown if grown < 0 and segment.effect is not Effect.MERGES else 0)
            merged += -grown if grown < 0 and segment.effect is Effect.MERGES else 0
            added += max(grown, 0)
        if not rows.num_rows:
            return Reshaped(_arrow(frame.clear()))
        return Reshaped(_arrow(frame), filtered, merged, added)


def _segments(moves: list[_Move | _Call]) -> Iterator[_Segment | _Call]:
    held: list[_Move] = []
    effect = Effect.KEEPS
    for move in moves:
        if isinstance(move, _Call):
            if held:
                yield _Segment(effect, tuple(held))
            yield move
            held, effect = [], Effect.KEEPS
            continue
        found = effect_of(move.step)
        is_other = found is not Effect.KEEPS and effect not in (Effect.KEEPS, found)
        if held and (is_other or isinstance(move.step, Explode)):
            yield _Segment(effect, tuple(held))
            held, effect = [], Effect.KEEPS
        held.append(move)
        effect = effect if found is Effect.KEEPS else found
    if held:
        yield _Segment(effect, tuple(held))


def _frame(rows: pa.Table) -> pl.DataFrame:
    return pl.DataFrame(rows)


def _arrow(frame: pl.DataFrame) -> pa.RecordBatch:
    # Concatenated by Polars: Arrow fails on a part whose lists are all empty.
    table = frame.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    found = table.to_batches()
    return found[0] if found else pa.RecordBatch.from_pylist([], schema=table.schema)


def _missing(cause: BaseException) -> str | None:
    found = _UNABLE.search(str(cause)) if isinstance(cause, pl.exceptions.ColumnNotFoundError) else None
    return found[1] if found else None


def _first_line(cause: BaseException) -> str:
    return str(cause).strip().partition("\n")[0][:300]


def _reason_of(cause: BaseException) -> str:
    """Return what went wrong, without values of rows."""
    column = _COLUMN.search(str(cause))
    where = f" in column `{column[1]}`" if column else ""
    return f"{_KINDS.get(type(cause).__name__, 'a value it cannot take')}{where}"


_KINDS = {
    "InvalidOperationError": "a value that cannot be converted",
    "ColumnNotFoundError": "a column that is not there",
    "SchemaError": "another type than the step can take",
    "ShapeError": "lists of different lengths",
    "OutOfBoundsError": "a place that is not there",
}
