"""A manifest gives a table only such properties as leave every promise about it as it is."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

# Whatever else begins with `delta.` is set by landings themselves, breaks them, or hides rows from one of the engines.
OPEN = (
    "delta.autoOptimize.autoCompact",
    "delta.autoOptimize.optimizeWrite",
    "delta.checkpoint.writeStatsAsJson",
    "delta.checkpoint.writeStatsAsStruct",
    "delta.checkpointInterval",
    "delta.dataSkippingNumIndexedCols",
    "delta.dataSkippingStatsColumns",
    "delta.enableChangeDataFeed",
    "delta.parquet.compression.codec",
    "delta.randomizeFilePrefixes",
    "delta.targetFileSize",
    "delta.tuneFileSizesForRewrites",
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")


def as_text(value: Any) -> Any:
    """Numbers and truth values as Delta writes them."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def check_properties(properties: dict[str, str]) -> dict[str, str]:
    """Properties that may be set: those of Delta that change no promise, and any of one's own."""
    for name in properties:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a property")
        if name.lower().startswith("delta.") and name not in OPEN:
            raise ValueError(f"`{name}` is not for manifests to set; of Delta's own may be: {', '.join(OPEN)}")
    return properties


Value = Annotated[str, BeforeValidator(as_text, json_schema_input_type=str | int | float | bool)]
Properties = Annotated[dict[str, Value], AfterValidator(check_properties)]
