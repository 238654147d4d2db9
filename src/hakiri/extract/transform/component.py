"""Runs WebAssembly components as transforms: checks permissions before, and results against the announced schema."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec

import polars as pl
import pyarrow as pa

from hakiri.errors import Place
from hakiri.extract.errors import (
    CapabilityUngranted,
    ComponentExceeded,
    ComponentFailed,
    ComponentRefused,
    ComponentUnanswered,
    RuntimeMissing,
)
from hakiri.extract.landing_types import to_landing
from hakiri.extract.transform.unwrap import unwrapped
from hakiri.spec.component import ComponentSpec

MAX_MODULE_BYTES = 8 << 20
APPLY_ROWS, APPLY_BYTES = 65_536, 16 << 20
"""The most bytes passed to a component at once; a larger single row is passed whole."""


@dataclass(frozen=True, slots=True)
class Component:
    """A component that may run, with its settings. Can be pickled, including its machine code."""

    spec: ComponentSpec
    module: bytes = field(repr=False)
    code: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """Return a digest of the module and its `rows`, `keeps` and `network`. Limits do not affect results."""
        declared = f"{self.spec.rows} {self.spec.keeps} {self.spec.network}"
        return sha256(self.module + declared.encode()).hexdigest()

    def open(self, table: str) -> Applying:
        """Start the component in this process, with fresh memory. Raises ComponentError if it fails to start."""
        return Applying(self, table)


def read_component(raw: bytes, spec: ComponentSpec, place: Place) -> Component:
    """Check and compile a component's file, without running any of it.

    Raises ComponentRefused, CapabilityUngranted, or RuntimeMissing without Wasmtime.
    """
    if find_spec("wasmtime") is None:
        raise RuntimeMissing(place=place, file=spec.component)
    if len(raw) > MAX_MODULE_BYTES:
        reason = f"has more than {MAX_MODULE_BYTES >> 20} MiB"
        raise ComponentRefused(place=place, file=spec.component, reason=reason)
    module = unwrapped(raw)
    if module is None:
        reason = "is put together of several modules, which is not done here"
        raise ComponentRefused(place=place, file=spec.component, reason=reason, advice=_ONE_MODULE)
    from hakiri.extract.transform.guest import Unfit, compiled, imports_of

    try:
        code = compiled(module)
    except Unfit as unfit:
        raise ComponentRefused(place=place, file=spec.component, reason=unfit.reason, advice=unfit.advice) from unfit
    _require_grants(imports_of(code), spec, place)
    return Component(spec, module, code)


_ONE_MODULE = "name the module that `cargo build` makes; WASI and what JavaScript or Python become take several"


def _require_grants(asked: list[str], spec: ComponentSpec, place: Place) -> None:
    """Check that the component's imports and the permissions in the manifest match."""
    from hakiri.extract.transform.guest import NETWORK

    for name in asked:
        if name != NETWORK:
            reason = f"asks its host for `{name[:100]}`, which no component is given"
            advice = "build it without: `wasm32-unknown-unknown` asks for nothing, WASI asks for files, clocks and more"
            raise CapabilityUngranted(place=place, file=spec.component, reason=reason, advice=advice)
    if asked and not spec.network:
        advice = 'name the hosts it may call, `network = ["models.example.com"]`, if it shall have them'
        reason = "asks for the network, and is not granted any"
        raise CapabilityUngranted(place=place, file=spec.component, reason=reason, advice=advice)
    if spec.network and not asked:
        reason = "is granted the network, and does not ask for it"
        raise CapabilityUngranted(place=place, file=spec.component, reason=reason, advice="take `network` away")


class Applying:
    """A running component for one chunk. It may keep state between batches."""

    def __init__(self, component: Component, table: str) -> None:
        spec = component.spec
        self._spec = spec
        self._table = table
        if find_spec("wasmtime") is None:
            raise self._failed("the Wasmtime that runs it is not installed where chunks are read: `hakiri[wasm]`")
        from hakiri.extract.transform.guest import Guest, Limits
        from hakiri.extract.transform.network import Network

        self._prepared: tuple[pa.Schema, pa.Schema] | None = None
        limits = Limits(spec.memory_mib << 20, spec.fuel, spec.timeout.total_seconds())
        with self._translated():
            self._guest = Guest(component.code, component.module, limits, Network(spec.hosts) if spec.network else None)

    def schema(self, before: pa.Schema) -> pa.Schema:
        """Return the schema of the result for rows of this one. Asks the component only if the schema is new.

        Raises ComponentError.
        """
        from hakiri.extract.transform.stream import schema_of, to_stream

        if self._prepared is None or self._prepared[0] != before:
            with self._translated():
                after = schema_of(self._guest.prepare(to_stream(before)))
            self._require_kept(before, after)
            self._prepared = before, after
        return self._prepared[1]

    def __call__(self, rows: pa.RecordBatch) -> pa.Table:
        """Apply the component to the rows, in types that Delta can store. Raises ComponentError."""
        given = to_landing(rows, table=self._table)
        after = self.schema(given.schema)
        return pa.concat_tables([after.empty_table(), *(self._apply(part, after) for part in _parts(given))])

    def _apply(self, given: pa.RecordBatch, after: pa.Schema) -> pa.Table:
        from hakiri.extract.transform.stream import rows_of, to_stream

        with self._translated():
            found = rows_of(self._guest.apply(to_stream(given.schema, given)), after)
        self._require_counted(given.num_rows, found.num_rows)
        for name in self._spec.keeps:
            if not pl.Series(found.column(name)).equals(pl.Series(given.column(name)), null_equal=True):
                raise self._failed(f"it changed the column `{name}`, which the manifest says it keeps")
        return found

    def _require_counted(self, before: int, after: int) -> None:
        """Check the number of rows against the component's `rows` in the manifest (G6)."""
        match self._spec.rows:
            case "keeps":
                is_so = after == before
            case "filters" | "merges":
                is_so = after <= before
            case "adds":
                is_so = after >= before
            case "replaces":
                is_so = True
        if not is_so:
            reason = f'of {before:,} rows it made {after:,}, and the manifest says `rows = "{self._spec.rows}"`'
            raise self._failed(reason)

    def _require_kept(self, before: pa.Schema, after: pa.Schema) -> None:
        for name in self._spec.keeps:
            if name not in before.names or name not in after.names or before.field(name) != after.field(name):
                raise self._failed(f"there is no column `{name}` that it keeps")

    def _failed(self, reason: str) -> ComponentFailed:
        return ComponentFailed(table=self._table, file=self._spec.component, reason=reason)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate failures of the guest."""
        from hakiri.extract.transform.guest import Excess, Failure, Silence

        try:
            yield
        except Failure as failure:
            kinds = {Excess: ComponentExceeded, Silence: ComponentUnanswered}
            kind = kinds.get(type(failure), ComponentFailed)
            raise kind(table=self._table, file=self._spec.component, reason=failure.reason) from None


def _parts(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split the rows into parts that a component accepts."""
    fitting = rows.num_rows * APPLY_BYTES // max(rows.nbytes, 1)
    step = max(1, min(APPLY_ROWS, fitting))
    return (rows.slice(start, step) for start in range(0, rows.num_rows, step))
