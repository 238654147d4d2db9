"""A PostgreSQL database is a source."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from hakiri.extract.connectors.registry import Declaration
from hakiri.model.dsn import SCHEMES, Dsn
from hakiri.model.source import CursorKind
from hakiri.spec.frozen import Frozen, Int, Number


def check_url(url: SecretStr) -> SecretStr:
    """An address as libpq has it, written so that no part of its password can be taken for another part."""
    if not url.get_secret_value().startswith(SCHEMES):
        raise ValueError("has to be postgresql://user@host/database")
    Dsn.parse(url.get_secret_value())
    return url


class PostgresConfig(Frozen):
    """Which database, and how patient we are."""

    url: Annotated[SecretStr, AfterValidator(check_url)]
    """`postgresql://user@host:5432/database`, with any option of libpq behind a `?`."""
    password: SecretStr | None = None
    """The password, where it is not in the address; here it may hold any character."""
    connect_timeout_seconds: Annotated[Int, Field(ge=1)] = 10
    """How long the server may take to answer."""
    statement_timeout_seconds: Annotated[Number, Field(gt=0)] | None = None
    """How long one statement may take, the read of a whole chunk included; unlimited when left out."""
    lock_timeout_seconds: Annotated[Number, Field(gt=0)] = 30.0
    """How long a read waits for someone who alters the table."""
    batch_bytes: Annotated[Int, Field(ge=1 << 10, le=1 << 30)] = 16 << 20
    """About how large a batch is."""
    piece_rows: Annotated[Int, Field(ge=1)] = 100_000
    """About how many rows lie between two places where a survey would cut the table."""


DECLARATION = Declaration(
    cursor_kind=CursorKind.MONOTONIC,
    config=PostgresConfig,
    connector="hakiri.extract.connectors.postgres.connector:PostgresConnector",
    declares_keys=True,
)
