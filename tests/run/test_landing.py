"""What a landing writes, it writes in the order of docs/adr/0030, and what fails in between leaves it takeable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from hakiri.catalog.errors import CatalogUnavailable
from hakiri.catalog.port import Catalog
from hakiri.land.errors import LandingFailed
from hakiri.model.ledger import LandingStatus
from hakiri.spec.pipeline import PipelineSpec
from run.shop import Shop


@dataclass
class Failing:
    """A catalog that cannot be reached for one verb, for good or so many times."""

    catalog: Catalog
    verb: str
    times: int = -1

    def __getattr__(self, name: str) -> Any:
        if name == self.verb and self.times:
            self.times -= 1
            raise CatalogUnavailable(store="catalog", reason="the connection was reset")
        return getattr(self.catalog, name)


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
    assert shop.landed() == ([LandingStatus.LANDED], '{"column":"id","type":"bigint","value":["int","2"]}')
    assert DeltaTable(shop.table).version() == 0


class PatientShop(Shop):
    """The same pipeline, which tries a landing again."""

    @property
    def spec(self) -> PipelineSpec:
        return PipelineSpec.model_validate(
            {**super().spec.model_dump(exclude_unset=True), "retry": {"max_attempts": 3}}
        )


@pytest.mark.parametrize("verb", ["commit_snapshot", "append_lineage", "advance_cursor"])
def test_a_retry_that_finds_its_own_landing_finished_records_what_is_left(tmp_path: Path, verb: str) -> None:
    shop = PatientShop(tmp_path / "shop")
    shop.stage("Rome", "Oslo")
    with shop.lander(lambda catalog: Failing(catalog, verb, times=1)) as lander:
        lander.land(is_last=True)
    assert shop.landed() == ([LandingStatus.LANDED], '{"column":"id","type":"bigint","value":["int","2"]}')
    assert DeltaTable(shop.table).version() == 0


def test_a_table_waits_for_its_quarantined_rows_to_be_kept(shop: Shop) -> None:
    shop.stage("Rome", None)
    in_the_way = Path(f"{shop.table}_quarantine")
    in_the_way.touch()
    with shop.lander() as lander, pytest.raises(LandingFailed, match="orders_quarantine"):
        lander.land(is_last=True)
    assert not DeltaTable.is_deltatable(str(shop.table))
    assert shop.landed() == ([LandingStatus.RESERVED], None)
    in_the_way.unlink()
    with shop.lander() as lander:
        lander.land(is_last=True)
    assert shop.landed()[0] == [LandingStatus.LANDED]
    (aside,) = DeltaTable(in_the_way).to_pyarrow_dataset().to_table().to_pylist()
    told = {name: aside[name] for name in ("pipeline_id", "run_id", "node_id", "created_at")}
    assert told == {"pipeline_id": "shop", "run_id": "run-1", "node_id": "n1", "created_at": shop.clock.now()}


def test_a_commit_is_on_the_disk_before_the_catalog_hears_of_it(shop: Shop, synced: list[Path]) -> None:
    shop.stage("Rome")
    synced.clear()
    with (
        shop.lander(lambda catalog: Failing(catalog, "finish_landing")) as lander,
        pytest.raises(CatalogUnavailable),
    ):
        lander.land(is_last=True)
    log = shop.table / "_delta_log"
    assert {log / f"{0:020}.json", log, shop.table} <= set(synced)
