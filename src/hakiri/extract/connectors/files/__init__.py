"""A folder of files is a source."""

from __future__ import annotations

import codecs
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from hakiri.extract.connectors.registry import Declaration
from hakiri.model.source import CursorKind
from hakiri.spec.frozen import Flag, Frozen, Int

Format = Literal["csv", "jsonl", "parquet"]


def check_encoding(name: str) -> str:
    """An encoding Python knows."""
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise ValueError("is not an encoding we know") from None


class FilesConfig(Frozen):
    """Where the files are, and how they are written."""

    path: Annotated[str, Field(min_length=1)]
    """A folder or an address like `s3://bucket/folder`; a relative path starts at the project."""
    pattern: Annotated[str, Field(min_length=1)] | None = None
    """Which files below `path` make up a table: a glob with `{table}` in it."""
    format: Format | None = None
    """What the files are; told from their names when left out."""
    delimiter: Annotated[str, Field(pattern=r"^[ -~\t]$")] = ","
    """CSV: what stands between two fields."""
    quote: Annotated[str, Field(pattern=r"^[ -~]$")] = '"'
    """CSV: what stands around a field; doubled inside it."""
    header: Flag = True
    """CSV: whether the first line names the columns."""
    null_values: tuple[str, ...] = ("",)
    """CSV: unquoted fields that mean NULL."""
    encoding: Annotated[str, AfterValidator(check_encoding)] = "utf-8"
    """CSV and JSON lines: how text is encoded."""
    max_line_bytes: Annotated[Int, Field(ge=1_024, le=1 << 30)] = 16 << 20
    """CSV and JSON lines: a longer line is quarantined."""
    batch_rows: Annotated[Int, Field(ge=1, le=1_000_000)] = 50_000
    """How many rows a batch has at the most."""
    endpoint: str | None = None
    """S3: another service than Amazon's, as `https://host:port`."""
    region: str | None = None
    """S3: the bucket's region."""
    access_key: SecretStr | None = None
    """S3: the key's id; from the environment when left out."""
    secret_key: SecretStr | None = None
    """S3: the key itself."""

    @model_validator(mode="after")
    def _quote_and_delimiter_differ(self) -> Self:
        if self.quote == self.delimiter:
            raise ValueError("`quote` and `delimiter` have to differ")
        return self


DECLARATION = Declaration(
    cursor_kind=CursorKind.MONOTONIC,
    config=FilesConfig,
    connector="hakiri.extract.connectors.files.connector:FilesConnector",
    local_paths=("path",),
)
