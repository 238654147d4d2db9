"""Read and write a table on this disk by delta-rs, each commit based on the version that was inspected."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Metadata, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, create_table_with_add_actions

from hakiri.land.delta.history import Commit, commits_of
from hakiri.land.errors import LandingFailed
from hakiri.land.layout import Layout
from hakiri.land.recipe import Recipe
from hakiri.land.stamp import to_text
from hakiri.land.table_state import DeltaState
from hakiri.model.durable import FULL, is_full
from hakiri.model.errors import NotWritable
from hakiri.model.ledger import Landing
from hakiri.model.staged import Tally
from hakiri.model.types import Struct
from hakiri.model.types.delta import from_schema_string, to_delta

_MAX_REASON = 300


class RustTable:
    """A Delta table in a folder, by delta-rs."""

    def __init__(self, folder: Path, landing: Landing) -> None:
        self.folder = folder
        self._landing = landing
        self._handle: DeltaTable | None = None

    def look(self, app_id: str, since: int) -> DeltaState | None:
        """Return the state of the table, or None. The next commit is based on this version."""
        with self._translated():
            self._handle = self._open()
            return None if self._handle is None else _standing(self._handle, app_id, since)

    def commits(self, *, since: int) -> tuple[Commit, ...]:
        """Return the commits after this version, newest first."""
        with self._translated():
            handle = self._open()
            count = 0 if handle is None else handle.version() - since
            return commits_of(handle, limit=count) if handle is not None and count > 0 else ()

    def adopt(self, recipe: Recipe, actions: Sequence[AddAction], tally: Tally) -> bool:
        """Add the files, or replace all others by them; return False if the inspected version is not the newest.

        A repeat is recognized by its number if the table is inspected first (G4).
        """
        properties = CommitProperties(
            app_transactions=[Transaction(recipe.stamp.app_id, recipe.stamp.number)],
            custom_metadata={"userMetadata": to_text(recipe.stamp, tally)},
            # Without retries: a retry would add the files to a version that was not inspected.
            max_commit_retries=0,
        )
        try:
            self._commit(recipe, list(actions), properties)
        except CommitFailedError:
            return False
        except (DeltaError, OSError) as error:
            if self._handle is None and self._open() is not None:
                return False
            raise self._failed(error) from error
        return True

    def _commit(self, recipe: Recipe, actions: list[AddAction], properties: CommitProperties) -> None:
        schema = Schema.from_json(json.dumps(to_delta(recipe.agreement.schema)))
        if self._handle is not None:
            self._handle.create_write_transaction(
                [*actions],
                mode="overwrite" if recipe.steps.exchanges else "append",
                schema=self._handle.schema(),
                partition_by=[],
                commit_properties=properties,
            )
            return
        create_table_with_add_actions(
            str(self.folder),
            schema,
            actions,
            mode="error",
            configuration=dict(recipe.properties),
            commit_properties=properties,
        )

    def _open(self) -> DeltaTable | None:
        try:
            return DeltaTable(self.folder)
        except TableNotFoundError:
            return None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (DeltaError, OSError) as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> LandingFailed | NotWritable:
        if is_full(error):
            return NotWritable(folder=str(self.folder), reason=FULL)
        table, number = self._landing.table.table, self._landing.number
        return LandingFailed(table=table, number=number, reason=" ".join(str(error).split())[:_MAX_REASON])


def _standing(handle: DeltaTable, app_id: str, since: int) -> DeltaState:
    metadata = handle.metadata()
    features = features_of(handle)
    fresh = handle.version() - since if since >= 0 else 0
    commits = commits_of(handle, limit=fresh) if fresh > 0 else ()
    return DeltaState(
        version=handle.version(),
        number=handle.transaction_version(app_id) or 0,
        schema=_schema(handle),
        restored_to=next((one.restored_to for one in commits if one.restored_to is not None), None),
        features=features,
        layout=_layout(handle, metadata, features),
        rows=None if "deletionVectors" in features else _rows(handle),
    )


def features_of(handle: DeltaTable) -> frozenset[str]:
    """Return the table features that a writer has to support."""
    return frozenset(handle.protocol().writer_features or ()) | _implied(handle.metadata().configuration)


def _layout(handle: DeltaTable, metadata: Metadata, features: frozenset[str]) -> Layout:
    fields = json.loads(handle.schema().to_json())["fields"]
    return Layout(
        partition_by=tuple(metadata.partition_columns),
        cluster_by=None if "clustering" in features else (),
        comment=metadata.description or "",
        properties=tuple(sorted(metadata.configuration.items())),
        comments=tuple((one["name"], str(one["metadata"].get("comment", ""))) for one in fields),
    )


def _rows(handle: DeltaTable) -> int | None:
    counts = pa.table(handle.get_add_actions(flatten=True)).column("num_records").to_pylist()
    return None if None in counts else sum(counts)


def _schema(handle: DeltaTable) -> Struct:
    return from_schema_string(handle.schema().to_json())


def _implied(properties: Mapping[str, str]) -> frozenset[str]:
    """Return the features of a table whose protocol is too old to list them."""
    known = {
        "delta.enableChangeDataFeed": "changeDataFeed",
        "delta.columnMapping.mode": "columnMapping",
        "delta.enableDeletionVectors": "deletionVectors",
    }
    return frozenset(
        feature for name, feature in known.items() if properties.get(name, "false") not in ("false", "none")
    ) | frozenset("checkConstraints" for name in properties if name.startswith("delta.constraints."))
