"""Read a window again under new generations of its chunks, without repeating rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from hakiri.catalog.port import Catalog
from hakiri.model.chunk import Bound, ChunkKey, TableKey, Window
from hakiri.model.errors import WindowMismatch
from hakiri.model.timestamps import to_text
from hakiri.plan.reread import chunks_to_reread
from hakiri.run.errors import RewindUnfit
from hakiri.run.facts import complete_history
from hakiri.spec.pipeline import PipelineSpec, TableSpec

_WHOLE_NUMBER = re.compile("-?[0-9]{1,100}")  # far more digits than a cursor has, and no more than Python reads


@dataclass(frozen=True, slots=True)
class Rewound:
    """The chunks of one table that the next run reads again."""

    table: TableKey
    chunks: tuple[ChunkKey, ...]


def parse_window(low: str, high: str) -> Window:
    """Parse a window of cursor values, without its upper end; empty text is no bound. Raises RewindUnfit."""
    window = Window(_bound(low), _bound(high))
    try:
        is_empty = window.lower is not None and not window.overlaps(window)
    except WindowMismatch as mixed:
        raise RewindUnfit(asked=f"{low}..{high}", reason=mixed.message()) from mixed
    if is_empty:
        raise RewindUnfit(asked=f"{low}..{high}", reason="it ends before it begins")
    return window


def rewind(
    catalog: Catalog | None, spec: PipelineSpec, window: Window, *, table: str | None = None, reason: str, by: str
) -> list[Rewound]:
    """Let the next run read the window again, by the chunks that read it. The reason is recorded with each of them.

    A repeat finds them waiting, and changes nothing; without a catalog nothing has been read yet. Raises RewindUnfit
    and WindowMismatch, before anything is written.
    """
    if not reason.strip():
        raise RewindUnfit(asked=spec.id, reason="`--reason` is required")
    tables = [one for one in spec.tables if table in (None, one.name, spec.landed_name(one))]
    if not tables:
        raise RewindUnfit(asked=f"{spec.id}/{table}", reason="the pipeline has no such table")
    for one in tables:
        _require_rereadable(spec, one)
    if catalog is None:
        return []
    keys = [TableKey(spec.id, one.name) for one in tables]
    # All tables first: the window may have no order with the cursor of the last one.
    chosen = [(key, chunks_to_reread(complete_history(catalog, key), window)) for key in keys]
    why = f"{reason.strip()} ({by})"
    return [Rewound(key, catalog.rewind(key, window, why, only=chunks)) for key, chunks in chosen]


def _require_rereadable(spec: PipelineSpec, table: TableSpec) -> None:
    name, load = f"{spec.id}/{table.name}", spec.load_of(table).for_key(table.primary_key)
    if not load.can_rewind:
        raise RewindUnfit(asked=name, reason=f"by `{load.mode}` rows that were read before do not land again")
    if spec.incremental_of(table) is None:
        raise RewindUnfit(asked=name, reason="it is read without a cursor, so a window of it is all of it")


def _bound(text: str) -> Bound | None:
    if not text:
        return None
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    try:
        instant = datetime.fromisoformat(text)
        return to_text(instant if instant.tzinfo else instant.replace(tzinfo=UTC))
    except ValueError as wrong:
        raise RewindUnfit(asked=text, reason="it is neither a whole number nor a day or an instant") from wrong
    except OverflowError as far:
        raise RewindUnfit(asked=text, reason="in UTC it lies outside the years 1 to 9999") from far
