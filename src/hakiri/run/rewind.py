"""What has landed of a window is read again under new generations of its chunks, and no row is there twice for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from hakiri.catalog.port import Catalog
from hakiri.errors import RewindUnfit, WindowMismatch
from hakiri.model.chunk import Bound, ChunkKey, TableKey, Window
from hakiri.model.instants import to_text
from hakiri.spec.load import LoadMode
from hakiri.spec.pipeline import PipelineSpec, TableSpec

REREAD = (LoadMode.APPEND, LoadMode.UPSERT, LoadMode.CDC_MIRROR)
"""The modes that take rows again: others exchange the table, or pass over what is below their watermark."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """The chunks of one table that the next run reads again."""

    table: TableKey
    chunks: tuple[ChunkKey, ...]


def parse_window(low: str, high: str) -> Window:
    """Cursor values from one up to another, not including it; empty text is no edge. Raises RewindUnfit."""
    window = Window(_bound(low), _bound(high))
    try:
        is_empty = window.lower is not None and not window.overlaps(window)
    except WindowMismatch as mixed:
        raise RewindUnfit(asked=f"{low}..{high}", reason=mixed.message()) from mixed
    if is_empty:
        raise RewindUnfit(asked=f"{low}..{high}", reason="it ends before it begins")
    return window


def rewind(
    catalog: Catalog, spec: PipelineSpec, window: Window, *, table: str | None = None, reason: str, by: str
) -> list[Rewound]:
    """Let the next run read every chunk again that meets the window; the reason is kept with each of them.

    A repeat finds them waiting, and changes nothing. Raises RewindUnfit, before anything is written; WindowMismatch.
    """
    if not reason.strip():
        raise RewindUnfit(asked=spec.id, reason="nobody would know why")
    tables = [one for one in spec.tables if table in (None, one.name, spec.landed_name(one))]
    if not tables:
        raise RewindUnfit(asked=f"{spec.id}/{table}", reason="the pipeline has no such table")
    for one in tables:
        _require_rereadable(spec, one)
    keys = [TableKey(spec.id, one.name) for one in tables]
    return [Rewound(key, catalog.rewind(key, window, f"{reason.strip()} ({by})")) for key in keys]


def _require_rereadable(spec: PipelineSpec, table: TableSpec) -> None:
    name, mode = f"{spec.id}/{table.name}", spec.load_of(table).mode
    if mode not in REREAD:
        raise RewindUnfit(asked=name, reason=f"by `{mode.value}` rows that were read before do not land again")
    if spec.incremental_of(table) is None:
        raise RewindUnfit(asked=name, reason="it is read without a cursor, so a window of it is all of it")


def _bound(text: str) -> Bound | None:
    if not text:
        return None
    if text.lstrip("-").isdecimal():
        return int(text)
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as wrong:
        raise RewindUnfit(asked=text, reason="it is neither a whole number nor a day or an instant") from wrong
    return to_text(instant if instant.tzinfo else instant.replace(tzinfo=UTC))
