"""The kinds of tables that a landing meets, and the sample of them that an ordinary run lands in."""

from __future__ import annotations

from typing import Any

import pytest

LAYOUTS = {
    "partitioned": "PARTITIONED BY (note)",
    "clustered": "CLUSTER BY (id)",
    "vectors": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
}
KINDS = ("adopted", "written", "named", *LAYOUTS)


def sample(*kinds: str, of: tuple[str, ...] = KINDS) -> list[Any]:
    """Parametrise by all of them; those that are not in the sample are exhaustive."""
    return [pytest.param(one, marks=() if one in kinds else pytest.mark.exhaustive) for one in of]
