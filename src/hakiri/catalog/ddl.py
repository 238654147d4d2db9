"""SQLite and PostgreSQL get their tables, and their refusals, from the same definitions."""

from __future__ import annotations

from hakiri.catalog.tables import TABLES, Table
from hakiri.model.transitions import pairs

SCHEMA_VERSION = 1
"""The number of the last migration. Migrations go forward only, and a store that is ahead is refused."""

INDEXES = (
    # The claim reads its first rows from here, however many chunks there are.
    """CREATE INDEX chunks_claimable ON chunks (pipeline_id, ordinal, table_name, chunk_id, generation)
    WHERE status IN ('pending', 'waiting')""",
    "CREATE INDEX chunks_running ON chunks (pipeline_id, ordinal) WHERE status = 'running'",
    "CREATE INDEX chunks_finished ON chunks (pipeline_id, table_name) WHERE status IN ('done', 'superseded')",
    "CREATE INDEX runs_latest ON runs (pipeline_id, started_at)",
)


def create(table: Table, *, text: str, integer: str) -> str:
    """The statement that makes the table."""
    columns = [f"{name} {text} NOT NULL" for name in table.texts] + [
        f"{name} {integer} NOT NULL" for name in table.ints
    ]
    return f"CREATE TABLE {table.name} ({', '.join(columns)}, PRIMARY KEY ({', '.join(table.key)}))"


def backward(table: Table) -> str:
    """The condition under which an update of OLD to NEW is not one of the table's moves (G7)."""
    steps = ", ".join(f"'{before}>{after}'" for before, after in sorted(pairs(table.moves)))
    fenced = [name for name in ("fence", "attempt") if name in table.ints]
    back = "".join(f" OR NEW.{name} < OLD.{name}" for name in fenced)
    return f"OLD.status || '>' || NEW.status NOT IN ({steps}){back}"


def moving() -> tuple[Table, ...]:
    """The tables whose rows have moves."""
    return tuple(table for table in TABLES if table.moves)


def append_only() -> tuple[Table, ...]:
    """The tables that only grow."""
    return tuple(table for table in TABLES if table.append_only)
