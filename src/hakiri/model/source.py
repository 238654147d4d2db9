"""What a source declares about how it can be walked."""

from __future__ import annotations

from enum import StrEnum


class CursorKind(StrEnum):
    """The four shapes of progress through a source; each has its own natural chunk."""

    MONOTONIC = "monotonic"
    OPAQUE_TOKEN = "opaque-token"  # noqa: S105 a page token of the vendor, not a secret
    SNAPSHOT_ID = "snapshot-id"
    PARTITIONED_MONOTONIC = "partitioned-monotonic"
