"""Rows that are read again are known, after a rebuild, another load mode or another transform as well."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from flow.stand import Rows, Stand, change
from hakiri.catalog.open import SqliteFile
from hakiri.cli.main import run as run_command
from hakiri.run.compile import compile_sources
from hakiri.run.events import ChunkClaimed
from hakiri.run.journal import Event
from hakiri.run.pipeline import RunOptions
from hakiri.wiring import catalog_settings, workplace

MakeStand = Callable[[Mapping[str, str]], Stand]

PROJECT = '[project]\nname = "test"\n[catalog]\nbackend = "sqlite"\n'
SHOP = """\
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = [{ name = "orders" }]
load = { mode = "append" }
"""
KEYED = SHOP.replace('"orders"', '"orders", primary_key = ["id"]').replace('"append"', '"upsert"')
FILES = """\
id = "shop"
source = { connector = "files", config = { path = "data" } }
tables = [{ name = "orders" }]
load = { mode = "append" }
"""
TRANSFORM = """
import hakiri as hk
import polars as pl

@hk.pipeline("shop")
def orders(df):
    return df.with_columns(note=pl.col("note") + "{mark}")
"""
TRANSFORMED = 'transforms = ["pipelines/shop.transforms.json"]\n'


def stand_of(make_stand: MakeStand, pipeline: str) -> Stand:
    return make_stand({"hakiri.toml": PROJECT, "pipelines/shop.toml": pipeline})


def orders(stand: Stand, *statements: str) -> None:
    change(stand.root / "shop.sqlite", *statements)


def put(stand: Stand, name: str, *rows: tuple[int, str]) -> None:
    (stand.root / "data/orders").mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"id": key, "note": note}) for key, note in rows)
    (stand.root / "data/orders" / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def apply(stand: Stand, *, is_full_refresh: bool = False) -> int:
    result = stand.apply(options=RunOptions(is_full_refresh=is_full_refresh))["shop"]
    assert result.errors == ()
    return result.rows


def refused(stand: Stand) -> list[str]:
    return [error.code for error in stand.apply()["shop"].errors]


def transform(stand: Stand, mark: str) -> None:
    """Let the notes end with another mark."""
    (stand.root / "transforms").mkdir(exist_ok=True)
    (stand.root / "transforms/shop.py").write_text(TRANSFORM.replace("{mark}", mark), encoding="utf-8")
    compile_sources(workplace(stand.settings), [], takes_all=True)


def lose_catalog(stand: Stand) -> None:
    """Lose the catalog, and write it again from the tables' logs."""
    where = catalog_settings(stand.settings, stand.project())
    assert isinstance(where, SqliteFile)
    for path in where.path.parent.glob(f"{where.path.name}*"):
        path.unlink()
    assert run_command(["catalog", "rebuild", "--yes", "--project", str(stand.root)]) == 0


def edit(stand: Stand, old: str, new: str) -> None:
    path = stand.root / "pipelines/shop.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("place", ["folder", "schema"])
def test_a_rebuilt_catalog_knows_with_which_columns_rows_were_read(
    make_stand: MakeStand, spark: SparkSession, place: str
) -> None:
    stand = stand_of(make_stand, SHOP)
    schema = f"same_{uuid4().hex[:8]}"
    if place == "schema":
        spark.sql(f"CREATE SCHEMA {schema}")
        (stand.root / "hakiri.toml").write_text(f'{PROJECT}[context]\ntables = "{schema}"\n', encoding="utf-8")
    orders(stand, "CREATE TABLE orders (id INTEGER, note TEXT)", "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    assert apply(stand) == 2
    comes = ("ALTER TABLE orders ADD COLUMN kind TEXT DEFAULT 'new'", "INSERT INTO orders VALUES (3, 'c', 'own')")
    orders(stand, *comes)
    assert apply(stand) == 1
    lose_catalog(stand)
    orders(stand, "INSERT INTO orders VALUES (4, 'd', 'own')")
    assert apply(stand) == 1, "rows 1 and 2 are there, though they come with a kind now"
    assert apply(stand) == 0
    found = (
        stand.landed("orders")
        if place == "folder"
        else Rows(map(tuple, spark.table(f"{schema}.orders").select("id", "note", "kind").collect()))
    )
    assert found == Rows([(1, "a", None), (2, "b", None), (3, "c", "own"), (4, "d", "own")])


def test_a_table_that_was_upserted_knows_its_rows_when_it_is_appended_to(make_stand: MakeStand) -> None:
    stand = stand_of(make_stand, f'{KEYED}incremental = "id"\n')
    orders(stand, "CREATE TABLE orders (id INTEGER, note TEXT)", "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    apply(stand)  # row 1 is not read again before the mode changes
    orders(stand, "ALTER TABLE orders ADD COLUMN kind TEXT DEFAULT 'new'", "INSERT INTO orders VALUES (3, 'c', 'own')")
    apply(stand)
    edit(stand, 'incremental = "id"\n', "")
    edit(stand, '"upsert"', '"append"')
    apply(stand)
    assert sorted(key for key, *_ in stand.landed("orders").elements()) == [1, 2, 3]


def test_a_transform_that_was_edited_is_found_out_after_a_rebuild_too(make_stand: MakeStand) -> None:
    stand = stand_of(make_stand, SHOP + TRANSFORMED)
    orders(stand, "CREATE TABLE orders (id INTEGER, note TEXT)", "INSERT INTO orders VALUES (1, 'a')")
    transform(stand, "!")
    assert apply(stand) == 1
    lose_catalog(stand)
    transform(stand, "?")
    assert refused(stand) == ["HK619"]
    assert stand.landed("orders") == Rows([(1, "a!")])


def test_a_file_that_grew_is_not_read_again_by_another_transform(make_stand: MakeStand) -> None:
    stand = stand_of(make_stand, FILES + TRANSFORMED)
    transform(stand, "!")
    put(stand, "1.jsonl", (1, "a"))
    apply(stand)
    transform(stand, "?")
    put(stand, "2.jsonl", (2, "b"))
    assert apply(stand) == 1, "a new file comes in the new form"
    put(stand, "2.jsonl", (2, "b"), (3, "c"))
    assert apply(stand) == 1, "all of it was read by this transform"
    before = stand.landed("orders")
    put(stand, "1.jsonl", (1, "a"), (4, "d"))
    assert refused(stand) == ["HK619"]
    assert stand.landed("orders") == before == Rows([(1, "a!"), (2, "b?"), (3, "c?")])
    apply(stand, is_full_refresh=True)
    assert stand.landed("orders") == Rows([(1, "a?"), (2, "b?"), (3, "c?"), (4, "d?")])


def test_of_one_key_the_last_file_counts_also_where_an_earlier_one_was_corrected(make_stand: MakeStand) -> None:
    files = FILES.replace('"orders"', '"orders", primary_key = ["id"]').replace('"append"', '"upsert"')
    stand = stand_of(make_stand, files)
    put(stand, "1.jsonl", (1, "first"), (2, "first"))
    apply(stand)
    put(stand, "1.jsonl", (1, "corrected"), (2, "corrected"))
    put(stand, "2.jsonl", (1, "second"))
    apply(stand)
    assert stand.landed("orders") == Rows([(1, "second"), (2, "corrected")])


def test_a_correction_within_the_cursors_grain_lands_after_a_rewind(
    make_stand: MakeStand, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command line alone, in a table that is appended to by key and cursor."""

    def hakiri(*arguments: str) -> None:
        assert run_command([*arguments, "--project", str(stand.root)]) == 0, capsys.readouterr()

    keyed = KEYED.replace('"upsert"', '"append"')
    stand = stand_of(make_stand, keyed + 'incremental = "day"\nbackfill = { window = "1d" }\n')
    days = [f"({key}, 'as it was', '2026-03-{day:02}')" for key, day in ((1, 1), (2, 1), (3, 2), (4, 3))]
    orders(
        stand, "CREATE TABLE orders (id INTEGER, note TEXT, day DATE)", f"INSERT INTO orders VALUES {', '.join(days)}"
    )
    hakiri("apply")
    orders(stand, "UPDATE orders SET note = 'corrected' WHERE id = 2")
    hakiri("apply")
    assert sum(stand.landed("orders").values()) == 4, "it lies behind the cursor"
    hakiri("backfill", "rewind", "shop", "--from", "2026-03-01", "--to", "2026-03-02", "--reason", "RT-481")
    hakiri("apply")
    hakiri("apply")
    notes = sorted((key, note) for key, note, _ in stand.landed("orders").elements())
    assert notes == [(1, "as it was"), (2, "as it was"), (2, "corrected"), (3, "as it was"), (4, "as it was")]


class Claims(list[Event]):
    """Listens to a run, and calls back once, when the first chunk has been claimed and not read yet."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__()
        self._call: Callable[[], None] | None = call

    def append(self, event: Event) -> None:
        super().append(event)
        if isinstance(event.body, ChunkClaimed) and self._call is not None:
            call, self._call = self._call, None
            call()


@pytest.mark.parametrize(
    ("mode", "is_there"), [("truncate", True), ("truncate", False), ("blue_green", True), ("append", True)]
)
def test_a_file_that_is_replaced_while_its_table_is_read_leaves_no_hole_in_the_table(
    make_stand: MakeStand, mode: str, is_there: bool
) -> None:
    stand = stand_of(make_stand, FILES.replace('"append"', f'"{mode}"'))
    put(stand, "1.jsonl", (1, "a"))
    put(stand, "2.jsonl", (2, "b"))
    put(stand, "3.jsonl", (3, "c"))
    if is_there:
        apply(stand)
        put(stand, "1.jsonl", (1, "A"))

    def replaces() -> None:
        for name, row in (("1.jsonl", (1, "AA")), ("2.jsonl", (2, "BB"))):
            put(stand, f"../{name}", row)
            (stand.root / "data" / name).replace(stand.root / "data/orders" / name)

    stand.events = Claims(replaces)
    result = stand.apply(options=RunOptions(is_full_refresh=mode == "append"))["shop"]
    assert result.errors == ()
    landed = [one for one in result.landings if one.landed.outcome.value != "unchanged"]
    assert len(landed) == 1, "the table was made or exchanged once, for all files"
    assert stand.landed("orders") == Rows([(1, "AA"), (2, "BB"), (3, "c")])
    assert is_there or stand.version("orders") == 0
    stand.events = []
    assert apply(stand) == 0
