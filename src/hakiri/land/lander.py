"""Carry out a landing: once, whole and in order, or the table stays as it was (G4, G6, G9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Protocol

from hakiri.errors import HakiriError
from hakiri.land.decide.adoptable import can_adopt_build
from hakiri.land.decide.decide import decide
from hakiri.land.delta.adopt import add_actions
from hakiri.land.delta.build import Build, Trial, tidy_folder
from hakiri.land.delta.history import Commit, landings_of
from hakiri.land.delta.rust import RustTable
from hakiri.land.delta.spark import SparkTable, translated
from hakiri.land.errors import LandingFailed, LandingOutOfOrder, NullKeys, TableContended, TableMovedBack
from hakiri.land.modes import mode_of
from hakiri.land.query.watermark import count_unmarked
from hakiri.land.recipe import Laid, LandRequest, Recipe
from hakiri.land.staged.files import count_keyless
from hakiri.land.stamp import Stamp, app_id
from hakiri.land.table_state import DeltaState, Turn, turn
from hakiri.land.target import NamedTarget, PathTarget, Target, folder_of
from hakiri.model.chunk import TableKey
from hakiri.model.crash_points import Boundary, passing
from hakiri.model.errors import NotWritable, SessionLost
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.model.staged import Tally
from hakiri.model.types import Struct

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS = 20
"""How often a commit is tried before other writers of the table are given way."""


Writer = Callable[[], SparkTable]


class Outcome(StrEnum):
    """The result of a landing."""

    ADOPTED = "adopted"
    WRITTEN = "written"
    REPLAYED = "replayed"  # it was there already
    UNCHANGED = "unchanged"  # every row was there already, so the table has no new version


@dataclass(frozen=True, slots=True)
class Landed:
    """A landing that has been carried out."""

    outcome: Outcome
    version: int
    """The Delta version of the landing; if it was unchanged, that of the landing before it."""
    tally: Tally
    """The chunks' tally; `staged` is the number of rows that landed."""
    schema: Struct
    """The table's columns after the landing."""
    unmarked: int = 0
    """How many of the rows have no value in the watermark column."""
    partition_by: tuple[str, ...] = ()
    trailing: int = 0
    """How many commits of ours directly follow it."""
    since: int = -1
    """The version of the table when it was first inspected; all commits of this landing come after it."""


def _untried(_build: Target) -> None:
    """Accept any build."""


def land(request: LandRequest, spark: Callable[[], SparkSession], *, trial: Trial = _untried) -> Landed:
    """Add the staged chunks to the table, under the landing's number.

    If the mode builds a table first, the build has to pass the trial before the table is changed.

    A repeat is reported as such and changes nothing. The session is opened only if the files cannot be adopted. Raises
    LandError: with RETRY, the same call may be repeated, and finds out whether the table has the landing by then. The
    same is true of SessionLost with another session, and of NotWritable once the disk has room.
    """
    table = _open(request.target, request.landing, spark)
    landed = _land(request, table, _writer(request, table, spark), trial)
    if mode_of(request).builds and landed.outcome is not Outcome.UNCHANGED:
        _tidy(request, table, landed)
    return landed


def check_landing(request: LandRequest, spark: Callable[[], SparkSession]) -> None:
    """Check what can be known in advance about whether the landing will fail. Touches nothing.

    Raises NullKeys, LandingOutOfOrder, TableMovedBack, and what `decide` raises.
    """
    if request.lands_latest and (keyless := count_keyless(request)):
        raise NullKeys(table=request.landing.table.table, columns=request.key, rows=keyless)
    if request.is_strict:
        state = find_table(request, spark)
        if _turn(request, state) is not Turn.REPLAY:
            decide(request, state)


def _turn(request: LandRequest, state: DeltaState | None) -> Turn:
    return turn(
        request.landing,
        state,
        request.carried,
        is_sparse=request.is_sparse,
        accepts_loss=request.accepts_loss,
    )


def _land(request: LandRequest, table: RustTable | SparkTable, writer: Writer, trial: Trial) -> Landed:
    landing, name = request.landing, app_id(request.project, request.landing.table)
    since = request.since
    first: int | None = None
    is_shaped = False
    for _ in range(ATTEMPTS):
        state = table.look(name, since)
        version = state.version if state else -1
        first = version if first is None else first
        if _turn(request, state) is Turn.REPLAY and state:
            return replace(_replayed(request, table, since, state), partition_by=state.layout.partition_by)
        recipe = decide(request, state)
        if recipe.needs_shaping and not is_shaped:
            # Decide everything else about the changed table.
            writer().shape(recipe)
            is_shaped = not recipe.is_new and not recipe.renames
            continue
        landed = _carry_out(request, recipe, state, table, writer, trial)
        if landed is not None:
            return replace(landed, partition_by=state.layout.partition_by if state else (), since=first)
    raise TableContended(table=landing.table.table, number=landing.number)


def last_number(project: str, landing: Landing, target: Target, spark: Callable[[], SparkSession]) -> int | None:
    """Return the number of the table's last landing, 0 for none; None if its log is too short to tell."""
    state = look_at(project, landing.table, target, spark)
    return 0 if state is None else state.number


def look_at(project: str, table: TableKey, target: Target, spark: Callable[[], SparkSession]) -> DeltaState | None:
    """Return the state of the table; None if there is none."""
    landing = Landing(table, 0, (), LandingStatus.RESERVED)
    return _open(target, landing, spark).look(app_id(project, table), -1)


def find_table(request: LandRequest, spark: Callable[[], SparkSession]) -> DeltaState | None:
    """Return the state of the request's table; None if there is none."""
    return _open(request.target, request.landing, spark).look(
        app_id(request.project, request.landing.table), request.since
    )


class _Table(Protocol):
    def look(self, app_id: str, since: int) -> DeltaState | None: ...

    def commits(self, *, since: int) -> tuple[Commit, ...]: ...


def _open(target: Target, landing: Landing, spark: Callable[[], SparkSession]) -> RustTable | SparkTable:
    folder = folder_of(target)
    return RustTable(folder, landing) if folder is not None else SparkTable(spark(), target, landing)


def _writer(request: LandRequest, table: RustTable | SparkTable, spark: Callable[[], SparkSession]) -> Writer:
    """Return a function that opens the table by Spark on its first call. A landing uses one session throughout."""
    return cache(
        lambda: table if isinstance(table, SparkTable) else SparkTable(spark(), request.target, request.landing)
    )


def _carry_out(
    request: LandRequest,
    recipe: Recipe,
    state: DeltaState | None,
    table: RustTable | SparkTable,
    writer: Writer,
    trial: Trial,
) -> Landed | None:
    """Carry out the recipe; None if another writer was faster, so that a new recipe is needed."""
    if state is not None and _is_unchanged(request, recipe, state, table, writer):
        return _unchanged(request, recipe, state, _settle(recipe, Laid(0)))
    if not recipe.rows and _may_skip_commit(request, recipe):
        return _unchanged(request, recipe, state, recipe.tally)
    if recipe.adopts and recipe.steps.takes_every_row and isinstance(table, RustTable):
        return _with_unmarked(_adopt(recipe, state, table, recipe.tally), _count_unmarked(recipe))
    laid = writer().stage(recipe)
    tally = _settle(recipe, laid)
    if not laid.rows and _may_skip_commit(request, recipe):
        return _unchanged(request, recipe, state, tally)
    if recipe.adopts and laid.rows == recipe.rows and isinstance(table, RustTable):
        return _with_unmarked(_adopt(recipe, state, table, tally), laid.unmarked)
    if recipe.steps.builds:
        return _exchange(request, recipe, state, table, writer(), trial)
    return _with_unmarked(_write(request, recipe, state, table, writer(), tally), laid.unmarked)


def _with_unmarked(landed: Landed | None, unmarked: int) -> Landed | None:
    return landed and replace(landed, unmarked=unmarked)


def _count_unmarked(recipe: Recipe) -> int:
    watermark = recipe.steps.watermark
    if watermark is None:
        return 0
    return count_unmarked(recipe.stamp.table.table, recipe.root, recipe.files, watermark.column)


def _exchange(
    request: LandRequest,
    recipe: Recipe,
    state: DeltaState | None,
    table: RustTable | SparkTable,
    writer: SparkTable,
    trial: Trial,
) -> Landed | None:
    """Build the rows, try the build, and replace the table's rows by it; None as above (docs/adr/0080)."""
    build = writer.build(recipe)
    with _removed_on_failure(build), translated(request.landing):
        build.make()
        build.audit()
        trial(build.target)
        build.audit()
        build.lay_out()
    now = table.look(recipe.stamp.app_id, request.since)
    if now != state and not _is_alike(now, state):
        build.remove()
        return None
    if isinstance(table, RustTable) and can_adopt_build(request, recipe.agreement, now):
        return _adopt(build.adoptable(), now, table, recipe.tally)
    with _removed_on_failure(build):  # its rows are copied, so no version of the table refers to its files
        return _write(request, recipe, now, table, writer, recipe.tally)


@contextmanager
def _removed_on_failure(build: Build) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(Exception):  # report the failure itself; the next landing removes what is left
            build.remove()
        raise


def _is_alike(now: DeltaState | None, then: DeltaState | None) -> bool:
    """Return whether the decisions made for `then` hold for `now`: only rows may have changed."""
    return now is not None and then is not None and replace(then, version=now.version, rows=now.rows) == now


def _tidy(request: LandRequest, table: RustTable | SparkTable, landed: Landed) -> None:
    if isinstance(table, SparkTable) and isinstance(request.target, NamedTarget):
        table.tidy()
    elif isinstance(request.target, PathTarget):
        try:
            tidy_folder(request.target, request.landing.number, landed.version)
        except OSError as error:
            reason = f"what it was built in is not cleared away: {error}"
            raise LandingFailed(
                table=request.landing.table.table, number=request.landing.number, reason=reason
            ) from error


def _may_skip_commit(request: LandRequest, recipe: Recipe) -> bool:
    """Return whether a landing without rows makes no commit; the first one of a table always makes one."""
    is_first = recipe.is_new or (request.carried is None and not request.is_sparse)
    return recipe.steps.may_skip_commit and not is_first


def _is_unchanged(
    request: LandRequest,
    recipe: Recipe,
    state: DeltaState,
    table: RustTable | SparkTable,
    writer: Writer,
) -> bool:
    """Return whether the table still holds exactly these rows, brought by its last landing."""
    if not request.repeats_last or recipe.agreement.changes_table or not _is_untouched(request, state, table):
        return False
    if state.rows is not None:
        return state.rows == recipe.rows
    # The log has no row count, so Spark counts; if it cannot read that version, the rows are exchanged.
    with suppress(LandingFailed):
        return writer().count(state.version) == recipe.rows
    return False


def _is_untouched(request: LandRequest, state: DeltaState, table: _Table) -> bool:
    """Return whether all commits since the last landing kept the rows; only setting the clustering is one of ours."""
    # Compare the number as well: a recreated table counts its versions from 0 again.
    if request.carried is None or state.number != request.carried.number:
        return False
    if state.version == request.carried.version:
        return True
    since = [one for one in table.commits(since=request.carried.version) if one.version <= state.version]
    return len(since) == state.version - request.carried.version and all(one.keeps_rows for one in since)


def _unchanged(request: LandRequest, recipe: Recipe, state: DeltaState | None, tally: Tally) -> Landed:
    last = request.carried or state  # of a sparse table, the catalog knows no last landing
    if last is None:
        raise AssertionError("the first landing of a table always commits")
    return Landed(Outcome.UNCHANGED, last.version, tally, recipe.agreement.schema)


def _adopt(recipe: Recipe, state: DeltaState | None, table: RustTable, tally: Tally) -> Landed | None:
    actions = add_actions(recipe, table.folder)
    passing(Boundary.BEFORE_COMMIT)
    if not table.adopt(recipe, actions, tally):
        return None
    passing(Boundary.AFTER_COMMIT)
    return Landed(Outcome.ADOPTED, 0 if state is None else state.version + 1, tally, recipe.agreement.schema)


def _write(
    request: LandRequest,
    recipe: Recipe,
    state: DeltaState | None,
    table: _Table,
    writer: SparkTable,
    tally: Tally,
) -> Landed:
    since = -1 if state is None else state.version
    failure: HakiriError | None = None
    trailing = 0
    passing(Boundary.BEFORE_COMMIT)
    try:
        trailing = writer.write(recipe, tally)
    except (LandingFailed, TableContended, SessionLost, NotWritable) as error:
        failure = error
    passing(Boundary.AFTER_COMMIT)
    # A lost answer and a number that Delta skipped silently look alike here, so the log decides.
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


def _replayed(request: LandRequest, table: _Table, since: int, state: DeltaState) -> Landed:
    found = _find(request, table, since, state.schema)
    if found is None:
        reason = "the table carries its number, and its log no longer tells which version it was"
        raise LandingFailed(table=request.landing.table.table, number=request.landing.number, reason=reason)
    return found


def _find(request: LandRequest, table: _Table, since: int, schema: Struct) -> Landed | None:
    """Find the landing in the table's own log."""
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
    """Require that the landing in the log is this one: a lost catalog counts from 1 again, with other rows."""
    named = {(chunk.chunk, chunk.generation) for chunk in request.landing.chunks}
    runs = {chunk.run for chunk in request.chunks}
    if (named, runs) != ({(chunk.chunk, chunk.generation) for chunk in found.chunks}, set(found.runs)):
        raise LandingOutOfOrder(
            table=request.landing.table.table,
            number=request.landing.number,
            expected=0 if request.carried is None else request.carried.number,
            found=found.number,
        )


def _settle(recipe: Recipe, laid: Laid) -> Tally:
    """Return the chunks' tally, with the left-out rows moved to their own counts (G6)."""
    there = recipe.rows - laid.rows - laid.late
    tally = recipe.tally
    return replace(
        tally,
        staged=laid.rows,
        filtered=tally.filtered + laid.late,
        deduplicated=tally.deduplicated + there,
    )
