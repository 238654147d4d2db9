"""A run of one pipeline over a database, without a JVM: what it stages can be adopted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flow.stand import change
from hakiri.engine.errors import JavaMissing
from hakiri.model.ledger import LandingStatus
from hakiri.run.context import RunContext
from hakiri.run.facts import describe_tables
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.hooks import TableHooks
from hakiri.run.journal import Journal
from hakiri.run.land_table import TableLander
from hakiri.run.stop import Stop
from hakiri.spec.pipeline import PipelineSpec
from run.rounds import TABLE, Rounds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Shop(Rounds):
    """One table of a database, with a cursor and a rule."""

    @property
    def spec(self) -> PipelineSpec:
        return PipelineSpec.model_validate(
            {
                "id": "shop",
                "source": {"connector": "sqlite", "config": {"path": str(self.root / "shop.sqlite")}},
                "tables": [{"name": "orders", "primary_key": ["id"], "incremental": "id"}],
                "load": {"mode": "append"},
                "quality": {"row_level": [{"type": "not_null", "field": "city", "on_fail": "skip"}]},
                "retry": {"max_attempts": 1},
            }
        )

    def fill(self, *cities: str | None, key: str = "id") -> None:
        """A row for each city, in a table with this primary key."""
        rows = [(number, city) for number, city in enumerate(cities, start=1)]
        change(
            self.root / "shop.sqlite",
            f"CREATE TABLE orders (id INTEGER NOT NULL, city TEXT, PRIMARY KEY ({key}))",
            many=[("INSERT INTO orders VALUES (?, ?)", rows)],
        )

    def stage(self, *cities: str | None) -> None:
        """A row for each city, staged and not landed."""
        self.fill(*cities)
        self.carry_out(lands=0)

    @contextmanager
    def context(self, catalog: Any = None) -> Iterator[RunContext]:
        """A run of the pipeline, its catalog wrapped as the test wants it."""
        with self.services() as parts:
            used = replace(parts, spark=no_java, catalog=catalog(parts.catalog) if catalog else parts.catalog)
            with Journal(used.journals, run="landing", pipeline="shop", clock=self.clock) as journal:
                yield RunContext(
                    services=used,
                    spec=self.spec,
                    run="landing",
                    journal=journal,
                    stop=Stop(),
                    heartbeat=Heartbeat(used.catalog, lease_seconds=60),
                )

    @contextmanager
    def lander(self, catalog: Any = None) -> Iterator[TableLander]:
        """What lands the table."""
        with self.context(catalog) as context:
            (table,) = describe_tables(self.spec, context.services.connector(self.spec), None).facts.tables
            yield TableLander(context, table.spec, hooks=TableHooks(context, table.spec), key=table.primary_key)

    def landed(self) -> tuple[list[LandingStatus], str | None]:
        """How far the table's landings are, and its cursor."""
        with self.services() as parts:
            cursor = parts.catalog.cursor(TABLE)
            return [one.status for one in parts.catalog.landings(TABLE)], cursor.value if cursor else None


def no_java() -> SparkSession:
    raise JavaMissing(tried=())
