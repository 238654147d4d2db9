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
    """Give an encoding of text its usual name. Python has others, from bytes to bytes or for parts of addresses."""
    try:
        found = codecs.lookup(name)
        is_text = codecs.getincrementaldecoder(name)().decode(_SAMPLE.encode(name), final=True) == _SAMPLE
    except (LookupError, UnicodeError):  # Python calls a codec that is none of text unknown, too
        is_text = False
    if not is_text or found.name.replace("_", "-") in _NO_FILES:
        raise ValueError("is not an encoding of text that we know")
    return found.name


_SAMPLE = 'a,"b"\n1,2\n'
_NO_FILES = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
"""Encodings of names and of source code, whose decoders read a file as another one or stop in its middle."""


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
