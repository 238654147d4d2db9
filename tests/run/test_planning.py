"""A pipeline that cannot be planned keeps no other from it."""

from __future__ import annotations

from functools import partial

from hakiri import wiring
from hakiri.extract.connectors.port import Connector
from hakiri.model.errors import Bug
from hakiri.run.plan import plan_pipelines
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
