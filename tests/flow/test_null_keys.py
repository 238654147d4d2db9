"""Rows without a key stop the landing, or are set aside and counted, as the manifest says (G6)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import polars as pl

from flow.stand import Rows, Stand
from hakiri.land.errors import NullKeys
from hakiri.run.events import Landed

EVENTS = """\
id = "events"
source = { connector = "files", config = { path = "data" } }
tables = [{ name = "events", primary_key = ["id", "part"] }]
load = { mode = "upsert" }
"""
ROWS = [
    {"id": 1, "part": "a", "n": 1},
    {"id": None, "part": "a", "n": 2},
    {"id": None, "part": None, "n": 3},
    {"id": 2, "part": None, "n": 4},
]


def test_rows_without_a_key_are_rejected_unless_they_are_to_be_set_aside(
    make_stand: Callable[[Mapping[str, str]], Stand],
) -> None:
    stand = make_stand({"pipelines/events.toml": EVENTS})
    folder = stand.root / "data/events"
    folder.mkdir(parents=True)
    (folder / "1.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS) + "no row\n")
    (error,) = stand.apply()["events"].errors
    assert isinstance(error, NullKeys)
    assert error.rows == 3
    for name in ("events", "events_quarantine"):
        assert not stand.folder(name).joinpath("_delta_log").exists(), "a landing that is stopped leaves nothing"
    path = stand.root / "pipelines/events.toml"
    path.write_text(path.read_text().replace('"upsert"', '"upsert", null_keys = "quarantine"'))
    assert stand.apply()["events"].errors == (), "what was staged before is read again"
    assert stand.landed("events") == Rows([(1, "a", 1)])
    aside = pl.read_delta(str(stand.folder("events_quarantine")))
    judged = aside.filter(pl.col("rule_id").str.starts_with("null_key:"))
    assert aside.height == judged.height + 1, "the line that is no row is kept once"
    assert sorted(judged.select("rule_id", "column", "reason").rows()) == [
        ("null_key:id", "id", "is null, and rows are told apart by it"),
        ("null_key:id", "id", "is null, and rows are told apart by it"),
        ("null_key:part", "part", "is null, and rows are told apart by it"),
    ]
    (landed,) = [event.body for event in stand.events if isinstance(event.body, Landed)]
    assert (landed.rows, landed.quarantined) == (1, 4)
