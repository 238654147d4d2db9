"""Convert hook calls to plain data and back, and make the errors of a failed call."""

from __future__ import annotations

from typing import Any, TypeVar

from hakiri.errors import HookError
from hakiri.model.chunk import TableKey
from hakiri.model.hook import HookCall

_Kind = TypeVar("_Kind", bound=HookError)


def facts_of(call: HookCall) -> dict[str, Any]:
    """Return the call as plain data."""
    return {
        "project": call.project,
        "pipeline": call.table.pipeline,
        "table": call.table.table,
        "name": call.name,
        "hook": call.hook,
        "landing": call.number,
        "version": call.version,
        "key": call.key,
        **({"build": call.build} if call.build else {}),
    }


def call_of(facts: dict[str, Any]) -> HookCall:
    """Return the call that `facts_of` converted."""
    return HookCall(
        project=facts["project"],
        table=TableKey(facts["pipeline"], facts["table"]),
        name=facts["name"],
        hook=facts["hook"],
        number=facts["landing"],
        version=facts["version"],
        build=facts.get("build"),
    )


def failed(kind: type[_Kind], call: HookCall, reason: str, **facts: Any) -> _Kind:
    """Return an error of this call."""
    key = call.table
    return kind(
        pipeline=key.pipeline,
        table=key.table,
        hook=call.hook,
        number=call.number,
        version=call.version,
        reason=reason,
        **facts,
    )


def words_of(failure: Exception) -> str:
    """Return the system's description of a failure, in one line."""
    said = (failure.strerror if isinstance(failure, OSError) else None) or str(failure)
    return " ".join(said.split())[:300] or "the connection broke"
