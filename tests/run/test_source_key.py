"""The key that a source declares is the table's, unless the manifest names another, of which the plan warns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from hakiri.model.ledger import LandingStatus
from hakiri.plan.caution import CautionKind
from hakiri.plan.facts import TableFacts
from hakiri.plan.make import make_plan
from hakiri.plan.plan import TablePlan
from hakiri.run.facts import gather_facts
from hakiri.spec.load import LoadMode
from hakiri.spec.pipeline import PipelineSpec
from run.shop import Shop


@dataclass
class PlainShop(Shop):
    """A table of which the manifest names no load mode, and no key unless it is given here."""

    key: tuple[str, ...] = ()

    @property
    def spec(self) -> PipelineSpec:
        source = {"connector": "sqlite", "config": {"path": str(self.root / "shop.sqlite")}}
        tables = [{"name": "orders", "primary_key": list(self.key)} if self.key else "orders"]
        return PipelineSpec.model_validate({"id": "shop", "source": source, "tables": tables})

    def plan(self) -> tuple[TableFacts, TablePlan]:
        with self.services() as parts:
            facts = gather_facts(self.spec, parts.connector(self.spec), parts.catalog).facts
        return facts.tables[0], make_plan([facts]).pipelines[0].tables[0]


def test_without_a_mode_and_a_key_a_table_lands_by_the_primary_key_of_its_source(tmp_path: Path) -> None:
    shop = PlainShop(tmp_path / "shop")
    shop.fill("Rome", "Oslo", "Rome")
    facts, plan = shop.plan()
    assert (plan.load.mode, facts.primary_key) == (LoadMode.UPSERT, ("id",))
    assert CautionKind.OTHER_KEY not in [one.kind for one in plan.cautions]
    shop.carry_out(lands=0)
    with shop.lander() as lander:
        lander.land(is_last=True)
    assert shop.landed()[0] == [LandingStatus.LANDED]
    found = QueryBuilder().register("t", DeltaTable(shop.table)).execute("SELECT id, city FROM t ORDER BY id")
    assert pa.table(found.read_all()).to_pydict() == {"id": [1, 2, 3], "city": ["Rome", "Oslo", "Rome"]}


@pytest.mark.parametrize(("source_key", "is_told"), [("id, city", True), ("id", False)])
def test_a_key_of_the_manifest_that_is_not_the_one_of_the_source_is_warned_of(
    tmp_path: Path, source_key: str, is_told: bool
) -> None:
    shop = PlainShop(tmp_path / "shop", key=("id",))
    shop.fill("Rome", key=source_key)
    _, plan = shop.plan()
    texts = [one.text for one in plan.cautions if one.kind is CautionKind.OTHER_KEY]
    assert texts == ["the primary key of the source is id, city, and the manifest names id"] * is_told
