"""What a landing writes, it writes in the order of docs/adr/0030, and what fails in between leaves it takeable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from flow.stand import change
from hakiri.catalog.port import Catalog
from hakiri.errors import CatalogUnavailable, JavaMissing
from hakiri.model import durable
from hakiri.model.ledger import LandingStatus
from hakiri.run.errand import Errand
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.journal import Journal
from hakiri.run.landing import TableLander
from hakiri.run.stopping import Stop
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
                "quality": {"row_level": [{"type": "not_null", "field": "city", "on_fail": "skip"}]},
                "retry": {"max_attempts": 1},
            }
        )

    def stage(self, *cities: str | None) -> None:
        """A row for each city, staged and not landed."""
        rows = [(number, city) for number, city in enumerate(cities, start=1)]
        change(
            self.root / "shop.sqlite",
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT)",
            many=[("INSERT INTO orders VALUES (?, ?)", rows)],
        )
        self.carry_out(lands=0)

    @contextmanager
    def lander(self, catalog: Any = None) -> Iterator[TableLander]:
        """What lands the table, its catalog wrapped as the test wants it."""
        with self.equipment() as parts:
            used = replace(parts, spark=no_java, catalog=catalog(parts.catalog) if catalog else parts.catalog)
            with Journal(used.journals, run="landing", pipeline="shop", clock=self.clock) as journal:
                errand = Errand(
                    equipment=used,
                    spec=self.spec,
                    run="landing",
                    journal=journal,
                    stop=Stop(),
                    heartbeat=Heartbeat(used.catalog, lease_seconds=60),
                )
                yield TableLander(errand, self.spec.tables[0], key=("id",))

    def landed(self) -> tuple[list[LandingStatus], str | None]:
        """How far the table's landings are, and its cursor."""
        with self.equipment() as parts:
            cursor = parts.catalog.cursor(TABLE)
            return [one.status for one in parts.catalog.landings(TABLE)], cursor.value if cursor else None


@dataclass
class Failing:
    """A catalog that cannot be reached for one verb."""

    catalog: Catalog
    verb: str

    def __getattr__(self, name: str) -> Any:
        if name == self.verb:
            raise CatalogUnavailable(store="catalog", reason="the connection was reset")
        return getattr(self.catalog, name)


def no_java() -> SparkSession:
    raise JavaMissing(tried=())


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop")


@pytest.mark.parametrize("verb", ["finish_landing", "append_schema", "commit_snapshot", "append_lineage"])
def test_the_cursor_stays_where_it_was_until_all_else_is_recorded(shop: Shop, verb: str) -> None:
    shop.stage("Rome", "Oslo")
    with shop.lander(lambda catalog: Failing(catalog, verb)) as lander, pytest.raises(CatalogUnavailable):
        lander.land(is_last=True)
    assert shop.landed()[1] is None
    assert DeltaTable(shop.table).version() == 0
    with shop.lander() as lander:
        lander.settle()
        lander.land(is_last=True)
    assert shop.landed() == ([LandingStatus.LANDED], '["int","2"]')
    assert DeltaTable(shop.table).version() == 0


def test_a_table_waits_for_its_quarantined_rows_to_be_kept(shop: Shop) -> None:
    """They land by Spark; the rows beside them could be adopted without."""
    shop.stage("Rome", None)
    with shop.lander() as lander, pytest.raises(JavaMissing):
        lander.land(is_last=True)
    assert not DeltaTable.is_deltatable(str(shop.table))
    assert shop.landed() == ([LandingStatus.RESERVED], None)


def test_a_commit_is_on_the_disk_before_the_catalog_hears_of_it(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.stage("Rome")
    synced: list[Path] = []
    sync = durable.sync
    monkeypatch.setattr(durable, "sync", lambda path: (sync(path), synced.append(path)))
    with (
        shop.lander(lambda catalog: Failing(catalog, "finish_landing")) as lander,
        pytest.raises(CatalogUnavailable),
    ):
        lander.land(is_last=True)
    log = shop.table / "_delta_log"
    assert {log / f"{0:020}.json", log, shop.table} <= set(synced)
