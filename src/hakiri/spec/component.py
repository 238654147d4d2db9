"""Declare a transform in WebAssembly: its file, its effect on rows, and its limits."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hakiri.spec.fields.address import HostRule
from hakiri.spec.fields.duration import PositiveDuration
from hakiri.spec.frozen import Distinct, Frozen, Int
from hakiri.spec.load import Columns
from hakiri.spec.names import Identifier

MAX_TIMEOUT = timedelta(minutes=30)

RowsEffect = Literal["keeps", "filters", "merges", "adds", "replaces"]


def check_host(host: str) -> str:
    """Check a host that a component may send requests to."""
    HostRule.parse(host)
    return host


def check_timeout(timeout: timedelta) -> timedelta:
    """Check that a task can wait this long."""
    if timeout > MAX_TIMEOUT:
        raise ValueError("a component may take at most half an hour for one batch")
    return timeout


class ComponentSpec(Frozen):
    """A transform in WebAssembly and the tables it is for."""

    component: Annotated[str, Field(pattern=r"^[^/\\].*\.wasm$")]
    """The component's file, relative to the project."""
    tables: Annotated[tuple[Identifier, ...], Distinct] = ()
    """The tables it is for; all of the pipeline's when left out."""
    rows: RowsEffect = "keeps"
    """Its effect on the number of rows; a component that does something else fails its chunk."""
    keeps: Columns = ()
    """Columns that it leaves as they are; compared row by row, so only where it keeps all rows."""
    network: Annotated[tuple[Annotated[str, AfterValidator(check_host)], ...], Distinct] = ()
    """The hosts it may send https requests to; none when left out."""
    memory_mib: Annotated[Int, Field(ge=1, le=4_095)] = 256
    """The limit of its memory."""
    fuel: Annotated[Int, Field(ge=1, le=10**15)] = 20_000_000_000
    """The limit of its instructions for one batch of rows."""
    timeout: Annotated[PositiveDuration, AfterValidator(check_timeout)] = timedelta(seconds=60)
    """The limit of its time for one batch of rows, requests included."""

    @property
    def file(self) -> str:
        return self.component

    @property
    def hosts(self) -> tuple[HostRule, ...]:
        return tuple(HostRule.parse(host) for host in self.network)
