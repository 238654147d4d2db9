"""The PostgreSQL connector and its settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from hakiri.extract.connectors.registry import Declaration
from hakiri.model.postgres import SCHEMES, Dsn
from hakiri.model.source import CursorKind
from hakiri.spec.frozen import Frozen, Int, Number


def check_url(url: SecretStr) -> SecretStr:
    """Normalize a libpq address, with the password encoded so that it cannot be mistaken for another part."""
    if not url.get_secret_value().startswith(SCHEMES):
        raise ValueError("has to be postgresql://user@host/database")
    Dsn.parse(url.get_secret_value())
    return url


class PostgresConfig(Frozen):
    """The `source.config` of a PostgreSQL source."""

    url: Annotated[SecretStr, AfterValidator(check_url)]
    """`postgresql://user@host:5432/database`, with libpq options after a `?`."""
    password: SecretStr | None = None
    """The password, if it is not in the address; may contain any character."""
    connect_timeout_seconds: Annotated[Int, Field(ge=1)] = 10
    """How long the server may take to answer."""
    statement_timeout_seconds: Annotated[Number, Field(gt=0)] | None = None
    """How long one statement may take, including the read of a whole chunk; unlimited by default."""
    lock_timeout_seconds: Annotated[Number, Field(gt=0)] = 30.0
    """How long a read waits for a lock on the table."""
    batch_bytes: Annotated[Int, Field(ge=1 << 10, le=1 << 30)] = 16 << 20
    """The approximate size of a batch."""
    piece_rows: Annotated[Int, Field(ge=1)] = 100_000
    """The approximate number of rows per piece of a survey."""


DECLARATION = Declaration(
    cursor_kind=CursorKind.MONOTONIC,
    config=PostgresConfig,
    connector="hakiri.extract.connectors.postgres.connector:PostgresConnector",
    declares_keys=True,
)
