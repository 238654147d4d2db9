"""What a table holds now is read from its own log, so nothing it rests on is ever taken for a leftover."""

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
    """The last landing it carries; 0 for none of ours."""
    files: frozenset[str]
    """The addresses of the files its rows are in."""
    schema: Struct
    partition_by: tuple[str, ...] = ()


def read_contents(name: str, path: str, app_id: str) -> TableContents | None:
    """What the table on this path holds; None where there is no table. Raises TableUnreadable."""
    try:
        table = DeltaTable(path)
        schema = from_schema_string(table.schema().to_json())
        parts = tuple(table.metadata().partition_columns)
        return TableContents(table.transaction_version(app_id) or 0, frozenset(table.file_uris()), schema, parts)
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        raise TableUnreadable(table=name, reason=" ".join(str(error).split())[:300]) from error
