"""A hook runs beside a load: admin SQL, a view refresh, an https call or a registered function."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from hakiri.spec.frozen import Frozen
from hakiri.spec.names import Identifier

# Hook SQL is admin-grade, so it may tend tables but never change rows or rights.
DATA_VERBS = frozenset("DROP DELETE UPDATE TRUNCATE INSERT MERGE COPY GRANT REVOKE ALTER CREATE REPLACE".split())

_FIRST_WORD = re.compile(r"\s*([A-Za-z]+)")


def check_admin_sql(statement: str) -> str:
    """One admin statement, without comments."""
    if any(mark in statement for mark in ("--", "/*", "#")):
        raise ValueError("a hook's SQL carries no comments")
    if ";" in statement.rstrip().removesuffix(";"):
        raise ValueError("a hook is one SQL statement")
    first = _FIRST_WORD.match(statement)
    if not first:
        raise ValueError("a hook's SQL starts with a verb like ANALYZE or OPTIMIZE")
    if first[1].upper() in DATA_VERBS:
        raise ValueError(f"a hook's SQL may not {first[1].upper()}: only admin verbs like ANALYZE, OPTIMIZE, REFRESH")
    return statement


def check_https(url: str) -> str:
    """An https address with a host and without credentials in it."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise ValueError("not an address") from None
    if parts.scheme != "https" or not host:
        raise ValueError("a webhook is an https:// address")
    if "@" in parts.netloc:
        raise ValueError("a webhook's address carries no user or password")
    return url


class SqlHook(Frozen):
    """Run one admin statement against the target."""

    type: Literal["sql"]
    statement: Annotated[str, AfterValidator(check_admin_sql)]


class RefreshHook(Frozen):
    """Refresh a materialized view."""

    type: Literal["refresh_mat_view"]
    view: Identifier


class WebhookHook(Frozen):
    """POST to an https address."""

    type: Literal["webhook"]
    url: Annotated[str, AfterValidator(check_https)]


class FunctionHook(Frozen):
    """Call a function registered under this name; never an import path."""

    type: Literal["custom_function"]
    function: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$")]


Hook = Annotated[SqlHook | RefreshHook | WebhookHook | FunctionHook, Field(discriminator="type")]
