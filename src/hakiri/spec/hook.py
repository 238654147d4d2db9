"""Declare hooks, which run before or after a load: admin SQL, view refreshes, https calls and functions."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hakiri.spec.fields.address import known_address
from hakiri.spec.fields.duration import PositiveDuration
from hakiri.spec.frozen import Flag, Frozen, Int, Number
from hakiri.spec.names import Identifier
from hakiri.spec.sql.statement import read_statement

MAX_TIMEOUT = timedelta(minutes=5)
"""A landing waits for its pre-hooks, and its lease ends after ten minutes."""

_SECRET = r"^\$\{secret:[A-Za-z_][A-Za-z0-9_]{0,127}\}$"  # noqa: S105 the form of a reference


def check_admin_sql(statement: str) -> str:
    """Check that this is one admin statement without comments."""
    read_statement(statement)
    return statement


def check_https(url: str) -> str:
    """Check an https address: it needs a host and must not contain credentials."""
    if not url.startswith("https://"):
        raise ValueError("a webhook needs an https:// address")
    known_address(url)
    return url


def check_timeout(timeout: timedelta) -> timedelta:
    """Check that a landing can wait this long."""
    if timeout > MAX_TIMEOUT:
        raise ValueError("a hook may take at most five minutes")
    return timeout


def check_function(name: str) -> str:
    """Check the name of a registered function, or of one in Unity Catalog."""
    if name.count(".") not in {0, 2}:
        raise ValueError("a function is a registered name like `notify`, or `catalog.schema.function`")
    return name


Timeout = Annotated[PositiveDuration, AfterValidator(check_timeout)]
Argument = str | Flag | Int | Number


class SqlHook(Frozen):
    """Run one admin statement against the target."""

    type: Literal["sql"]
    statement: Annotated[str, AfterValidator(check_admin_sql)]
    """ANALYZE, EXPLAIN, OPTIMIZE, REFRESH, SET or VACUUM; `{table}` is the table that the load is for."""


class RefreshHook(Frozen):
    """Refresh a materialized view."""

    type: Literal["refresh_mat_view"]
    view: Identifier
    """A view of the workspace, or one of the project's `views/`."""


class WebhookHook(Frozen):
    """POST to an https address that the project's `[hooks] webhook_hosts` allow."""

    type: Literal["webhook"]
    url: Annotated[str, AfterValidator(check_https)]
    secret: Annotated[str, Field(pattern=_SECRET)] | None = None
    """The secret that signs the body, as `${secret:NAME}`; unsigned when left out."""
    timeout: Timeout = timedelta(seconds=10)
    """The time limit of the whole exchange."""


class FunctionHook(Frozen):
    """Call a function registered under this name, or one of Unity Catalog; never an import path."""

    type: Literal["custom_function"]
    function: Annotated[str, AfterValidator(check_function), Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$")]
    args: dict[Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")], Argument] = Field(default_factory=dict)
    """Its arguments by name: texts, numbers, true and false, to match its signature."""
    timeout: Timeout = timedelta(seconds=60)
    """The time after which it is stopped."""


Hook = Annotated[SqlHook | RefreshHook | WebhookHook | FunctionHook, Field(discriminator="type")]
