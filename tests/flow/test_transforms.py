"""A transform in either language reshapes a source on its way into Delta, and every row is accounted for."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from extract.transform.modules import module
from flow.stand import Stand, change
from hakiri.model.ledger import RunStatus
from hakiri.model.staged import PROVENANCE, Tally
from hakiri.run.compile import compile_sources
from hakiri.run.pipeline import RunResult
from hakiri.wiring import workplace

REPO = Path(__file__).parents[2]
PAGE = (REPO / "docs/transforms.md").read_text()
PIPELINE = """
[[pipeline]]
id = "{id}"
source = {{ connector = "files", config = {{ path = "data" }} }}
transforms = ["pipelines/{id}.transforms.json"]
destination = {{ namespace = "{namespace}" }}
  [[pipeline.tables]]
  name = "github_issues"
  columns = [
    "id", "number", "title", "state", "user.login", "body", "labels",
    {{ name = "created_at", type = "timestamp" }},
  ]
"""


def seeds(make_stand: Callable[[Mapping[str, str]], Stand]) -> Stand:
    """Both examples of the page, one for each of two pipelines over the same files."""
    [python, typescript, *_] = re.findall(r"^```(?:python|typescript)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    first = PIPELINE.format(id="github-issues", namespace="py")
    second = PIPELINE.format(id="github-issues-ts", namespace="ts")
    stand = make_stand(
        {
            "hakiri.toml": f'[project]\nname = "test"\n{first}{second}',
            "transforms/github_issues.py": python,
            "transforms/github_issues.ts": typescript.replace('"github-issues"', '"github-issues-ts"'),
        }
    )
    shutil.copytree(REPO / "fixtures/github_issues", stand.root / "data/github_issues")
    compile_sources(workplace(stand.settings), [], takes_all=True)
    return stand


def landed(stand: Stand, table: str) -> list[dict[str, object]]:
    frame = pl.read_delta(str(stand.folder(table))).drop(*PROVENANCE).sort("number")
    return frame.to_dicts()


def tally(result: RunResult) -> Tally:
    assert (result.status, result.errors) == (RunStatus.SUCCEEDED, ())
    return sum((one.landed.tally for one in result.landings), Tally())


def test_both_examples_land_the_open_issues_reshaped(make_stand: Callable[[Mapping[str, str]], Stand]) -> None:
    stand = seeds(make_stand)
    results = stand.apply()
    source = [
        json.loads(line)
        for path in sorted((REPO / "fixtures/github_issues").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    still_open = [row for row in source if row["state"] == "open"]
    rows = landed(stand, "py.github_issues")
    assert rows == landed(stand, "ts.github_issues")
    assert [(row["number"], row["author"], row["body_len"], row["label_names"]) for row in rows] == [
        (
            row["number"],
            row["user.login"],
            None if row["body"] is None else len(row["body"]),
            [label["name"] for label in row["labels"]],
        )
        for row in still_open
    ]
    for result in results.values():
        expected = Tally(read=len(source), staged=len(still_open), filtered=len(source) - len(still_open))
        assert tally(result) == expected
    assert all(result.did_nothing for result in stand.apply().values())


COMPONENT = """
[[pipeline]]
id = "{id}"
source = {{ connector = "files", config = {{ path = "data" }} }}
transforms = [{{ component = "components/{id}.wasm", keeps = "id" }}]
destination = {{ namespace = "{id}" }}
tables = ["github_issues"]
"""


def test_a_component_takes_part_in_a_run_and_one_that_never_ends_lands_nothing(
    make_stand: Callable[[Mapping[str, str]], Stand],
) -> None:
    pipelines = COMPONENT.format(id="plain"), COMPONENT.format(id="endless").replace("keeps", "fuel = 1000000, keeps")
    stand = make_stand({"hakiri.toml": '[project]\nname = "test"\n' + "".join(pipelines)})
    shutil.copytree(REPO / "fixtures/github_issues", stand.root / "data/github_issues")
    (stand.root / "components").mkdir()
    shutil.copy(REPO / "fixtures/components/plain_text.wasm", stand.root / "components/plain.wasm")
    endless = module(apply="(loop $ever (br $ever)) unreachable")
    (stand.root / "components/endless.wasm").write_bytes(endless)
    results = stand.apply()
    rows = landed(stand, "plain.github_issues")
    assert tally(results["plain"]).staged == len(rows) > 0
    assert all((row["body"] is None) == (row["body_text"] is None) for row in rows)
    failed = results["endless"]
    assert failed.status is RunStatus.FAILED
    assert "more than 1,000,000 instructions" in str(failed.errors[0])
    assert not (stand.folder("endless.github_issues") / "_delta_log").exists()


ORDERS = """
[project]
name = "test"

[[pipeline]]
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
transforms = ["pipelines/shop.transforms.json"]
incremental = { column = "updated_at", lag = "1h" }
tables = [{ name = "orders", primary_key = ["id"] }]
"""
RENAMED = """
import hakiri as hk

@hk.pipeline("shop")
def orders(df):
    return df.rename({"updated_at": "changed_at"}).explode("tags", empty_as_null=True)
"""


def test_rows_whose_cursor_and_key_a_transform_takes_away_land_once(
    make_stand: Callable[[Mapping[str, str]], Stand],
) -> None:
    """The overlap of two reads is then told by content alone."""
    split = RENAMED.replace("df.rename", 'df.with_columns(pl.col("tags").str.split(",")).rename')
    source = split.replace("import hakiri as hk\n", "import hakiri as hk\nimport polars as pl\n")
    stand = make_stand({"hakiri.toml": ORDERS, "transforms/shop.py": source})
    shop = stand.root / "shop.sqlite"
    change(
        shop,
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, tags TEXT, updated_at TIMESTAMP NOT NULL)",
        "INSERT INTO orders VALUES (1, 'a,b', '2026-01-05 10:00:00'), (2, 'a,a', '2026-01-05 11:00:00')",
    )
    compile_sources(workplace(stand.settings), [], takes_all=True)
    first = tally(stand.apply()["shop"])
    assert (first.read, first.added, first.staged) == (2, 2, 4)
    assert stand.apply()["shop"].did_nothing
    change(shop, "INSERT INTO orders VALUES (3, 'c', '2026-01-05 11:30:00')")
    tally(stand.apply()["shop"])
    found = pl.read_delta(str(stand.folder("orders"))).select("id", "tags").rows()
    assert sorted(found) == [(1, "a"), (1, "b"), (2, "a"), (2, "a"), (3, "c")]
