"""A pipeline that cannot be planned keeps no other from it."""

from __future__ import annotations

from contextlib import closing
from functools import partial

from hakiri import wiring
from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.extract.connectors.port import Connector
from hakiri.model.chunk import TableKey
from hakiri.model.errors import Bug
from hakiri.model.types import LONG, STRING, Field, Struct
from hakiri.run.facts import describe_tables
from hakiri.run.plan import plan_pipelines
from hakiri.run.schema_history import SchemaDecision
from hakiri.settings import from_environment
from hakiri.spec.pipeline import PipelineSpec
from projects import MakeProject

PIPELINE = """
id = "{0}"
source = {{ connector = "files", config = {{ path = "data" }} }}
tables = ["orders"]
destination = {{ namespace = "{0}" }}
"""
NAMES = ("first", "odd", "last")


def test_an_unforeseen_failure_is_the_error_of_its_own_pipeline(make_project: MakeProject) -> None:
    root = make_project(
        {"data/orders.csv": "id\n1\n", **{f"pipelines/{name}.toml": PIPELINE.format(name) for name in NAMES}}
    )
    settings = from_environment(project=root)
    project = wiring.workplace(settings).read()

    def connector(spec: PipelineSpec) -> Connector:
        if spec.id == "odd":
            raise AssertionError("nobody thought of this")
        return wiring.connector(settings, project, spec)

    planned = plan_pipelines(
        [project.pipelines[name].spec for name in NAMES],
        connector,
        None,
        project=project.spec.project.name,
        place=partial(wiring.place, project),
        transforms=lambda _spec: {},
        logs=root,
    )
    assert [facts.spec.id for facts in planned.facts] == ["first", "last"]
    ((name, error),) = planned.errors
    assert (name, type(error)) == ("odd", Bug)
    (log,) = root.glob("bug-*.log")
    assert "nobody thought of this" in log.read_text(encoding="utf-8")


def test_files_without_a_value_are_typed_by_a_table_with_records(make_project: MakeProject) -> None:
    lines = '{"id": null, "at": {"Zip": "x", "town": null}}\n'
    root = make_project({"data/orders.jsonl": lines, "pipelines/shop.toml": PIPELINE.format("shop")})
    settings = from_environment(project=root)
    project = wiring.workplace(settings).read()
    spec = project.pipelines["shop"].spec
    at = Struct((Field("Zip", STRING), Field("town", LONG)))
    with closing(SqliteCatalog(root / "catalog.sqlite")) as catalog:
        landed = SchemaDecision(columns=Struct((Field("id", LONG), Field("at", at))))
        catalog.append_schema(TableKey("shop", "orders"), landed.to_text(), after=0)
        found = describe_tables(spec, wiring.connector(settings, project, spec), catalog)
    (table,) = found.facts.tables
    assert {one.name: one.type for one in table.produced} == {"id": LONG, "at": at}
