"""Types of the table that would hold staged files."""

from __future__ import annotations

import pyarrow as pa

from hakiri.land.errors import ColumnsCollide, TypeUnsupported
from hakiri.model.types import Struct, Type, parts
from hakiri.model.types.arrow import NotInDelta, from_fields


def table_type(schema: pa.Schema, *, table: str) -> Struct:
    """Return the columns of a table for such files. Raises TypeUnsupported or ColumnsCollide."""
    try:
        found = from_fields(schema)
    except NotInDelta as unfit:
        raise TypeUnsupported(table=table, column=".".join(unfit.path), incoming=str(unfit.kind)) from unfit
    _require_distinct(found, table, "")
    return found


def _require_distinct(kind: Type, table: str, path: str) -> None:
    """Raise ColumnsCollide if two columns, or two fields of a record, differ in case alone."""
    seen: dict[str, str] = {}
    for name, part in parts(kind):
        if isinstance(kind, Struct) and (other := seen.setdefault(name.lower(), name)) != name:
            raise ColumnsCollide(table=table, columns=(path + other, path + name))
        _require_distinct(part, table, f"{path}{name}.")
