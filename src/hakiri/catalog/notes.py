"""Statements for hook marks, the owners of tables, and the views that were created."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hakiri.catalog.rows import hook_mark_of, table_values, view_of, view_row
from hakiri.catalog.store import Session
from hakiri.catalog.tables import HOOKS, OWNERS, VIEWS, Value, insert, named_bucket
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import HookMark
from hakiri.model.timestamps import to_text
from hakiri.model.view import MadeView

INSERT_HOOK = insert(HOOKS)
INSERT_OWNER = insert(OWNERS)
INSERT_VIEW = insert(VIEWS)

HOOKS_OF_TABLE = "SELECT * FROM hooks WHERE pipeline_id = :pipeline_id AND table_name = :table_name ORDER BY hook"

MOVE_HOOK = """
UPDATE hooks SET landing = :landing, owed_from = :owed_from, updated_at = :updated_at
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND hook = :hook AND landing < :landing
RETURNING *
"""

OWNER = "SELECT * FROM owners WHERE pipeline_id = :pipeline_id AND table_name = :table_name"

CHANGE_OWNER = """
UPDATE owners SET owner = :owner, updated_at = :updated_at
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND owner = :before
RETURNING *
"""

EVERY_VIEW = "SELECT * FROM views ORDER BY view_name"

CHANGE_VIEW = """
UPDATE views
SET query_text = :query_text, table_names = :table_names, address = :address, run_id = :run_id, is_whole = :is_whole,
    updated_at = :updated_at
WHERE view_name = :view_name
RETURNING *
"""

REMOVE_VIEW = "DELETE FROM views WHERE view_name = :view_name RETURNING *"

_VIEWS = "views of the project"
"""The lock held while the views change, which are compared and replaced as a whole."""


def hook_marks(session: Session, table: TableKey) -> tuple[HookMark, ...]:
    """Return the marks of the table's hooks."""
    return tuple(hook_mark_of(row) for row in session.rows(HOOKS_OF_TABLE, **table_values(table)))


def mark_hook(session: Session, table: TableKey, mark: HookMark, now: datetime) -> None:
    """Move the hook's mark forward; do nothing if it is already there or further."""
    values: dict[str, Value] = {
        **table_values(table),
        "hook": mark.hook,
        "landing": mark.landing,
        "owed_from": mark.owed_from,
        "updated_at": to_text(now),
    }
    if not session.rows(MOVE_HOOK, **values):
        session.rows(INSERT_HOOK, **values, bucket=named_bucket(table.pipeline))


def owner(session: Session, table: TableKey) -> str | None:
    """Return the pipeline that the table was handed over to, if it was."""
    return next((str(row["owner"]) for row in session.rows(OWNER, **table_values(table))), None)


def set_owner(session: Session, table: TableKey, name: str, before: str | None, now: datetime) -> bool:
    """Record the owner if the current one is `before`, and return whether the table belongs to it now."""
    values: dict[str, Value] = {**table_values(table), "owner": name, "updated_at": to_text(now)}
    if before is None:
        session.rows(INSERT_OWNER, **values, bucket=named_bucket(table.pipeline))
    else:
        session.rows(CHANGE_OWNER, **values, before=before)
    return owner(session, table) == name


def views(session: Session) -> tuple[MadeView, ...]:
    """Return the created views by name."""
    return tuple(view_of(row) for row in session.rows(EVERY_VIEW))


def record_views(session: Session, made: Sequence[MadeView], before: Sequence[MadeView], now: datetime) -> bool:
    """Replace `before` by `made`, and return whether the recorded views are `made` now."""
    session.hold(_VIEWS)
    found = {one.view.name: one for one in views(session)}
    wanted = {one.view.name: one for one in made}
    if found == wanted:
        return True
    if found != {one.view.name: one for one in before}:
        return False
    for name in found.keys() - wanted.keys():
        session.rows(REMOVE_VIEW, view_name=name)
    for name, one in wanted.items():
        if name not in found:
            session.rows(INSERT_VIEW, **view_row(one, now), bucket=0)
        elif found[name] != one:
            session.rows(CHANGE_VIEW, **view_row(one, now))
    return True
