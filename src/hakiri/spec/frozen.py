"""Base types for all parts of a manifest: frozen, strict, without unknown keys."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic.alias_generators import to_camel

Int = Annotated[int, Strict()]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Flag = Annotated[bool, Strict()]
Config = dict[str, Any]


class Frozen(BaseModel):
    """A part of the manifest: unknown keys are errors, and `onFail` is read as `on_fail`."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,  # and by alias; pydantic 2.10 knows no newer word for it
        use_attribute_docstrings=True,
    )


def shorthand(part: type[Frozen], key: str) -> BeforeValidator:
    """Accept a part that is written as its most important value: `"orders"` is `{ name = "orders" }`."""
    return BeforeValidator(
        lambda value: {key: value} if isinstance(value, str) else value,
        json_schema_input_type=str | part,
    )


def as_tuple(value: Any) -> Any:
    """Accept one value for a list: `upsert_key = "id"` is `["id"]`."""
    return (value,) if isinstance(value, str | dict) else value


def distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    """Check that no value is repeated."""
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
        raise ValueError(f"`{repeated[0]}` is named twice")
    return values


Distinct = AfterValidator(distinct)
