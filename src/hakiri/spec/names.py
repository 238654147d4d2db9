"""Names in a manifest, restricted so that they work as folders, job names and SQL identifiers."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

MAX_COLUMN_NAME = 255

_IDENTIFIER_PART = r"[A-Za-z_][A-Za-z0-9_$]*"
_IDENTIFIER = re.compile(rf"{_IDENTIFIER_PART}(\.{_IDENTIFIER_PART}){{0,2}}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def check_identifier(name: str) -> str:
    """Check a table or view name of up to three parts: `orders`, `sales.orders`, `main.sales.orders`."""
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(f"{name!r} is not a table name: letters, digits, `_` and `$`, in up to three dotted parts")
    return name


def check_column(name: str) -> str:
    """Check a column name: dots, spaces and all scripts are allowed, control characters are not."""
    if not name or len(name) > MAX_COLUMN_NAME:
        raise ValueError(f"a column name has 1 to {MAX_COLUMN_NAME} characters")
    if _CONTROL.search(name):
        raise ValueError(f"{name!r} contains a control character")
    return name


def name_in_schema(landed: str) -> str:
    """Return the name of a table or view in a schema, without dots: `crm.users` becomes `crm_users`."""
    return landed.replace(".", "_")


# The exported schema contains the patterns; error messages show these texts instead.
EXPLAINED = {
    r"^[a-z0-9][a-z0-9_-]{0,63}$": "lower-case letters, digits, `-` and `_`, at most 64 characters",
    r"^[a-z][a-z0-9_-]{0,63}$": "a lower-case name of letters, digits, `-` and `_`",
    r"^[A-Za-z_][A-Za-z0-9_]{0,127}$": "a name as environment variables have it: letters, digits and `_`",
    r"^[A-Za-z_][A-Za-z0-9_$]*$": "one part of a table name: letters, digits, `_` and `$`",
}
_SLUG, _WORD, _VARIABLE, NAMESPACE = EXPLAINED

Slug = Annotated[str, Field(pattern=_SLUG)]
PipelineId = Slug
ConnectorName = Annotated[str, Field(pattern=_WORD)]
SecretName = Annotated[str, Field(pattern=_VARIABLE)]
Identifier = Annotated[str, AfterValidator(check_identifier)]
ColumnName = Annotated[str, AfterValidator(check_column)]
