"""The SQLite schema of the in-memory replica."""

from __future__ import annotations

from collections.abc import Iterator

from hakiri.catalog.tables import TABLES, Table
from hakiri.model.transitions import pairs

INDEXES = (
    # Lets a claim find the first rows without reading all chunks.
    """CREATE INDEX chunks_claimable ON chunks (pipeline_id, ordinal, table_name, chunk_id, generation)
    WHERE status IN ('pending', 'waiting')""",
    "CREATE INDEX chunks_running ON chunks (pipeline_id, ordinal) WHERE status = 'running'",
    "CREATE INDEX chunks_finished ON chunks (pipeline_id, table_name) WHERE status IN ('done', 'superseded')",
    "CREATE INDEX runs_latest ON runs (pipeline_id, started_at)",
    "CREATE INDEX chunks_rounds ON chunks (pipeline_id, table_name, round, chunk_id, generation)",
    "CREATE INDEX archive_rounds ON archive (pipeline_id, table_name, round, chunk_id, generation)",
    "CREATE INDEX chunks_refreshes ON chunks (pipeline_id, table_name, round) WHERE is_refresh = 1",
    "CREATE INDEX archive_refreshes ON archive (pipeline_id, table_name, round) WHERE is_refresh = 1",
    "CREATE INDEX landings_restored ON landings (pipeline_id, table_name, number) WHERE holder = ''",
)


def create_tables() -> Iterator[str]:
    """Return the statements that create every table, its indexes, and the triggers that refuse backward moves (G7)."""
    for table in TABLES:
        yield _create(table)
    yield from INDEXES
    for table in TABLES:
        if table.moves:
            yield (
                f"CREATE TRIGGER {table.name}_moves BEFORE UPDATE ON {table.name} WHEN {_is_backward(table)} "
                f"BEGIN SELECT RAISE(ABORT, 'backward move of {table.name}'); END"
            )


def _create(table: Table) -> str:
    columns = [*(f"{name} TEXT NOT NULL" for name in table.texts), *(f"{name} INTEGER NOT NULL" for name in table.ints)]
    return f"CREATE TABLE {table.name} ({', '.join(columns)}, PRIMARY KEY ({', '.join(table.key)}))"


def _is_backward(table: Table) -> str:
    """Return the condition under which an update of OLD to NEW is not one of the table's moves."""
    steps = ", ".join(f"'{before}>{after}'" for before, after in sorted(pairs(table.moves)))
    fenced = [name for name in ("fence", "attempt") if name in table.ints]
    back = "".join(f" OR NEW.{name} < OLD.{name}" for name in fenced)
    return f"OLD.status || '>' || NEW.status NOT IN ({steps}){back}"
