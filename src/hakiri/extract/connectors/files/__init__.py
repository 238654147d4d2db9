"""The files connector and its settings."""

from __future__ import annotations

import codecs
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from hakiri.extract.connectors.registry import Declaration
from hakiri.model.source import CursorKind
from hakiri.spec.frozen import Flag, Frozen, Int

Format = Literal["csv", "jsonl", "parquet"]


def check_encoding(name: str) -> str:
    """Return the usual name of a text encoding. Rejects Python's other codecs, such as bytes to bytes."""
    try:
        found = codecs.lookup(name)
        is_text = codecs.getincrementaldecoder(name)().decode(_SAMPLE.encode(name), final=True) == _SAMPLE
    except (LookupError, UnicodeError):  # Python also raises this for codecs that are not for text
        is_text = False
    if not is_text or found.name.replace("_", "-") in _NO_FILES:
        raise ValueError("is not an encoding of text that we know")
    return found.name


_SAMPLE = 'a,"b"\n1,2\n'
_NO_FILES = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
"""Encodings for names and source code; their decoders misread files or stop early."""


class FilesConfig(Frozen):
    """The `source.config` of a files source."""

    path: Annotated[str, Field(min_length=1)]
    """A folder, or an address like `s3://bucket/folder`; relative paths start at the project."""
    pattern: Annotated[str, Field(min_length=1)] | None = None
    """The files of a table below `path`: a glob that contains `{table}`."""
    format: Format | None = None
    """The format of the files; by default, inferred from their names."""
    delimiter: Annotated[str, Field(pattern=r"^[ -~\t]$")] = ","
    """CSV: the character between fields."""
    quote: Annotated[str, Field(pattern=r"^[ -~]$")] = '"'
    """CSV: the quote character; doubled inside a field."""
    header: Flag = True
    """CSV: whether the first line names the columns."""
    null_values: tuple[str, ...] = ("",)
    """CSV: unquoted values that mean NULL."""
    encoding: Annotated[str, AfterValidator(check_encoding)] = "utf-8"
    """CSV and JSON lines: the text encoding."""
    max_line_bytes: Annotated[Int, Field(ge=1_024, le=1 << 30)] = 16 << 20
    """CSV and JSON lines: longer lines are quarantined."""
    batch_rows: Annotated[Int, Field(ge=1, le=1_000_000)] = 50_000
    """The most rows of a batch."""
    endpoint: str | None = None
    """S3: the endpoint of a service other than Amazon's, as `https://host:port`."""
    region: str | None = None
    """S3: the bucket's region."""
    access_key: SecretStr | None = None
    """S3: the id of the access key; by default, from the environment."""
    secret_key: SecretStr | None = None
    """S3: the secret access key."""

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
