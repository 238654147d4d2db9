"""Change feeds become tables: Debezium envelopes of PostgreSQL and MySQL, as they come, whole runs of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from flow.stand import Stand
from hakiri import wiring
from hakiri.model.columns.change import KEPT_COLUMN
from hakiri.model.staged import PROVENANCE
from hakiri.plan.explain import explain
from hakiri.plan.make import make_plan
from hakiri.run.facts import gather_facts

MakeStand = Callable[[Mapping[str, str]], Stand]

FIXTURES = Path(__file__).parents[2] / "fixtures/changes"
CUSTOMERS = """\
id = "{name}"
source = {{ connector = "files", config = {{ path = "postgres" }} }}
destination = {{ namespace = "{name}" }}
load = {{ mode = "cdc_mirror", changes = {{ format = "debezium" }}{more} }}
quality = {{ row_level = [{{ type = "not_null", field = "name", on_fail = "abort" }}] }}

[[tables]]
name = "customers"
primary_key = ["id"]
columns = [
    {{ name = "id", type = "bigint" }},
    {{ name = "name", type = "string" }},
    {{ name = "email", type = "string" }},
    {{ name = "credit", type = "decimal(10,2)" }},
]
"""
STOCK = """\
id = "stock"
source = { connector = "files", config = { path = "mysql" } }
tables = ["stock"]
load = { mode = "cdc_mirror", upsert_key = ["depot", "item"], changes = { format = "debezium" }, deletes = "soft" }
"""


def feeds(make_stand: MakeStand) -> Stand:
    stand = make_stand(
        {
            "pipelines/now.toml": CUSTOMERS.format(name="now", more=""),
            "pipelines/ever.toml": CUSTOMERS.format(name="ever", more=', history = "scd2"'),
            "pipelines/stock.toml": STOCK,
        }
    )
    for folder in ("postgres/customers", "mysql/stock"):
        (stand.root / folder).mkdir(parents=True)
    return stand


def arrive(stand: Stand, name: str) -> None:
    for folder in ("postgres/customers", "mysql/stock"):
        shutil.copy(FIXTURES / folder / name, stand.root / folder / name)


def rows(stand: Stand, table: str) -> list[tuple[Any, ...]]:
    return sorted(pl.read_delta(str(stand.folder(table))).drop(*PROVENANCE, KEPT_COLUMN, strict=False).rows(), key=repr)


def apply(stand: Stand) -> dict[str, dict[str, int]]:
    """What became of the changes, by pipeline."""
    results = stand.apply()
    assert {name: result.errors for name, result in results.items()} == dict.fromkeys(results, ())
    tallies = {name: result.landings[0].landed.tally for name, result in results.items()}
    assert all(tally.is_balanced for tally in tallies.values())
    return {
        name: {"read": tally.read, "quarantined": tally.quarantined, "filtered": tally.filtered}
        for name, tally in tallies.items()
    }


def told(stand: Stand) -> str:
    """What `hakiri plan` says of the first pipeline."""
    project = stand.project()
    spec = project.pipelines["now"].spec
    connector = wiring.connector(stand.settings, project, spec)
    with wiring.existing_catalog(stand.settings, project) as catalog:
        return "\n".join(explain(make_plan([gather_facts(spec, connector, catalog).facts])))


def test_feeds_that_arrive_in_the_wrong_order_become_what_their_sources_are(make_stand: MakeStand) -> None:
    stand = feeds(make_stand)
    arrive(stand, "0002-streamed.jsonl")
    assert "customers: planning, cdc_mirror" in told(stand)
    assert apply(stand)["now"] == {"read": 6, "quarantined": 0, "filtered": 2}
    edo = (4, "Edo", "edo@example.org", Decimal("1.00"), 24023776)
    unnamed = (1, None, "sally@example.com", Decimal("12.50"), 24024320)
    sally = (1, "Sally", *unnamed[2:])
    anne = (30, "Anne", "anne@example.org", Decimal("7.25"), 24025416)
    assert rows(stand, "now.customers") == [unnamed, anne, edo], "the name did not change, and so it was not sent"
    arrive(stand, "0001-snapshot.jsonl")
    assert "schema:" not in told(stand)
    apply(stand)
    assert rows(stand, "now.customers") == [sally, anne, edo], "the snapshot is older than all of it, and has the name"
    arrive(stand, "0003-streamed.jsonl")
    assert apply(stand)["now"] == {"read": 6, "quarantined": 2, "filtered": 0}
    assert rows(stand, "now.customers") == [(6, "Tariq", "tariq@example.org", Decimal("10.00"), 24027632)]
    aside = pl.read_delta(str(stand.folder("now.customers_quarantine")))
    assert sorted(aside["reason"].to_list()) == ["the key is NULL", "the operation is none that is known"]
    _require_history(stand)
    _require_stock(stand)
    assert all(result.did_nothing for result in stand.apply().values())
    _require_asked(stand)


def test_a_column_behind_the_sampled_envelopes_reaches_the_mirror(make_stand: MakeStand) -> None:
    source = '{ connector = "files", config = { path = "feed", batch_rows = 1000 } }'
    load = '{ mode = "cdc_mirror", upsert_key = "id", changes = { format = "debezium" } }'
    stand = make_stand({"pipelines/now.toml": f'id = "now"\nsource = {source}\nload = {load}\ntables = ["orders"]\n'})
    after = [*({"id": number, "note": "a"} for number in range(1_000)), {"id": 0, "note": "b", "colour": "red"}]
    lines = [{"before": None, "after": one, "op": "c", "source": {"lsn": lsn}} for lsn, one in enumerate(after)]
    (stand.root / "feed").mkdir()
    (stand.root / "feed/orders.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert apply(stand)["now"] == {"read": 1_001, "quarantined": 0, "filtered": 0}
    mirror = pl.read_delta(str(stand.folder("orders"))).filter(pl.col("id") < 2).sort("id")
    assert mirror.select("note", "colour").rows() == [("b", "red"), ("a", None)]


def _require_history(stand: Stand) -> None:
    frame = pl.read_delta(str(stand.folder("ever.customers")))
    assert frame.filter(pl.col("id") == 1)["name"].to_list() == ["Sally", "Sally"]
    spans = frame.select("id", "_hakiri_valid_from", "_hakiri_valid_to", "_hakiri_is_current").rows()
    assert sorted(spans) == [
        (1, 24023128, 24024320, False),
        (1, 24024320, 24026544, False),
        (2, 24023128, 24024872, False),
        (3, 24023128, 24025416, False),
        (4, 24023776, 24026544, False),
        (5, 24026000, 24026544, False),
        (6, 24027088, 24027632, False),
        (6, 24027632, None, True),
        (30, 24025416, 24026544, False),
    ]


def _require_stock(stand: Stand) -> None:
    assert rows(stand, "stock") == [
        ("north", "bolt", 24, 9, 418, 1, True),
        ("north", "nut", 11, 1_000_000, 230, 0, False),
        ("south", "nut", 8, 1_000_000, 555, 0, False),
        ("south", "washer", 100, 10, 157, 0, False),
        ("west", "bolt", 24, 10, 388, 0, False),
    ]


def _require_asked(stand: Stand) -> None:
    """What has ended can be asked for as any table."""
    sql = "SELECT _hakiri_op, count(*) FROM now.customers_tombstones GROUP BY 1 ORDER BY 1"
    assert stand.sql(sql) == [("clear", 1), ("delete", 2)]
