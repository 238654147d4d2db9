"""A declared column type is a Spark SQL type that a Delta table can hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from hakiri.model.types.text import manifest_type, parse_type


def check_type(text: str) -> str:
    """Return the type in the spelling of manifests: `decimal(10,2)`, `array<struct<a:int,b:string>>`."""
    if "`" in text:
        raise ValueError(f"{text!r} is not a column type")
    return manifest_type(parse_type(text))


ColumnType = Annotated[str, AfterValidator(check_type)]
