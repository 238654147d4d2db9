"""A project is read whole: found, merged by id, checked, and everything wrong with it reported at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hakiri.errors import ManifestError, render
from hakiri.model.errors import BadConfig
from hakiri.model.installed import ConnectorFacts
from hakiri.model.source import CursorKind
from hakiri.spec.errors import InvalidProject, ProjectNotFound, TableTaken, UnknownConnector
from hakiri.spec.read import Project, find_project, read_project
from projects import MakeProject

CONNECTORS = {"postgres": ConnectorFacts(CursorKind.MONOTONIC), "pages": ConnectorFacts(CursorKind.OPAQUE_TOKEN)}
MINIMAL = 'id = "a"\nsource = { connector = "postgres" }\ntables = ["orders"]\n'


def read(root: Path) -> Project:
    return read_project(root, connectors=CONNECTORS, shown_from=root)


def problems(root: Path) -> tuple[ManifestError, ...]:
    with pytest.raises(InvalidProject) as invalid:
        read(root)
    return invalid.value.problems


def told(root: Path) -> list[str]:
    return [f"{problem.places()[0]} {problem.message()}" for problem in problems(root)]


def test_pipelines_of_every_kind_of_file_are_merged_by_id(make_project: MakeProject) -> None:
    root = make_project(
        {
            "hakiri.toml": f'[project]\nname = "x"\n[[pipeline]]\n{MINIMAL}',
            "pipelines/b.toml": MINIMAL.replace('"a"', '"b"').replace("orders", "others"),
            "pipelines/c.json": '{"$schema": "x", "id": "c", "source": {"connector": "postgres"}, "tables": ["t"]}',
            "pipelines/c.transforms.json": "not a pipeline",
        }
    )
    assert list(read(root).pipelines) == ["a", "b", "c"]


def test_toml_and_json_give_the_same_specification(make_project: MakeProject) -> None:
    data = {
        "source": {"connector": "postgres", "config": {"schema": "public"}},
        "tables": ["a", {"name": "b", "primary_key": ["id"], "columns": [{"name": "id", "type": "bigint"}]}],
        "schedule": "every 15m",
        "incremental": {"column": "id", "lag": "1h"},
        "backfill": {"start_from": "2010-01-01", "rate_budget": "60/min"},
        "load": {"post_hook": {"type": "sql", "statement": "OPTIMIZE {table}"}},
    }
    toml = """\
id = "a"
schedule = "every 15m"
tables = ["a", { name = "b", primary_key = "id", columns = [{ name = "id", type = "bigint" }] }]
[source]
connector = "postgres"
config.schema = "public"
[incremental]
column = "id"
lag = "60m"
[backfill]
start_from = 2010-01-01
rateBudget = "60/min"
[[load.postHook]]
type = "sql"
statement = "OPTIMIZE {table}"
"""
    one = read(make_project({"pipelines/a.toml": toml})).pipelines["a"].spec
    root = make_project({"pipelines/a.json": json.dumps({"id": "a", **data})})
    (root / "pipelines/a.toml").unlink()
    assert one == read(root).pipelines["a"].spec


def test_two_definitions_of_one_pipeline_are_reported_as_the_seed_says(make_project: MakeProject) -> None:
    files = {
        "hakiri.toml": f'[project]\nname = "x"\n\n[[pipeline]]\n{MINIMAL}'.replace('"a"', '"github-issues"'),
        "pipelines/github-issues.json": json.dumps(
            {"id": "github-issues", "source": {"connector": "postgres"}, "tables": ["issues"]}
        ),
    }
    (duplicate,) = problems(make_project(files))
    assert render(duplicate) == (
        "error: pipeline `github-issues` defined in two places:\n"
        "  hakiri.toml:4\n"
        "  pipelines/github-issues.json:1\n"
        "hint: keep one source of truth; run `hakiri pipeline convert github-issues --to json` to migrate"
    )


def test_every_problem_of_every_file_is_reported_at_once_in_reading_order(make_project: MakeProject) -> None:
    root = make_project(
        {
            "hakiri.toml": '[project]\nname = "No Good"\nversoin = "1"\n',
            "pipelines/a.toml": 'id = "a"\nsorce = { connector = "x" }\ntables = []\n',
            "pipelines/b.json": '{\n"id": "b",\n"source": {"connector": "postgres"},\n"tables": [{"nam": "t"}]\n}',
            "pipelines/c.toml": "id = ",
            "pipelines/d.yaml": "id: d",
        }
    )
    assert told(root) == [
        "hakiri.toml:2 `project.name`: has to be lower-case letters, digits, `-` and `_`, at most 64 characters",
        "hakiri.toml:3 unknown key `versoin`",
        "pipelines/a.toml:1 `source` is missing",
        "pipelines/a.toml:2 unknown key `sorce`",
        "pipelines/a.toml:3 `tables`: a list should have at least 1 item after validation, not 0",
        "pipelines/b.json:4 `tables[0].name` is missing",
        "pipelines/b.json:4 unknown key `nam`",
        "pipelines/c.toml:1 not TOML: invalid value",
        "pipelines/d.yaml a pipeline is written in TOML or JSON; this file is not read",
    ]


def test_an_unknown_key_comes_with_the_one_that_was_meant(make_project: MakeProject) -> None:
    (problem,) = problems(make_project({"pipelines/a.toml": MINIMAL + 'shedule = "every 15m"\n'}))
    assert render(problem) == (
        "error[HK104]: unknown key `shedule`\n  --> pipelines/a.toml:4\nhelp: did you mean `schedule`?"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'load = { mode = "upsert" }',
            "`load.mode`: `upsert` of table `orders` needs `upsert_key`, or a `primary_key`",
        ),
        ('load = { mode = "incremental_watermark" }', "needs `watermark_column`"),
        (
            'incremental = "id"\nload = { mode = "incremental_watermark", watermark_column = "seen" }',
            "`incremental`: table `orders` is read by its watermark `seen`, not by `id`",
        ),
        (
            (
                'incremental = { column = "seen", lag = "1h" }\n'
                'load = { mode = "incremental_watermark", watermark_column = "seen" }'
            ),
            "a lag has no meaning for `incremental_watermark`",
        ),
        ('load = { mode = "cdc_mirror", upsert_key = "id" }', "needs `sequence_by`"),
        ('load = { mode = "cdc_mirror", sequence_by = "lsn" }', "needs `upsert_key`, or a `primary_key`"),
        ('load = { deletes = "soft" }', "`load.deletes`: has no meaning without a load mode that uses it"),
        (
            'load = { changes = { format = "debezium" } }',
            "`load.changes`: has no meaning without a load mode that uses it",
        ),
        (
            'load = { mode = "cdc_mirror", upsert_key = "id", sequence_by = "n", history = "scd2", deletes = "soft" }',
            "`load.deletes`: has no meaning with a `history`",
        ),
        (
            'load = { mode = "cdc_mirror", upsert_key = "id", changes = { format = "debezium", op = "what" } }',
            "`load.changes`: `op` and `old_key` have no meaning for Debezium",
        ),
        (
            'load = { mode = "cdc_mirror", upsert_key = "id", sequence_by = "n", changes = { old_key = ["a", "b"] } }',
            "`load.changes.old_key`: has 2 columns, and the key has 1",
        ),
        (
            'load = { mode = "cdc_mirror", upsert_key = "id", sequence_by = "lsn", changes = { op = "lsn" } }',
            "`load.changes.op`: `lsn` is a column of the key or of the sequence already",
        ),
        (
            'load = { mode = "append", upsert_key = "id" }',
            "`load.upsert_key`: has no meaning for the load mode `append`",
        ),
        ('load = { mode = "upsrt" }', "`upsrt` is not one of append, truncate, upsert"),
        ('load = { upsert_key = "a", upsertKey = "b", mode = "upsert" }', "is given twice"),
        ('load = { pre_hook = { type = "webhook", url = "http://x.org" } }', "a webhook needs an https:// address"),
        ('load = { pre_hook = { statement = "ANALYZE x" } }', "`load.pre_hook.type` is missing"),
        ('load = { pre_hook = [{ type = "sql", statement = "DROP x" }] }', "may not DROP"),
        ('schedule = "61 * * * *"', "`schedule`: not a cron expression: bad minute"),
        ('timezone = "Mars"', "is not a time zone"),
        ('secrets = ["a b"]', "a name as environment variables have it"),
        ('secrets = ["A", "A"]', "`A` is named twice"),
        ("backfill.parallelism = 0", "greater than or equal to 1"),
        ('backfill.parallelism = "4"', "should be a valid integer"),
        ('backfill.rate_budget = "fast"', "a rate is a number of requests"),
        ('backfill.start_from = "someday"', "a start is a date"),
        ('retry = { initial_delay = "1h", max_delay = "1m" }', "is longer than `max_delay`"),
        ('schema = "loose"', "`schema`: `loose` is not one of evolve, strict"),
        ('transforms = ["a.transforms.json"]', "there is no plan `a.transforms.json`"),
        ('transforms = ["../a.transforms.json"]', "there is no plan"),
        ('transforms = [{ component = "a.wasm" }]', "there is no component `a.wasm`"),
        ('transforms = [{ component = "../a.wasm" }]', "there is no component"),
        ('transforms = [{ component = "a.wasm", fule = 1 }]', "unknown key `fule`"),
        ('transforms = [{ component = "a.wasm", rows = "looses" }]', "`transforms[0].rows`: `looses` is not one of"),
        ('transforms = [{ component = "a.wasm", timeout = "2h" }]', "at most half an hour"),
        ('transforms = [{ component = "a.wasm", network = ["10.0.0.1"] }]', "a host is written like"),
        ('transforms = [{ component = "a.wasm", rows = "adds", keeps = "id" }]', "only where rows are"),
        ('quality.row_level = [{ type = "range", field = "a", on_fail = "skip" }]', "neither a lower nor an upper"),
        (
            'quality.row_level = [{ type = "range", field = "a", on_fail = "skip", min = 2, max = 1 }]',
            "nothing is at least",
        ),
        ('quality.row_level = [{ type = "regex", field = "a", on_fail = "skip", pattern = "(" }]', "not a regular"),
        (
            'quality.row_level = [{ type = "rgex", field = "a", on_fail = "skip" }]',
            "`rgex` is not one of not_null, regex",
        ),
        (
            'quality.row_level = [{ type = "regex", field = "a", on_fail = "skip", patern = "a" }]',
            "unknown key `patern`",
        ),
        ('quality.datasetLevel.freshness = { column = "a", onFail = "warn" }', "freshness.within_hours` is missing"),
        (
            'quality.dataset_level.fk_integrity = { column = "a", ref_table = "b c", refColumn = "d", onFail = "warn"}',
            "is not a table name",
        ),
        (
            'triggers = [{ type = "webhook", secret = "HOOK" }]',
            "uses the secret `HOOK`, which the pipeline does not declare",
        ),
        ('destination = { connector = "context", config = { password = "x" } }', "holds a secret in clear"),
    ],
)
def test_a_value_that_cannot_be_meant_is_reported_on_its_line(
    make_project: MakeProject, line: str, message: str
) -> None:
    found = problems(make_project({"pipelines/a.toml": MINIMAL + line + "\n"}))
    assert any(message in problem.message() for problem in found), [problem.message() for problem in found]
    assert {problem.places()[0].line for problem in found} == {4}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('{ connector = "postgres", config = { token = "abc" } }', "`source.config.token` holds a secret in clear"),
        ('{ connector = "postgres", config = { url = "postgresql://u:p@h/d" } }', "holds a secret in clear"),
        ('{ connector = "postgres", config = { token = "${secret:T}" } }', "does not declare"),
        ('{ connector = "postgres", config = { a = ["${foo}"] } }', "`source.config.a[0]`: a reference is"),
        ('{ connector = "Postgres" }', "a lower-case name"),
        ('{ connector = "postgres", config = 1 }', "should be a valid dictionary"),
    ],
)
def test_a_source_that_leaks_or_leads_nowhere_is_reported(make_project: MakeProject, source: str, message: str) -> None:
    root = make_project({"pipelines/a.toml": f'id = "a"\ntables = ["t"]\nsource = {source}\n'})
    (line,) = told(root)
    assert line.startswith("pipelines/a.toml:3 ")
    assert message in line
    assert "abc" not in line


def test_a_reference_outside_of_config_is_reported(make_project: MakeProject) -> None:
    table = 'id = "a"\nsource = { connector = "postgres" }\ntables = [{ name = "t", query = "select ${env:X}" }]\n'
    (line,) = told(make_project({"pipelines/a.toml": table}))
    assert "references are resolved in `config`" in line


def test_parallelism_on_a_source_of_page_tokens_is_refused(make_project: MakeProject) -> None:
    text = MINIMAL.replace("postgres", "pages") + "backfill.parallelism = 4\n"
    (line,) = told(make_project({"pipelines/a.toml": text}))
    assert "have to be walked in order" in line
    assert line.startswith("pipelines/a.toml:4")


def test_what_a_connector_finds_wrong_with_its_config_is_reported_on_its_line(make_project: MakeProject) -> None:
    def problems_of(config: Mapping[str, Any]) -> tuple[BadConfig, ...]:
        return tuple(BadConfig(connector="picky", table=None, key=key, reason="is not wanted") for key in config)

    text = 'id = "a"\ntables = ["t"]\n[source]\nconnector = "picky"\n[source.config]\none = 1\ntwo = "${env:TWO}"\n'
    root = make_project({"pipelines/a.toml": text})
    with pytest.raises(InvalidProject) as invalid:
        read_project(root, connectors={"picky": ConnectorFacts(None, problems_of)}, shown_from=root)
    (problem,) = invalid.value.problems
    assert render(problem) == "error[HK102]: `source.config.one`: is not wanted\n  --> pipelines/a.toml:6"


def test_a_cursor_kind_in_the_manifest_counts_for_a_connector_that_is_not_installed(make_project: MakeProject) -> None:
    text = 'id = "a"\nsource = { connector = "x", cursor_kind = "opaque-token" }\ntables = ["t"]\n'
    (line,) = told(make_project({"pipelines/a.toml": text + "backfill.parallelism = 2\n"}))
    assert "have to be walked in order" in line


def test_a_connector_that_is_not_installed_is_a_warning(make_project: MakeProject) -> None:
    root = make_project({"pipelines/a.toml": MINIMAL.replace("postgres", "postgress")})
    (warning,) = read(root).warnings
    assert isinstance(warning, UnknownConnector)
    assert warning.help() == "did you mean `postgres`?"


def test_a_key_that_is_not_among_the_declared_columns_is_reported(make_project: MakeProject) -> None:
    tables = 'tables = [{ name = "orders", columns = ["id", "updated_on"], primary_key = ["id"] }]\n'
    text = f'id = "a"\nsource = {{ connector = "postgres" }}\n{tables}incremental = "updated_at"\n'
    (problem,) = problems(make_project({"pipelines/a.toml": text}))
    assert problem.help() == "did you mean `updated_on`?"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('renamed = { a = "b", b = "c" }', "`tables[0].renamed.a`: `b` is both an old name and a new one"),
        ('renamed = { a = "c", b = "C" }', "`c` cannot have become two columns"),
        (
            'partition_by = "a", cluster_by = "b"',
            "`tables[0].cluster_by`: a table is partitioned or clustered, not both",
        ),
        ('columns = ["id"], cluster_by = ["_hakiri_run_id", "day"]', "`day` is not among the columns of table `o`"),
        ('cluster_by = ["a", "b", "c", "d", "e"]', "at most 4"),
        ('properties = { "delta.appendOnly" = true }', "`delta.appendOnly` cannot be set in a manifest"),
        ('properties = { "a b" = "c" }', "'a b' is not the name of a property"),
        ('load = { mode = "append", null_keys = "quarantine" }', "has no meaning for the load mode `append`"),
    ],
)
def test_a_table_that_cannot_be_meant_is_reported_on_its_line(
    make_project: MakeProject, table: str, message: str
) -> None:
    text = f'id = "a"\nsource = {{ connector = "postgres" }}\n\ntables = [{{ name = "o", {table} }}]\n'
    found = problems(make_project({"pipelines/a.toml": text}))
    assert any(message in problem.message() for problem in found), [problem.message() for problem in found]
    assert {problem.place.line for problem in found if problem.place} == {4}


def test_a_table_named_twice_is_reported_whatever_its_case(make_project: MakeProject) -> None:
    text = 'id = "a"\nsource = { connector = "postgres" }\ntables = ["orders", "Orders"]\n'
    (line,) = told(make_project({"pipelines/a.toml": text}))
    assert "`Orders` is named twice" in line


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ('[catalog]\nbackend = "postgres"', "`catalog.backend`: postgres needs a `url`"),
        ('[catalog]\nurl = "postgresql://h/d"', "`catalog.url`: has no meaning for a delta catalog"),
        ('[catalog]\ntables = "main.state"\npath = "x"', "`catalog.tables`: is for a delta catalog without a `path`"),
        ('[catalog]\ntables = "main.state"\nbackend = "sqlite"', "`catalog.tables`: is for a delta catalog"),
        ('[context]\ntables = "main.sales.orders"', "'main.sales.orders' is not a schema"),
        ('[context]\ntables = "main;drop"', "'main;drop' is not a schema"),
        ('[catalog]\nbackend = "postgres"\nurl = "postgresql://u:p@h/d"', "`catalog.url` holds a secret in clear"),
        ('[engine]\nremote = "http://x"', "starts with sc://"),
        ('[engine]\nmemory = "lots"', "`engine.memory`"),
        ('[sync]\nbucket = "x"', "a bucket is an s3://"),
        ("[contxt]", "unknown key `contxt`"),
        ('[pipeline]\nid = "a"', "`pipeline`: should be a valid list"),
    ],
)
def test_a_section_that_cannot_be_meant_is_reported(make_project: MakeProject, section: str, message: str) -> None:
    found = told(make_project({"hakiri.toml": f'[project]\nname = "x"\n{section}\n'}))
    assert any(message in line for line in found), found


def test_the_project_is_found_here_then_in_manifests_then_upward(make_project: MakeProject) -> None:
    root = make_project({"hakiri.toml": "", "sub/manifests/hakiri.toml": "", "sub/deep/er/x": ""})
    assert find_project(root) == root
    assert find_project(root / "sub") == root / "sub" / "manifests"
    assert find_project(root / "sub" / "deep" / "er") == root / "sub" / "manifests"


def test_no_project_anywhere_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ProjectNotFound, match=r"no hakiri.toml found"):
        find_project(tmp_path)


def test_two_tables_that_would_land_as_one_are_named_with_both_lines(make_project: MakeProject) -> None:
    one = 'id = "{id}"\nsource = {{ connector = "postgres" }}\ntables = ["{table}"]\n{more}'
    root = make_project(
        {
            "pipelines/crm.toml": one.format(id="crm", table="Users", more=""),
            "pipelines/shop.toml": one.format(id="shop", table="users", more=""),
        }
    )
    (problem,) = problems(root)
    assert isinstance(problem, TableTaken)
    assert [str(place) for place in problem.places()] == ["pipelines/crm.toml:3", "pipelines/shop.toml:3"]
    (root / "pipelines/shop.toml").write_text(
        one.format(id="shop", table="users", more='destination = { namespace = "shop" }\n')
    )
    definition = read(root).pipelines["shop"]
    assert definition.spec.landed_name(definition.spec.tables[0]) == "shop.users"


def test_no_table_may_take_the_name_of_a_mirrors_tombstones(make_project: MakeProject) -> None:
    load = 'load = { mode = "cdc_mirror", upsert_key = "id", sequence_by = "lsn" }\n'
    text = 'id = "a"\nsource = { connector = "postgres" }\ntables = ["t"]\n' + load
    other = 'id = "b"\nsource = { connector = "postgres" }\ntables = ["t_tombstones"]\n'
    root = make_project({"pipelines/a.toml": text, "pipelines/b.toml": other})
    assert isinstance(problems(root)[0], TableTaken)


def test_changes_are_not_transformed(make_project: MakeProject) -> None:
    load = 'load = { mode = "cdc_mirror", upsert_key = "id", sequence_by = "lsn" }\n'
    plan = 'transforms = [{ plan = "pipelines/a.transforms.json", tables = ["Orders"] }]\n'
    found = problems(make_project({"pipelines/a.toml": MINIMAL + load + plan, "pipelines/a.transforms.json": "{}"}))
    assert any("the changes of `orders` cannot be transformed" in one.message() for one in found)


def test_no_table_may_take_the_name_of_anothers_quarantine(make_project: MakeProject) -> None:
    text = 'id = "a"\nsource = { connector = "postgres" }\ntables = ["t", "t_quarantine"]\n'
    root = make_project({"pipelines/a.toml": text})
    assert isinstance(problems(root)[0], TableTaken)


def test_no_table_may_take_the_name_that_another_is_built_as(make_project: MakeProject) -> None:
    text = 'id = "a"\nsource = {{ connector = "postgres" }}\ntables = ["t", "T_new"]\nload.mode = "{}"\n'
    root = make_project({"pipelines/a.toml": text.format("blue_green")})
    assert isinstance(problems(root)[0], TableTaken)
    make_project({"pipelines/a.toml": text.format("truncate")})
    assert read(root).pipelines
