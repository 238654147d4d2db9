"""Whole runs by blue_green and by incremental_watermark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from flow.stand import Stand, change
from hakiri import wiring
from hakiri.errors import render
from hakiri.land.delta.build import BUILDS
from hakiri.land.errors import HookFailed
from hakiri.plan.errors import VersionsLanded, WatermarkUnfit
from hakiri.run import events
from hakiri.run.events import HookCalled, Landed
from hakiri.run.pipeline import RunOptions
from hakiri.run.plan import Planned, plan_pipelines, show_lines
from land.hooks.registered import make_known

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "shop"
source = {{ connector = "sqlite", config = {{ path = "shop.sqlite" }} }}
tables = [{{ name = "orders"{table} }}]
retry = {{ max_attempts = 2, initial_delay = "1s" }}
[load]
{load}
"""
HOOKED = """\
mode = "blue_green"
[[load.post_hook]]
type = "sql"
statement = "OPTIMIZE {table} ZORDER BY (id)"
[[load.post_hook]]
type = "refresh_mat_view"
view = "daily"
[[load.post_hook]]
type = "custom_function"
function = "refuse"
"""
MARKED = 'mode = "incremental_watermark"\nwatermark_column = "seen"'
KEY = ', primary_key = ["id"]'


def stand_of(make_stand: MakeStand, load: str, table: str = KEY, **files: str) -> Stand:
    stand = make_stand({"pipelines/shop.toml": PIPELINE.format(load=load, table=table), **files})
    change(stand.root / "shop.sqlite", "CREATE TABLE orders (id INTEGER PRIMARY KEY, seen TIMESTAMP)")
    return stand


def put(stand: Stand, *rows: tuple[int, str | None]) -> None:
    statement = "INSERT OR REPLACE INTO orders VALUES (?, ?)"
    day = [(number, day and f"2026-01-{day} 00:00:00") for number, day in rows]
    change(stand.root / "shop.sqlite", many=[(statement, day)])


def ids(stand: Stand) -> list[int]:
    return sorted(row[0] for row in stand.landed("orders").elements())


def planned(stand: Stand) -> Planned:
    project = stand.project()
    with wiring.existing_catalog(stand.settings, project) as catalog:
        return plan_pipelines(
            [one.spec for one in project.pipelines.values()],
            lambda spec: wiring.connector(stand.settings, project, spec),
            catalog,
            project=project.spec.project.name,
            place=lambda spec, table: wiring.place(project, spec, table),
            transforms=lambda spec: wiring.transforms(stand.settings, project, spec),
        )


def test_a_build_passes_its_hooks_before_it_is_seen(
    make_stand: MakeStand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = make_known(tmp_path / "site", monkeypatch)
    stand = stand_of(make_stand, HOOKED, **{"views/daily.sql": "SELECT count(*) AS n FROM orders"})
    put(stand, (1, "01"), (2, "02"))
    (error,) = stand.apply()["shop"].errors
    assert isinstance(error, HookFailed)
    assert "nothing was written to the table" in render(error)
    assert not (stand.folder("orders") / "_delta_log").exists()
    assert not list((stand.folder("orders") / BUILDS).iterdir()), "a failed build leaves nothing"
    assert [type(event.body) for event in stand.events].count(events.HookFailed) == 1, (
        "a hook that refused is not nagged"
    )

    book.with_name("allowed").touch()
    assert stand.apply()["shop"].errors == ()
    assert ids(stand) == [1, 2]
    told = [
        event.body.hook if isinstance(event.body, HookCalled) else event.body.outcome
        for event in stand.events
        if isinstance(event.body, _TOLD)
    ]
    assert told[:4] == ["post_hook[0]", "post_hook[2]", "adopted", "post_hook[1]"]
    assert set(told[4:]) <= {"unchanged"}, "the hooks of a landing are not owed again"
    assert pl.read_delta(str(stand.folder("daily"))).rows() == [(2,)], "a view is refreshed from the new rows"
    assert stand.apply()["shop"].did_nothing
    assert stand.version("orders") == 0


_TOLD = (HookCalled, Landed)


def test_what_the_table_holds_decides_what_is_read_and_lands(make_stand: MakeStand) -> None:
    stand = stand_of(make_stand, MARKED)
    put(stand, (1, "05"), (2, "09"), (3, None))
    assert stand.apply()["shop"].errors == ()
    assert ids(stand) == [1, 2, 3]
    assert "watermark seen" in "\n".join(show_lines(planned(stand)))

    put(stand, (4, "09"), (5, "11"), (6, "07"), (7, None))
    result = stand.apply()["shop"]
    assert ids(stand) == [1, 2, 3, 4, 5, 7], "what is late is not even asked for"
    (landed,) = [event.body for event in stand.events if isinstance(event.body, Landed)]
    assert (landed.rows, landed.deduplicated, landed.unmarked) == (3, 2, 1)
    assert result.rows_read == 5
    assert stand.apply()["shop"].did_nothing

    DeltaTable(stand.folder("orders")).delete("seen >= '2026-01-09 00:00:00'")
    assert ids(stand) == [1, 3, 7]
    assert stand.apply()["shop"].errors == ()
    assert ids(stand) == [1, 2, 3, 4, 5, 6, 7], "what was taken away comes again, and so does what lies above the rest"


def test_without_a_key_equal_rows_are_counted(make_stand: MakeStand) -> None:
    stand = stand_of(make_stand, MARKED, table="")
    change(
        stand.root / "shop.sqlite",
        "DROP TABLE orders",
        "CREATE TABLE orders (id INTEGER, seen DATE)",
        "INSERT INTO orders VALUES (1, '2026-01-05'), (1, '2026-01-05'), (2, '2026-01-01')",
    )
    assert stand.apply()["shop"].errors == ()
    change(stand.root / "shop.sqlite", "INSERT INTO orders VALUES (1, '2026-01-05'), (1, '2026-01-06')")
    assert stand.apply()["shop"].errors == ()
    assert ids(stand) == [1, 1, 1, 1, 2]
    assert stand.apply()["shop"].did_nothing


def test_a_table_that_keeps_versions_is_not_merged_into_before_all_is_read_anew(make_stand: MakeStand) -> None:
    stand = stand_of(make_stand, 'mode = "append"')
    for day in ("05", "06"):
        put(stand, (1, day))
        assert stand.apply()["shop"].errors == ()
    path = stand.root / "pipelines/shop.toml"
    path.write_text(path.read_text().replace("append", "upsert"))
    (error,) = stand.apply()["shop"].errors
    assert isinstance(error, VersionsLanded)
    assert "has landed by `append`, which keeps every version of a row" in render(error)
    assert ids(stand) == [1, 1]
    assert stand.apply(options=RunOptions(is_full_refresh=True))["shop"].errors == ()
    put(stand, (1, "07"))
    assert stand.apply()["shop"].errors == ()
    assert ids(stand) == [1]


def test_a_column_without_an_order_is_refused_before_anything_is_read(make_stand: MakeStand) -> None:
    stand = stand_of(make_stand, MARKED)
    change(stand.root / "shop.sqlite", "DROP TABLE orders", "CREATE TABLE orders (id INTEGER PRIMARY KEY, seen BLOB)")
    (error,) = stand.apply()["shop"].errors
    assert isinstance(error, WatermarkUnfit)
    assert "`seen` cannot be the watermark of `shop`.`orders`" in render(error)
    assert planned(stand).errors
