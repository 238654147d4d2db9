"""A view of a workspace is refreshed through its own interface, and its refusal is the hook's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from clocks import ManualClock
from hakiri.errors import HookError
from hakiri.land.errors import HookFailed, HookRefused, HookTimedOut, HookUnanswered
from hakiri.land.target import NamedTarget
from hakiri.model.chunk import TableKey
from hakiri.model.hook import HookCall
from workspaces import Workspace, open_workspace

CALL = HookCall(project="p", table=TableKey("shop", "orders"), name="orders", hook="post_hook[0]", number=7, version=9)


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    with open_workspace() as here:
        yield here


def then(workspace: Workspace, state: str, status: int = 200, **error: str) -> Workspace:
    """The workspace, with one more answer of its warehouse."""
    said = {"statement_id": "s1", "status": {"state": state, **({"error": error} if error else {})}}
    workspace.warehouse.append((status, said if status == 200 else error))
    return workspace


OURS = {"Daily": NamedTarget(("main", "landed", "daily"))}


def refresh(workspace: Workspace, view: str = "main.sales.daily", *, warehouse: str | None = "w1") -> None:
    from hakiri.land.hooks.databricks import WorkspaceViews  # takes seconds to import

    patience, schema = timedelta(seconds=60), ("main", "landed")
    views = WorkspaceViews(workspace.client, warehouse, ManualClock(), targets=OURS, schema=schema, patience=patience)
    views.refresh(view, CALL)


def test_a_view_is_refreshed_by_the_warehouse_and_waited_for(workspace: Workspace) -> None:
    for state in ("PENDING", "RUNNING", "SUCCEEDED"):
        then(workspace, state)
    refresh(workspace)
    first, *looks = [one for one in workspace.asked if "/statements" in one.path]
    assert (first.method, first.document["warehouse_id"]) == ("POST", "w1")
    assert first.document["statement"] == "REFRESH MATERIALIZED VIEW `main`.`sales`.`daily`"
    assert [one.method for one in looks] == ["GET", "GET"]


@pytest.mark.parametrize("view", ["daily", "weekly"])
def test_a_view_of_the_project_or_without_a_schema_is_where_its_tables_are(workspace: Workspace, view: str) -> None:
    refresh(then(workspace, "SUCCEEDED"), view)
    (asked,) = [one for one in workspace.asked if "/statements" in one.path]
    assert asked.document["statement"] == f"REFRESH MATERIALIZED VIEW `main`.`landed`.`{view}`"


@pytest.mark.parametrize(
    ("state", "status", "error", "kind", "said"),
    [
        ("FAILED", 200, {"message": "no such\nview"}, HookFailed, "FAILED: no such view"),
        ("CANCELED", 200, {}, HookFailed, "CANCELED"),
        ("", 403, {"error_code": "PERMISSION_DENIED", "message": "not yours"}, HookFailed, "PERMISSION_DENIED"),
        ("", 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "gone"}, HookFailed, "RESOURCE_DOES_NOT_EXIST"),
        ("", 500, {"error_code": "INTERNAL_ERROR", "message": "ours"}, HookUnanswered, "INTERNAL_ERROR"),
    ],
)
def test_what_a_workspace_refuses_is_the_hooks_error(
    workspace: Workspace, state: str, status: int, error: dict[str, str], kind: type[HookError], said: str
) -> None:
    with pytest.raises(kind) as caught:
        refresh(then(workspace, state, status, **error))
    assert said in caught.value.reason


def test_a_refresh_that_never_ends_is_cancelled(workspace: Workspace) -> None:
    with pytest.raises(HookTimedOut):
        refresh(then(workspace, "RUNNING"))
    assert workspace.asked[-1].path.endswith("/s1/cancel")


def test_a_project_without_a_warehouse_is_told_so(workspace: Workspace) -> None:
    with pytest.raises(HookRefused, match="warehouse"):
        refresh(workspace, warehouse=None)


def test_a_workspace_that_is_not_there_is_retried(workspace: Workspace) -> None:
    workspace.url = "http://127.0.0.1:9"
    with pytest.raises(HookUnanswered):
        refresh(workspace)
