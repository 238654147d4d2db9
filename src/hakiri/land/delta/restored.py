"""Where a RESTORE went back to is read from a commit in one way, whoever tells of the commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_UNKNOWN = -1
"""Every commit of a restore names its version; one that does not went back who knows how far."""


def restored_to(operation: object, parameters: Mapping[str, Any] | None) -> int | None:
    """The version that a commit put its table back to; None for a commit of another kind."""
    if operation != "RESTORE":
        return None
    version = (parameters or {}).get("version")
    try:
        return int(json.loads(version)) if isinstance(version, str) else int(version)  # type: ignore[arg-type]  # caught
    except (TypeError, ValueError):
        return _UNKNOWN
