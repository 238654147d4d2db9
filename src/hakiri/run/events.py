"""Everything that can happen in a run, a value for each kind. None holds a secret, or more of a row than its cursor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, ClassVar, get_args, get_type_hints

Fact = str | int | float | None
"""What a field of an event may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run began on a node."""

    kind: ClassVar[str] = "run_started"
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEnded:
    """A stage of the run ended; with the code of an error if it failed."""

    kind: ClassVar[str] = "stage_ended"
    stage: str
    seconds: float | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A table was planned: chunks that are new, chunks to do in all, and about how many rows the table lacks."""

    kind: ClassVar[str] = "planned"
    table: str
    new: int
    open: int
    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cautioned:
    """The plan of a table has a caution, of this kind."""

    kind: ClassVar[str] = "cautioned"
    table: str
    caution: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkAwaited:
    """The run has asked for a Spark session, which is not open yet."""

    kind: ClassVar[str] = "spark_awaited"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkReady:
    """The Spark session is open; `seconds` is how long this run has waited for it."""

    kind: ClassVar[str] = "spark_ready"
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseMoved:
    """The pipeline has moved to another phase."""

    kind: ClassVar[str] = "phase_moved"
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkEvent:
    """What all events of one attempt at a chunk have."""

    table: str
    chunk: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkClaimed(ChunkEvent):
    """This process has begun to read the chunk."""

    kind: ClassVar[str] = "chunk_claimed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkStaged(ChunkEvent):
    """The chunk was read, and its rows are staged."""

    kind: ClassVar[str] = "chunk_staged"
    read: int
    rows: int
    quarantined: int = 0
    filtered: int = 0
    merged: int = 0
    added: int = 0
    bytes: int
    seconds: float | None = None
    """How long the task has worked on it."""
    waited_seconds: float | None = None
    """How long the chunk has waited for its task, from its claim on: the first ones wait for a worker to start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkNoted(ChunkEvent):
    """There is a remark on how the chunk was read."""

    kind: ClassVar[str] = "chunk_noted"
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkFailed(ChunkEvent):
    """The attempt failed; the chunk's status is `waiting` for the next one, or `failed` for good."""

    kind: ClassVar[str] = "chunk_failed"
    status: str
    code: str
    message: str
    retry_in_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkReleased(ChunkEvent):
    """The chunk was given back to be read again, which costs it no attempt."""

    kind: ClassVar[str] = "chunk_released"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkLost(ChunkEvent):
    """Another worker has taken the chunk over."""

    kind: ClassVar[str] = "chunk_lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingReserved:
    """A landing of so many chunks has its number."""

    kind: ClassVar[str] = "landing_reserved"
    table: str
    number: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A landing is in its table, as this version; None where it brought nothing and there is no table yet."""

    kind: ClassVar[str] = "landed"
    table: str
    number: int
    version: int | None = None
    outcome: str
    chunks: int
    rows: int
    deduplicated: int = 0
    quarantined: int = 0
    filtered: int = 0
    merged: int = 0
    added: int = 0
    unmarked: int = 0
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorMoved:
    """The table's cursor has moved to where a landing brought it."""

    kind: ClassVar[str] = "cursor_moved"
    table: str
    landing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCalled:
    """A hook has succeeded for a landing."""

    kind: ClassVar[str] = "hook_called"
    table: str
    hook: str
    number: int
    type: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFailed:
    """A hook has failed for a landing."""

    kind: ClassVar[str] = "hook_failed"
    table: str
    hook: str
    number: int
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFailed:
    """Nothing more lands in the table in this run; what is staged waits for a later one."""

    kind: ClassVar[str] = "table_failed"
    table: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewChanged:
    """A view was changed: `create`, `replace` or `drop`."""

    kind: ClassVar[str] = "view_changed"
    view: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewFailed:
    """A view could not be changed and stays as it was."""

    kind: ClassVar[str] = "view_failed"
    view: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """A call failed and is tried again."""

    kind: ClassVar[str] = "retrying"
    what: str
    code: str
    message: str
    retry_in_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """The run claims no more chunks, and stops those under way."""

    kind: ClassVar[str] = "stopping"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The run has ended; always the last event of a journal."""

    kind: ClassVar[str] = "run_ended"
    status: str
    rows: int
    bytes: int
    error: str | None = None


Body = (
    RunStarted | StageEnded | Planned | Cautioned | SparkAwaited | SparkReady | PhaseMoved
    | ChunkClaimed | ChunkStaged | ChunkNoted | ChunkFailed | ChunkReleased | ChunkLost
    | LandingReserved | Landed | CursorMoved | HookCalled | HookFailed | TableFailed
    | ViewChanged | ViewFailed | Retrying | Stopping | RunEnded
)  # fmt: skip
KINDS: Mapping[str, type[Body]] = {one.kind: one for one in get_args(Body)}


def facts_of(body: Body) -> dict[str, Fact]:
    """Return the fields of an event by name."""
    return {one.name: getattr(body, one.name) for one in fields(body)}


def body_of(kind: str, facts: Mapping[str, object]) -> Body:
    """Make an event of its fields. Unknown ones are ignored; missing ones are empty, as in journals of older releases.

    Raises KeyError for an unknown kind, TypeError for a value of another type.
    """
    body = KINDS[kind]
    values: dict[str, Any] = {}
    for name, (expected, default) in _fields_of(kind).items():
        value = facts.get(name, default)
        if not isinstance(value, expected):
            raise TypeError(f"{kind}.{name} is no {expected}")
        values[name] = value
    return body(**values)


@cache
def _fields_of(kind: str) -> dict[str, tuple[Any, Fact]]:
    """Return the type that each field takes, and its value where a journal has none."""
    body = KINDS[kind]
    types = get_type_hints(body)
    empty: dict[Any, Fact] = {str: "", int: 0}
    return {
        one.name: (
            types[one.name] | int if types[one.name] == float | None else types[one.name],
            empty[types[one.name]] if one.default is MISSING else one.default,
        )
        for one in fields(body)
    }
