"""A landing happens once, whole and in order, or the table is as it was (G4, G6, G9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from hakiri.errors import (
    HakiriError,
    LandingFailed,
    LandingOutOfOrder,
    NotWritable,
    SessionLost,
    TableContended,
    TableMovedBack,
)
from hakiri.land.adopt import add_actions
from hakiri.land.choose import choose
from hakiri.land.history import Commit, landings_of
from hakiri.land.recipe import LandRequest, Recipe
from hakiri.land.rust import RustTable
from hakiri.land.spark import SparkTable
from hakiri.land.stamp import Stamp, app_id
from hakiri.land.standing import Standing, Turn, turn
from hakiri.land.target import folder_of
from hakiri.land.types import Struct
from hakiri.model.boundary import Boundary, passing
from hakiri.model.staged import Tally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS = 20
"""How often files are offered for adoption before the other writers of the table are given way."""


class Outcome(StrEnum):
    """What a landing came to."""

    ADOPTED = "adopted"
    WRITTEN = "written"
    REPLAYED = "replayed"  # it was there already
    RESTED = "rested"  # every row was there already, so the table has no new version


@dataclass(frozen=True, slots=True)
class Landed:
    """A landing that the table carries, or need not carry."""

    outcome: Outcome
    version: int
    """The Delta version to finish the landing with; for one that rested, the version of the landing before it."""
    tally: Tally
    """Of the chunks, `staged` being the rows that landed."""
    schema: Struct
    """The table's columns from then on."""
    partition_by: tuple[str, ...] = ()
    trailing: int = 0
    """How many commits of ours lie right behind it."""


def land(request: LandRequest, spark: Callable[[], SparkSession]) -> Landed:
    """The staged chunks are part of the table, under the landing's number.

    A repeat is reported as such and changes nothing. The session is asked for only if the files cannot be adopted as
    they lie. Raises LandError: RETRY means that the table does not carry the landing, and that the same call may be
    made again; SessionLost means the same for another session, NotWritable for a disk with more room.
    """
    landing, name = request.landing, app_id(request.project, request.landing.table)
    since = request.since
    table = _open(request, spark)
    is_shaped = False
    for _ in range(ATTEMPTS):
        standing = table.look(name, since)
        is_turn = turn(
            landing, standing, request.carried, is_sparse=request.is_sparse, accepts_loss=request.accepts_loss
        )
        if is_turn is Turn.REPLAY and standing:
            return replace(_replayed(request, table, since, standing), partition_by=standing.layout.partition_by)
        recipe = choose(request, standing)
        if recipe.needs_shaping and not is_shaped:
            # Everything else is decided about the table as it is then.
            _writer(request, table, spark).shape(recipe)
            is_shaped = not recipe.is_new and not recipe.renames
            continue
        landed = _carry_out(request, recipe, standing, table, spark)
        if landed is not None:
            return replace(landed, partition_by=standing.layout.partition_by if standing else ())
    raise TableContended(table=landing.table.table, number=landing.number)


class _Table(Protocol):
    def look(self, app_id: str, since: int) -> Standing | None: ...

    def commits(self, *, since: int) -> tuple[Commit, ...]: ...


def _open(request: LandRequest, spark: Callable[[], SparkSession]) -> RustTable | SparkTable:
    folder = folder_of(request.target)
    if folder is not None:
        return RustTable(folder, request.landing)
    return SparkTable(spark(), request.target, request.landing)


def _writer(request: LandRequest, table: RustTable | SparkTable, spark: Callable[[], SparkSession]) -> SparkTable:
    return table if isinstance(table, SparkTable) else SparkTable(spark(), request.target, request.landing)


def _carry_out(
    request: LandRequest,
    recipe: Recipe,
    standing: Standing | None,
    table: RustTable | SparkTable,
    spark: Callable[[], SparkSession],
) -> Landed | None:
    """Do what the recipe says; None when another writer came first and it has to be decided anew."""
    if standing is not None and _is_unchanged(request, recipe, standing):
        return _rested(request, recipe, _settle(recipe, 0))
    if not recipe.rows and _may_rest(request, recipe):
        return _rested(request, recipe, recipe.tally)
    if recipe.adopts and recipe.steps.takes_every_row and isinstance(table, RustTable):
        return _adopt(recipe, standing, table, recipe.tally)
    writer = _writer(request, table, spark)
    rows = writer.stage(recipe)
    tally = _settle(recipe, rows)
    if not rows and _may_rest(request, recipe):
        return _rested(request, recipe, tally)
    if recipe.adopts and rows == recipe.rows and isinstance(table, RustTable):
        return _adopt(recipe, standing, table, tally)
    return _write(request, recipe, standing, table, writer, tally)


def _may_rest(request: LandRequest, recipe: Recipe) -> bool:
    """Whether a landing without rows leaves no commit; a table's first one always does."""
    return recipe.steps.may_rest and request.carried is not None and not recipe.is_new


def _is_unchanged(request: LandRequest, recipe: Recipe, standing: Standing) -> bool:
    """Whether the table holds exactly these rows: its last landing brought them, and nobody has written since."""
    return (
        request.repeats_last
        and request.carried is not None
        and standing.version == request.carried.version
        and standing.rows == recipe.rows
        and not recipe.agreement.changes_table
    )


def _rested(request: LandRequest, recipe: Recipe, tally: Tally) -> Landed:
    if request.carried is None:
        raise AssertionError("the first landing of a table never rests")
    return Landed(Outcome.RESTED, request.carried.version, tally, recipe.agreement.schema)


def _adopt(recipe: Recipe, standing: Standing | None, table: RustTable, tally: Tally) -> Landed | None:
    actions = add_actions(recipe, table.folder)
    passing(Boundary.BEFORE_COMMIT)
    if not table.adopt(recipe, actions, tally):
        return None
    passing(Boundary.AFTER_COMMIT)
    return Landed(Outcome.ADOPTED, 0 if standing is None else standing.version + 1, tally, recipe.agreement.schema)


def _write(
    request: LandRequest,
    recipe: Recipe,
    standing: Standing | None,
    table: _Table,
    writer: SparkTable,
    tally: Tally,
) -> Landed:
    since = -1 if standing is None else standing.version
    failure: HakiriError | None = None
    trailing = 0
    passing(Boundary.BEFORE_COMMIT)
    try:
        trailing = writer.write(recipe, tally)
    except (LandingFailed, TableContended, SessionLost, NotWritable) as error:
        failure = error
    passing(Boundary.AFTER_COMMIT)
    # An answer that was lost, and a number that Delta skipped without a word, look alike from here: the log decides.
    found = _find(request, table, since, recipe.agreement.schema)
    if found is not None:
        return replace(found, outcome=Outcome.WRITTEN, trailing=trailing)
    if failure is not None:
        raise failure
    raise LandingOutOfOrder(
        table=request.landing.table.table,
        number=request.landing.number,
        expected=0 if request.carried is None else request.carried.number,
        found=request.landing.number,
    )


def _replayed(request: LandRequest, table: _Table, since: int, standing: Standing) -> Landed:
    found = _find(request, table, since, standing.schema)
    if found is None:
        reason = "the table carries its number, and its log no longer tells which version it was"
        raise LandingFailed(table=request.landing.table.table, number=request.landing.number, reason=reason)
    return found


def _find(request: LandRequest, table: _Table, since: int, schema: Struct) -> Landed | None:
    """The landing as the table's own log tells it."""
    name, number = app_id(request.project, request.landing.table), request.landing.number
    for one in landings_of(table.commits(since=since), name):
        if one.mark.stamp.number == number and one.is_undone:
            raise TableMovedBack(
                table=request.landing.table.table, expected=number, found=number, reason="it was restored to before it"
            )
        if one.mark.stamp.number == number:
            _require_ours(request, one.mark.stamp)
            return Landed(Outcome.REPLAYED, one.version, one.mark.tally, schema)
    return None


def _require_ours(request: LandRequest, found: Stamp) -> None:
    """A number alone makes no replay: a catalog that was lost counts from 1 again, and its rows are others."""
    named = {(chunk.chunk, chunk.generation) for chunk in request.landing.chunks}
    runs = {chunk.run for chunk in request.chunks}
    if (named, runs) != ({(chunk.chunk, chunk.generation) for chunk in found.chunks}, set(found.runs)):
        raise LandingOutOfOrder(
            table=request.landing.table.table,
            number=request.landing.number,
            expected=0 if request.carried is None else request.carried.number,
            found=found.number,
        )


def _settle(recipe: Recipe, rows: int) -> Tally:
    """The tally of the chunks, with the rows that were left out where they belong (G6)."""
    left_out = recipe.rows - rows
    tally = recipe.tally
    return replace(tally, staged=tally.staged - left_out, deduplicated=tally.deduplicated + left_out)
