"""Build a table beside the one whose rows it will replace, and remove it afterwards (docs/adr/0080)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never
from uuid import uuid4

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow.fs import FileSelector, FileSystem, FileType

from hakiri.land.delta.ownership import properties_of
from hakiri.land.errors import BuildTaken, RowsUncounted
from hakiri.land.recipe import ROWS, Part, Recipe
from hakiri.land.sql import DETAIL, listed, text
from hakiri.land.staged.sample import files_at
from hakiri.land.target import NamedTarget, PathTarget, Target, address_of, sql_name
from hakiri.model.staged import StagedFile
from hakiri.model.types import needs_mapped_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CREATE = """
CREATE OR REPLACE TABLE {table} USING delta{layout} TBLPROPERTIES ({properties})
AS SELECT * FROM hakiri_rows
"""

COUNT = "SELECT COUNT(*) AS found FROM {table}"

DROP = "DROP TABLE IF EXISTS {table}"

BUILDS = "data/builds"
"""The folder of builds within a table's folder. No declared table is there, and built files can be added in place."""
MARK = "hakiri.build"
"""The property that distinguishes a build from other tables."""

Trial = Callable[[Target], None]
"""A check that a build has to pass before it replaces the table's rows; an exception stops the landing."""

_NAME = re.compile(r"([0-9]{1,18})-[0-9a-f]{8}")
_MICROSECONDS = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")


class Build:
    """One attempt to build the rows of a landing, in a Spark session."""

    def __init__(self, session: SparkSession, recipe: Recipe) -> None:
        self._session = session
        self._recipe = recipe
        self.target = _place(recipe.target, recipe.stamp.number)
        self._name = sql_name(self.target)

    def make(self) -> None:
        """Create a table with the rows of the view ROWS. Raises BuildTaken.

        Replaces what an earlier attempt has left.
        """
        self._require_ours()
        properties = dict(self._recipe.properties) if self._recipe.is_new else {}
        if isinstance(self.target, PathTarget):
            properties["delta.enableDeletionVectors"] = "false"
            # Statistics are read from footers, which have none for the older timestamp format.
            self._session.conf.set(*_MICROSECONDS)
        if needs_mapped_names(self._recipe.agreement.schema):
            properties["delta.columnMapping.mode"] = "name"
        properties[MARK] = f"{self._recipe.stamp.app_id}/{self._recipe.stamp.number}"
        properties_sql = ", ".join(f"{text(name)} = {text(value)}" for name, value in properties.items())
        self._session.sql(CREATE.format(table=self._name, layout=self._layout(), properties=properties_sql)).collect()

    def audit(self) -> None:
        """Require that the build has as many rows as were staged (G6). Raises RowsUncounted."""
        found = self._session.sql(COUNT.format(table=self._name)).collect()[0]["found"]
        if found != self._recipe.rows:
            raise RowsUncounted(table=self._recipe.stamp.table.table, expected=self._recipe.rows, found=found)

    def lay_out(self) -> None:
        """Replace the view ROWS by the rows of the build."""
        self._session.table(self._name).createOrReplaceTempView(ROWS)

    def adoptable(self) -> Recipe:
        """Return the recipe with the files of the build instead of the staged ones."""
        folder = getattr(self.target, "path", "")
        inside = f"{BUILDS}/{folder.rpartition('/')[2]}"
        found = pa.table(DeltaTable(folder).get_add_actions(flatten=True)).select(["path", "num_records", "size_bytes"])
        files = tuple(
            StagedFile(f"{inside}/{file['path']}", rows=file["num_records"], bytes=file["size_bytes"], sha256="")
            for file in found.to_pylist()
        )
        return replace(self._recipe, parts=(Part(self._recipe.agreement.schema, files),))

    def remove(self) -> None:
        """Remove the build, unless the table belongs to somebody else. A repeat changes nothing."""
        if isinstance(self.target, PathTarget):
            system, folder = files_at(self.target.path)
            _remove(system, folder)
        else:
            _drop(self._session, self._name)

    def _layout(self) -> str:
        """Return the clause for the table's partitioning or clustering, so that trials see the same layout."""
        if self._recipe.is_new:
            return ""
        detail = self._session.sql(DETAIL.format(table=sql_name(self._recipe.target))).collect()[0]
        if detail["partitionColumns"]:
            return f" PARTITIONED BY ({listed(detail['partitionColumns'])})"
        return f" CLUSTER BY ({listed(detail['clusteringColumns'])})" if detail["clusteringColumns"] else ""

    def _require_ours(self) -> None:
        if isinstance(self.target, NamedTarget) and _is_foreign(self._session, self._name):
            raise BuildTaken(table=self._recipe.stamp.table.table, build=address_of(self.target))


def tidy_named(session: SparkSession, target: Target, number: int) -> None:
    """Remove what a build has left beside a table of a catalog. A repeat changes nothing."""
    _drop(session, sql_name(_place(target, number)))


def tidy_folder(target: PathTarget, number: int, version: int) -> None:
    """Remove what builds left in a table's folder, once it carries the landing. A repeat changes nothing.

    This must not happen earlier: an attempt that was presumed dead may still commit its build until the landing's
    number is used. If the build's files are now the table's, only the build's log is removed. Files of earlier builds
    are part of the table's history.
    """
    system, folder = files_at(target.path)
    commit = f"{folder}/_delta_log/{version:020}.json"
    for name in _left(system, folder, number):
        if _names(system, commit, f"{BUILDS}/{name}/"):
            _remove(system, f"{folder}/{BUILDS}/{name}/_delta_log")
        else:
            _remove(system, f"{folder}/{BUILDS}/{name}")


def build_number(path: str) -> int | None:
    """Return the number of the landing that a file in a table's folder was built for; None for any other file."""
    name = path.removeprefix(f"{BUILDS}/").partition("/")[0]
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def _place(target: Target, number: int) -> Target:
    match target:
        case PathTarget():
            # Two attempts at one landing never share a folder.
            return PathTarget(f"{target.path.rstrip('/')}/{BUILDS}/{number}-{uuid4().hex[:8]}")
        case NamedTarget():
            return NamedTarget((*target.parts[:-1], f"{target.parts[-1]}_new"))
        case _:
            assert_never(target)


def _drop(session: SparkSession, name: str) -> None:
    if not _is_foreign(session, name):
        session.sql(DROP.format(table=name)).collect()


def _is_foreign(session: SparkSession, name: str) -> bool:
    """Return whether a table of this name exists that is not a build."""
    found = properties_of(session, name)
    return found is not None and MARK not in found


def _left(system: FileSystem, folder: str, number: int) -> list[str]:
    """Return the builds up to this landing that still have a log of their own."""
    selector = FileSelector(f"{folder}/{BUILDS}", allow_not_found=True)
    names = [entry.base_name for entry in system.get_file_info(selector) if entry.type is FileType.Directory]
    return [
        name
        for name in names
        if (found := _NAME.fullmatch(name))
        and int(found[1]) <= number
        and system.get_file_info(f"{folder}/{BUILDS}/{name}/_delta_log").type is FileType.Directory
    ]


def _names(system: FileSystem, commit: str, path: str) -> bool:
    """Return whether a commit names a file below the path; True if the commit cannot be read."""
    try:
        with system.open_input_stream(commit) as stream:
            return path.encode() in stream.read()
    except FileNotFoundError:
        return True


def _remove(system: FileSystem, folder: str) -> None:
    if system.get_file_info(folder).type is FileType.Directory:
        system.delete_dir(folder)
