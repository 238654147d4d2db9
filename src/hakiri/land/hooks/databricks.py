"""Refresh a materialized view of a workspace with one of its SQL warehouses, and wait for the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from databricks.sdk.errors.base import DatabricksError
from databricks.sdk.service.sql import ExecuteStatementRequestOnWaitTimeout, StatementState, StatementStatus

from hakiri.land.errors import HookFailed, HookRefused, HookTimedOut, HookUnanswered
from hakiri.land.hooks.facts import failed, words_of
from hakiri.land.target import NamedTarget, sql_name
from hakiri.model.clock import Clock
from hakiri.model.hook import HookCall

if TYPE_CHECKING:
    from databricks.sdk import WorkspaceClient

REFRESH = "REFRESH MATERIALIZED VIEW {view}"

_OPEN = (StatementState.PENDING, StatementState.RUNNING)
_FIRST_WAIT, _LOOK_SECONDS = "30s", 5.0


class WorkspaceViews:
    """Materialized views of Unity Catalog."""

    def __init__(
        self,
        client: Callable[[], WorkspaceClient],
        warehouse: str | None,
        clock: Clock,
        *,
        targets: Mapping[str, NamedTarget] | None = None,
        schema: tuple[str, ...] = (),
        patience: timedelta = timedelta(hours=1),
    ) -> None:
        """`targets` are the project's views by name; any other name is used as the hook writes it.

        A name without a dot is looked for in `schema`, where tables land.
        """
        self._schema = schema
        self._targets = {name.casefold(): one for name, one in (targets or {}).items()}
        self._client = client
        self._warehouse = warehouse
        self._clock = clock
        self._patience = patience

    def refresh(self, view: str, call: HookCall) -> None:
        if not self._warehouse:
            reason = "no SQL warehouse is named: set `warehouse` under [hooks], or DATABRICKS_WAREHOUSE_ID"
            raise failed(HookRefused, call, reason)
        try:
            self._run(REFRESH.format(view=sql_name(self._named(view))), self._warehouse, call)
        except DatabricksError as error:
            kind = HookUnanswered if error.error_code in _PASSING else HookFailed
            raise failed(kind, call, f"the workspace said {error.error_code}: {_line(str(error))}") from error
        except (OSError, TimeoutError) as error:
            raise failed(HookUnanswered, call, f"the workspace: {words_of(error)}") from error

    def _named(self, view: str) -> NamedTarget:
        parts = tuple(view.split("."))
        return self._targets.get(view.casefold()) or NamedTarget(parts if "." in view else (*self._schema, *parts))

    def _run(self, statement: str, warehouse: str, call: HookCall) -> None:
        statements = self._client().statement_execution
        answer = statements.execute_statement(
            statement,
            warehouse,
            wait_timeout=_FIRST_WAIT,
            on_wait_timeout=ExecuteStatementRequestOnWaitTimeout.CONTINUE,
        )
        name, status = answer.statement_id or "", answer.status
        until = self._clock.now() + self._patience
        while status and status.state in _OPEN:
            if self._clock.now() > until:
                statements.cancel_execution(name)
                raise failed(HookTimedOut, call, f"the refresh took longer than {self._patience}")
            self._clock.sleep(_LOOK_SECONDS)
            status = statements.get_statement(name).status
        _require_done(status, call)


_PASSING = frozenset({"TEMPORARILY_UNAVAILABLE", "RESOURCE_EXHAUSTED", "REQUEST_LIMIT_EXCEEDED", "INTERNAL_ERROR"})


def _require_done(status: StatementStatus | None, call: HookCall) -> None:
    if status and status.state is StatementState.SUCCEEDED:
        return
    reason = status.error.message if status and status.error and status.error.message else "no reason was given"
    state = status.state.value if status and status.state else "UNKNOWN"
    raise failed(HookFailed, call, f"the refresh ended as {state}: {_line(reason)}")


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
