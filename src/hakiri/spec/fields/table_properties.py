"""Table properties that a manifest may set: those that do not weaken any guarantee."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

# Other `delta.` properties are set by landings, break them, or hide rows from one of the two writers.
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
    """Write numbers and truth values as Delta does."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def check_properties(properties: dict[str, str]) -> dict[str, str]:
    """Check that every property may be set: harmless ones of Delta, and any of the user's own."""
    for name in properties:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a property")
        if name.lower().startswith("delta.") and name not in OPEN:
            raise ValueError(
                f"`{name}` cannot be set in a manifest; the properties of Delta that can: {', '.join(OPEN)}"
            )
    return properties


Value = Annotated[str, BeforeValidator(as_text, json_schema_input_type=str | int | float | bool)]
Properties = Annotated[dict[str, Value], AfterValidator(check_properties)]
