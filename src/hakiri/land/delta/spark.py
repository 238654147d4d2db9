"""Carry out a recipe by Spark, using SQL and DataFrames only, so that every kind of session runs the same code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, reduce
from math import ceil
from typing import TYPE_CHECKING

from hakiri.land.decide.prune import EVERYWHERE, REACH, asked, reach
from hakiri.land.decide.same_rows import PART_COLUMN
from hakiri.land.delta.build import Build, tidy_named
from hakiri.land.delta.history import Commit, describe_history
from hakiri.land.delta.spark_errors import is_missing_table, translating
from hakiri.land.delta.spark_session import isolated_session, stamped, stamping, takes_stamps
from hakiri.land.errors import LandingFailed, NullKeys, RowsUncounted, TableContended
from hakiri.land.layout import Layout
from hakiri.land.recipe import FILE_COLUMN, MAPPED_NAMES, ROW_COLUMN, ROWS, STAGED, Laid, Part, Recipe
from hakiri.land.sql import DETAIL, column, listed, text
from hakiri.land.table_state import DeltaState
from hakiri.land.target import PathTarget, Target, sql_name
from hakiri.model.ledger import Landing
from hakiri.model.schema_name import quote
from hakiri.model.staged import Tally
from hakiri.model.types import INTEGER, LONG, STRING, Field, Struct
from hakiri.model.types.delta import from_delta
from hakiri.model.types.text import sql_columns, sql_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, Row, SparkSession

CREATE = "CREATE TABLE {table} USING delta{comment} TBLPROPERTIES ({properties}) AS SELECT * FROM hakiri_rows"

MAKE = "CREATE TABLE {table} ({columns}) USING delta{arranged}{comment} TBLPROPERTIES ({properties})"

COMMENT = "COMMENT ON TABLE {table} IS {comment}"

ALTER_COMMENT = "ALTER TABLE {table} ALTER COLUMN {column} COMMENT {comment}"

CLUSTER = "ALTER TABLE {table} CLUSTER BY ({columns})"

SET_PROPERTIES = "ALTER TABLE {table} SET TBLPROPERTIES ({properties})"

WIDEN = "ALTER TABLE {table} ALTER COLUMN {column} TYPE {type}"

RENAME = "ALTER TABLE {table} RENAME COLUMN {old} TO {new}"


COUNT = """
SELECT COUNT(*) AS found, COUNT_IF({is_null}) AS nulls, COUNT_IF({late}) AS late, ARRAY({bounds}) AS bounds
FROM hakiri_staged
"""

COUNT_VERSION = "SELECT COUNT(*) AS found FROM {table} VERSION AS OF {version}"

COUNT_LANDING = "SELECT COUNT(*) AS found, COUNT_IF({unmarked}) AS unmarked FROM hakiri_rows"

PLACES = (
    Field(PART_COLUMN, INTEGER),
    Field(FILE_COLUMN, STRING),
    Field(ROW_COLUMN, LONG),
)
"""The columns with the place of a staged row."""

NOTHING = "SELECT {columns} FROM hakiri_rows WHERE FALSE"

EVOLVING = {"mergeSchema": "true"}
"""Lets a write add the columns of the landing's schema, which was decided beforehand."""

FILE_BYTES = 128 * 1024 * 1024
"""About how many bytes of staged data go into one file of the table."""

FEW_COMMITS = 20
"""How many commits are read first; most often the last landing is among them."""

LOOK_BACK = 1_000
"""How many commits are read if the last landing is not among the first few, because of other writers."""


class SparkTable:
    """A Delta table, read and written by a Spark session."""

    def __init__(self, spark: SparkSession, target: Target, landing: Landing) -> None:
        with translated(landing):
            self._session = isolated_session(spark)
        self._target = target
        self._name = sql_name(target)
        self._landing = landing
        self._reach = self._place = EVERYWHERE

    def look(self, app_id: str, since: int) -> DeltaState | None:
        """Return the state of the table, or None if there is no table."""
        with translated(self._landing):
            detail = self._detail()
            if detail is None:
                return None
            schema = json.loads(self._session.table(self._name).schema.json())
            commits = self._look_back(lambda few: _tells_number(few, app_id, since))
        if not commits:  # dropped meanwhile
            return None
        return DeltaState(
            version=commits[0].version,
            number=_last_number(commits, app_id),
            schema=from_delta(schema),
            restored_to=next(
                (one.restored_to for one in commits if one.version > since and one.restored_to is not None), None
            ),
            features=frozenset(detail["tableFeatures"] or ()),
            layout=Layout(
                partition_by=tuple(detail["partitionColumns"]),
                cluster_by=tuple(detail["clusteringColumns"]),
                comment=detail["description"] or "",
                properties=tuple(sorted(detail["properties"].items())),
                comments=tuple((one["name"], one["metadata"].get("comment", "")) for one in schema["fields"]),
            ),
        )

    def commits(self, *, since: int) -> tuple[Commit, ...]:
        """List the commits after this version, newest first; none if there is no table."""
        with translated(self._landing):
            found = self._look_back(lambda few: few[-1].version <= since + 1)
        return tuple(commit for commit in found if commit.version > since)

    def _look_back(self, is_enough: Callable[[tuple[Commit, ...]], bool]) -> tuple[Commit, ...]:
        """List the newest commits: a few, or up to LOOK_BACK if these are not enough; none if there is no table."""
        for limit in (FEW_COMMITS, LOOK_BACK):
            try:
                commits = describe_history(self._session, self._target, limit=limit)
            except Exception as error:
                if self._is_missing(error):
                    return ()
                raise
            if len(commits) < limit or is_enough(commits):
                break
        return commits

    def count(self, version: int) -> int:
        """Return how many rows the table had at this version."""
        with translated(self._landing):
            counted = self._session.sql(COUNT_VERSION.format(table=self._name, version=version)).collect()
            return int(counted[0]["found"])

    def stage(self, recipe: Recipe) -> Laid:
        """Create views of the staged rows and of those that land, and count the latter.

        Does not touch the table. Raises NullKeys or RowsUncounted.
        """
        with translated(self._landing):
            staged = self._read(recipe)
            staged.createOrReplaceTempView(STAGED)
            late = self._count(recipe)
            self._lay_out(recipe)
            watermark = recipe.steps.watermark
            if recipe.steps.count is not None:
                return Laid(int(self._session.sql(recipe.steps.count).collect()[0][0]))
            if recipe.steps.takes_every_row and watermark is None:
                return Laid(recipe.rows)
            unmarked = watermark.unmarked if watermark else "FALSE"
            counted = self._session.sql(COUNT_LANDING.format(unmarked=unmarked)).collect()[0]
            if recipe.steps.leaves_out and counted["found"] == recipe.rows and self._takes_stamps:
                staged.createOrReplaceTempView(ROWS)  # all of them land, so the table need not be read again
            return Laid(counted["found"], late, counted["unmarked"])

    def write(self, recipe: Recipe, tally: Tally) -> int:
        """Write the rows of the view ROWS in one commit that carries the landing (G4).

        Returns how many commits of ours follow it: one if the table's clustering has to be set again. Delta skips a
        repeat of the number. Raises TableContended or LandingFailed.
        """
        with translated(self._landing):
            self._prepare(recipe)
            if recipe.agreement.widened and not (recipe.is_new or recipe.steps.builds):
                self._lay_out(recipe)  # the views were created with the table's narrower types
            self._bundle(recipe)
            if recipe.is_new:
                self._create(recipe, tally)
            elif recipe.steps.exchanges:
                return self._exchange(self._session.table(ROWS), recipe, tally)
            elif recipe.steps.merge and tally.staged and self._takes_stamps:
                with stamped(self._session, recipe.stamp, tally):
                    self._session.sql(recipe.steps.merge.replace(REACH, self._reach)).collect()
            elif recipe.steps.merge and tally.staged:
                return self._replace(recipe, tally)
            else:
                self._add(recipe, tally)
            return 0

    def _add(self, recipe: Recipe, tally: Tally) -> None:
        """Append the rows. Without rows this still makes a commit, which a MERGE might not."""
        columns = listed(recipe.agreement.schema.names)
        rows = self._session.sql(NOTHING.format(columns=columns)) if recipe.steps.merge else self._session.table(ROWS)
        rows.writeTo(self._name).options(**EVOLVING, **stamping(recipe.stamp, tally)).append()

    def _exchange(self, rows: DataFrame, recipe: Recipe, tally: Tally) -> int:
        from pyspark.sql.functions import lit

        clusters = self._clusters()
        rows.writeTo(self._name).options(**EVOLVING, **stamping(recipe.stamp, tally)).overwrite(lit(True))
        return self._recluster(clusters)

    def _replace(self, recipe: Recipe, tally: Tally) -> int:
        """Write the result of a MERGE by replacing the part of the table that it would read."""
        rows = self._session.sql(recipe.steps.instead.replace(REACH, self._reach))
        if self._place == EVERYWHERE:
            return self._exchange(rows, recipe, tally)
        options = {"replaceWhere": self._place, **EVOLVING, **stamping(recipe.stamp, tally)}
        self._save(rows.write.format("delta").mode("overwrite").options(**options))
        return 0

    @cached_property
    def _takes_stamps(self) -> bool:
        return takes_stamps(self._session)

    def shape(self, recipe: Recipe) -> None:
        """Create the table without rows, or give it the names and layout it lacks. A repeat changes nothing.

        Each step is a commit of its own, before the landing's. Raises TableContended or LandingFailed.
        """
        with translated(self._landing):
            if recipe.is_new:
                self._make(recipe)
                return
            if recipe.renames:
                self._rename(recipe)
            else:
                self._arrange(recipe.layout)

    def _make(self, recipe: Recipe) -> None:
        """Create an empty table; in a folder, without comments and properties, which need a CREATE TABLE."""
        layout, comments = recipe.layout, dict(recipe.layout.comments)
        columns = ", ".join(
            f"{quote(one.name)} {sql_type(one.type)}{_commented(comments.get(one.name, ''))}"
            for one in recipe.agreement.schema.fields
        )
        if isinstance(self._target, PathTarget):
            empty = self._session.createDataFrame([], columns).write.format("delta").mode("append")
            by_partition = empty.partitionBy(*layout.partition_by) if layout.partition_by else empty
            by_partition.options(**dict(recipe.properties)).save(self._target.path)
            return
        how, by = ("PARTITIONED", layout.partition_by) if layout.partition_by else ("CLUSTER", layout.cluster_by)
        statement = MAKE.format(
            table=self._name,
            columns=columns,
            arranged=f" {how} BY ({listed(by)})" if by else "",
            comment=_commented(layout.comment or recipe.comment),
            properties=_listed([*recipe.properties, *layout.properties]),
        )
        self._session.sql(statement).collect()

    def _arrange(self, layout: Layout) -> None:
        statements = [
            ALTER_COMMENT.format(table=self._name, column=quote(name), comment=text(comment))
            for name, comment in layout.comments
        ]
        if layout.properties:
            statements.append(SET_PROPERTIES.format(table=self._name, properties=_listed(layout.properties)))
        if layout.comment:
            statements.append(COMMENT.format(table=self._name, comment=text(layout.comment)))
        for statement in statements:
            self._session.sql(statement).collect()
        if layout.cluster_by != self._clusters():
            self._recluster(layout.cluster_by or ())

    def _recluster(self, columns: Sequence[str]) -> int:
        """Cluster the table by these columns again, after its rows were replaced; return how many commits that made."""
        if not columns:
            return 0
        self._session.sql(CLUSTER.format(table=self._name, columns=listed(columns))).collect()
        return 1

    def _clusters(self) -> tuple[str, ...]:
        return tuple(self._session.sql(DETAIL.format(table=self._name)).collect()[0]["clusteringColumns"])

    def _rename(self, recipe: Recipe) -> None:
        """Rename stored columns, and change nothing else."""
        if not recipe.renames_in_place:
            self._rewrite({}, recipe.renames)
            return
        self._session.sql(SET_PROPERTIES.format(table=self._name, properties=_listed([MAPPED_NAMES]))).collect()
        for old, new in recipe.renames.items():
            statement = RENAME.format(table=self._name, old=quote(old), new=quote(new))
            self._session.sql(statement).collect()

    def build(self, recipe: Recipe) -> Build:
        """Return a build of the rows in ROWS; it is not created yet."""
        return Build(self._session, recipe)

    def tidy(self) -> None:
        """Remove what a build of the landing has left. A repeat changes nothing."""
        with translated(self._landing):
            tidy_named(self._session, self._target, self._landing.number)

    def _detail(self) -> Row | None:
        """Return the row of DESCRIBE DETAIL; None if there is no table."""
        try:
            return self._session.sql(DETAIL.format(table=self._name)).collect()[0]
        except Exception as error:
            if self._is_missing(error):
                return None
            raise

    def _is_missing(self, error: Exception) -> bool:
        """Return whether a statement failed because the table does not exist; a catalog is asked."""
        if isinstance(self._target, PathTarget):
            return is_missing_table(error)
        return not self._session.catalog.tableExists(self._name)

    def _read(self, recipe: Recipe) -> DataFrame:
        frames = [
            self._read_part(recipe, place, part)
            for place, part in enumerate(recipe.parts)
            if any(file.rows for file in part.files)
        ]
        if not frames:
            places = Struct(PLACES if recipe.tells_places else ())
            return self._session.createDataFrame([], sql_columns(Struct((*recipe.staged.fields, *places.fields))))
        return reduce(lambda one, other: one.unionAll(other), frames)

    def _read_part(self, recipe: Recipe, place: int, part: Part) -> DataFrame:
        paths = [f"{recipe.root.rstrip('/')}/{_unglobbed(file.path)}" for file in part.files if file.rows]
        # Do not read folder names as partitions.
        reader = self._session.read.schema(sql_columns(part.schema)).option("recursiveFileLookup", "true")
        frame = reader.parquet(*paths)
        if part.schema == recipe.staged and not recipe.tells_places:
            return frame
        fields = zip(part.schema.fields, recipe.staged.fields, strict=True)
        columns = [f"CAST({quote(own.name)} AS {sql_type(one.type)}) AS {quote(one.name)}" for own, one in fields]
        return frame.selectExpr(*columns, *(_placed(place) if recipe.tells_places else ()))

    def _lay_out(self, recipe: Recipe) -> None:
        for name, select in (*recipe.steps.before, (ROWS, recipe.steps.rows)):
            self._session.sql(select.replace(REACH, self._reach)).createOrReplaceTempView(name)

    def _count(self, recipe: Recipe) -> int:
        """Count the late staged rows, and set the reach. Raises RowsUncounted or NullKeys."""
        bounds = recipe.steps.bounds
        late = recipe.steps.watermark.late if recipe.steps.watermark else "FALSE"
        is_null = " OR ".join(f"{column(name)} IS NULL" for name in recipe.steps.required) or "FALSE"
        wanted = ", ".join(asked(one, recipe.rows) for one in bounds)
        counted = self._session.sql(COUNT.format(is_null=is_null, late=late, bounds=wanted)).collect()[0]
        table = recipe.stamp.table.table
        if counted["found"] != recipe.rows:
            raise RowsUncounted(table=table, expected=recipe.rows, found=counted["found"])
        if counted["nulls"]:
            raise NullKeys(table=table, columns=recipe.steps.required, rows=counted["nulls"])
        found = [[value for value in values if value is not None] for values in counted["bounds"]]
        keys = list(zip(bounds, found, strict=True)) if recipe.rows else []
        self._reach, self._place = reach(keys, recipe.rows), reach(keys, recipe.rows, of="")
        return int(counted["late"])

    def _prepare(self, recipe: Recipe) -> None:
        """Change the table's properties and types for this schema. Each step is a commit that a repeat finds done."""
        if recipe.is_new:
            return
        if recipe.properties:
            self._session.sql(SET_PROPERTIES.format(table=self._name, properties=_listed(recipe.properties))).collect()
        if recipe.agreement.widened and recipe.widens_in_place:
            for leaf in recipe.agreement.leaves:
                column_path = ".".join(map(quote, leaf.path))
                statement = WIDEN.format(table=self._name, column=column_path, type=sql_type(leaf.type))
                self._session.sql(statement).collect()
        elif recipe.agreement.widened:
            self._rewrite({field.name: sql_type(field.type) for field in recipe.agreement.widened}, {})

    def _create(self, recipe: Recipe, tally: Tally) -> None:
        if isinstance(self._target, PathTarget):
            # CREATE TABLE needs an empty folder, and the staged files are in it.
            writer = self._session.table(ROWS).write.format("delta").mode("append")
            writer.options(**dict(recipe.properties), **stamping(recipe.stamp, tally)).save(self._target.path)
        elif self._takes_stamps:
            statement = CREATE.format(
                table=self._name, comment=_commented(recipe.comment), properties=_listed(recipe.properties)
            )
            with stamped(self._session, recipe.stamp, tally):
                self._session.sql(statement).collect()
        else:
            self._make(recipe)
            self._add(recipe, tally)

    def _rewrite(self, wide: Mapping[str, str], renames: Mapping[str, str]) -> None:
        """Rewrite the stored rows with the wider types and the new names, in one commit. Readers see the same rows."""
        stored = self._session.table(self._name)
        values = [f"CAST({quote(name)} AS {wide[name]})" if name in wide else quote(name) for name in stored.columns]
        names = [quote(renames.get(name, name)) for name in stored.columns]
        columns = [f"{value} AS {name}" for value, name in zip(values, names, strict=True)]
        writer = stored.selectExpr(*columns).write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        detail = self._session.sql(DETAIL.format(table=self._name)).collect()[0]
        parts, clusters = (
            [renames.get(name, name) for name in detail[kind]] for kind in ("partitionColumns", "clusteringColumns")
        )
        if parts:
            writer = writer.partitionBy(*parts)
        self._save(writer)
        self._recluster(clusters)

    def _save(self, writer: DataFrameWriter) -> None:
        if isinstance(self._target, PathTarget):
            writer.save(self._target.path)
        else:
            writer.saveAsTable(self._name)

    def _bundle(self, recipe: Recipe) -> None:
        """Write few files, however many small chunks there are."""
        files = max(1, ceil(recipe.bytes / FILE_BYTES))
        self._session.table(ROWS).coalesce(files).createOrReplaceTempView(ROWS)


def translated(landing: Landing) -> AbstractContextManager[None]:
    """Translate exceptions of Spark to errors of this landing."""
    table, number = landing.table.table, landing.number
    return translating(
        lambda: TableContended(table=table, number=number),
        lambda reason: LandingFailed(table=table, number=number, reason=reason),
        table=table,
    )


def _placed(place: int) -> tuple[str, ...]:
    """Return PLACES for the rows of a part, as Spark provides them while reading a file."""
    return (
        f"{place} AS {PART_COLUMN}",
        f"_metadata.file_name AS {FILE_COLUMN}",
        f"_metadata.row_index AS {ROW_COLUMN}",
    )


def _commented(comment: str) -> str:
    return f" COMMENT {text(comment)}" if comment else ""


def _listed(properties: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{text(name)} = {text(value)}" for name, value in properties)


def _tells_number(commits: tuple[Commit, ...], app_id: str, since: int) -> bool:
    """Return whether the commits include the last landing, and reach back to `since` if that is given.

    Numbers only grow, because Delta skips a lower one, so the newest one found is the highest.
    """
    is_named = any(one.mark is not None and one.mark.stamp.app_id == app_id for one in commits)
    return is_named and (since < 0 or commits[-1].version <= since + 1)


def _last_number(commits: tuple[Commit, ...], app_id: str) -> int | None:
    """Return the highest number in the log; None if it has none and does not reach back to the first version."""
    found = [one.mark.stamp.number for one in commits if one.mark is not None and one.mark.stamp.app_id == app_id]
    if found:
        return max(found)
    return 0 if commits[-1].version == 0 else None


def _unglobbed(path: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\*?[]{}" else letter for letter in path)
