"""Whole rounds without a JVM: planned, read from a real folder of files, sealed, and adopted by the table."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clocks import ManualClock
from hakiri.catalog.sidecars import LocalSidecars
from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.extract.chunk import ChunkRead, extract_chunk
from hakiri.extract.connectors.declared import source_table
from hakiri.extract.connectors.registry import open_connector
from hakiri.extract.provenance import Provenance
from hakiri.https import HttpsClient
from hakiri.land.hooks.call import AllHooks
from hakiri.land.hooks.views import ProjectViews
from hakiri.land.hooks.webhook import Webhooks
from hakiri.land.lander import land
from hakiri.land.recipe import LandRequest
from hakiri.land.table_state import expected_landing
from hakiri.land.target import PathTarget
from hakiri.model.chunk import ChunkKey, Lease, Seal, TableKey
from hakiri.model.ledger import Pipeline
from hakiri.model.staged import StagedChunk
from hakiri.plan.make import make_plan
from hakiri.plan.reading import from_json
from hakiri.run.facts import gather_facts
from hakiri.run.node import Node
from hakiri.run.services import Services, TablePlace
from hakiri.settings import Settings
from hakiri.spec.fields.address import HostRule
from hakiri.spec.load import LoadMode
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.stage.layout import Attempt
from hakiri.stage.local import LocalFiles
from hakiri.stage.manifest import fingerprint
from hakiri.stage.seal import seal
from hakiri.stage.writer import AttemptWriter
from land.staging import no_spark

TABLE = TableKey("shop", "orders")


@dataclass
class Rounds:
    """A project of one table that is read file by file."""

    root: Path
    writes_predicates: bool = True
    run: int = 0
    load: dict[str, Any] = field(default_factory=dict)
    rules: tuple[HostRule, ...] = ()
    client: HttpsClient = field(default_factory=HttpsClient)
    _staged: dict[ChunkKey, StagedChunk] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock = ManualClock()
        (self.root / "files").mkdir(parents=True, exist_ok=True)

    @property
    def spec(self) -> PipelineSpec:
        source = {"connector": "files", "config": {"path": str(self.root / "files")}}
        columns = [{"name": "id", "type": "bigint"}]
        tables = [{"name": "orders", "columns": columns}]
        return PipelineSpec.model_validate({"id": "shop", "source": source, "tables": tables, "load": self.load})

    @property
    def table(self) -> Path:
        return self.root / "tables" / "orders"

    def put(self, name: str, *lines: str) -> None:
        (self.root / "files" / "orders").mkdir(exist_ok=True)
        (self.root / "files" / "orders" / f"{name}.csv").write_text("\n".join(["id", *lines, ""]))

    def lose_catalog(self) -> None:
        shutil.rmtree(self.root / "catalog")

    @contextmanager
    def services(self) -> Iterator[Services]:
        def place(_spec: PipelineSpec, _table: TableSpec) -> TablePlace:
            return TablePlace(PathTarget(str(self.table)), str(self.table), LocalFiles(self.table))

        (self.root / "catalog").mkdir(exist_ok=True)
        catalog = SqliteCatalog(
            self.root / "catalog" / "catalog.sqlite", clock=self.clock, sidecars=LocalSidecars(self.table.parent)
        )
        try:
            yield Services(
                project="test",
                node=Node.here(),
                clock=self.clock,
                catalog=catalog,
                connector=lambda spec: open_connector(spec.source.connector, spec.source.config),
                place=place,
                hooks=AllHooks(
                    spark=no_spark,
                    views=lambda: ProjectViews(
                        (), ("orders",), lambda name: PathTarget(str(self.table.parent / name)), no_spark
                    ),
                    webhooks=Webhooks(self.rules, Settings(cwd=self.root).look_up, self.clock, self.client),
                ),
                spark=no_spark,
                transforms=lambda _: {},
                journals=self.root / "journal",
            )
        finally:
            catalog.close()

    def carry_out(self, *, lands: int | None = None) -> list[str]:
        """Plan, read and land; the chunks that were read. Of those, only the first few land if a number is given."""
        self.run += 1
        with self.services() as parts:
            parts.catalog.register(Pipeline("shop", parallelism=9))
            plan = make_plan([gather_facts(self.spec, parts.connector(self.spec), parts.catalog).facts])
            parts.catalog.add_chunks(plan.new_chunks)
            leases = parts.catalog.claim("shop", node=str(parts.node), limit=9)
            for lease in leases:
                self._stage(parts, lease)
            self._land(parts, lands)
            return [lease.chunk.key.chunk for lease in leases]

    def _stage(self, parts: Services, lease: Lease) -> None:
        connector, reading = parts.connector(self.spec), from_json(lease.chunk.predicate)
        schema = connector.describe(source_table(self.spec, self.spec.tables[0]))
        attempt = Attempt(f"run-{self.run}", "n1", lease.chunk.key, lease.attempt)
        with AttemptWriter(LocalFiles(self.table), attempt) as writer:
            provenance = Provenance(
                pipeline=attempt.chunk.pipeline,
                run=attempt.run,
                node=attempt.node,
                chunk=attempt.chunk.chunk,
                ingested_at=self.clock.now(),
            )
            rules = self.spec.quality.row_level
            read = extract_chunk(connector, ChunkRead(schema, reading.span), writer, provenance=provenance, rules=rules)
            predicate = lease.chunk.predicate if self.writes_predicates else ""
            self._staged[lease.chunk.key] = staged = seal(writer, read.tally, predicate=predicate)
        parts.catalog.complete(lease, Seal(staged.folder, read.tally.staged, 1, fingerprint(staged)))

    def _land(self, parts: Services, lands: int | None) -> None:
        chunks = tuple(state.chunk.key for state in parts.catalog.staged(TABLE))[:lands]
        if not chunks:
            return
        last = expected_landing(parts.catalog.landings(TABLE))
        landing = parts.catalog.reserve_landing(TABLE, chunks, node=str(parts.node))
        request = LandRequest(
            project="test",
            landing=landing,
            carried=last,
            target=PathTarget(str(self.table)),
            root=str(self.table),
            chunks=tuple(self._staged[key] for key in landing.chunks),
            mode=LoadMode.APPEND,
        )
        parts.catalog.finish_landing(landing, version=land(request, no_spark).version)
