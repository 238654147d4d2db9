"""Read which files a table consists of now, from its own log."""

from __future__ import annotations

from dataclasses import dataclass

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from hakiri.land.errors import TableUnreadable
from hakiri.model.types import Struct
from hakiri.model.types.delta import from_schema_string


@dataclass(frozen=True, slots=True)
class TableContents:
    """A table at its newest version."""

    number: int
    """The number of the last landing that it carries; 0 if none."""
    files: frozenset[str]
    """The addresses of its files."""
    schema: Struct
    partition_by: tuple[str, ...] = ()


def read_contents(name: str, path: str, app_id: str) -> TableContents | None:
    """Return the contents of the table on this path; None if there is no table. Raises TableUnreadable."""
    try:
        table = DeltaTable(path)
        schema = from_schema_string(table.schema().to_json())
        parts = tuple(table.metadata().partition_columns)
        return TableContents(table.transaction_version(app_id) or 0, frozenset(table.file_uris()), schema, parts)
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        raise TableUnreadable(table=name, reason=" ".join(str(error).split())[:300]) from error
