"""A project that is moved to a workspace has its tables, its files and its catalog there, each under its own name."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from hakiri import wiring
from hakiri.catalog.open import DeltaTables, PostgresServer, SqliteFile
from hakiri.land.target import NamedTarget, PathTarget
from hakiri.run.manifest import relocate
from hakiri.run.services import TablePlace
from hakiri.settings import Settings
from hakiri.spec.errors import InvalidProject, TableTaken
from hakiri.spec.read import Project
from projects import MakeProject

PROJECT = """\
[project]
name = "test"
[catalog]
backend = "sqlite"
[[pipeline]]
id = "crm"
source = { connector = "sqlite", config = { path = "crm.sqlite" } }
tables = ["public.users", "orders"]
quality = { quarantine = { enabled = true, table = "public.odd" } }
"""


def read(root: Path) -> tuple[Settings, Project]:
    settings = Settings(cwd=root, project=root)
    return settings, wiring.workplace(settings).read()


def place(project: Project, index: int = 0) -> TablePlace:
    spec = project.pipelines["crm"].spec
    return wiring.place(project, spec, spec.tables[index])


def test_what_is_not_given_stays(make_project: MakeProject) -> None:
    settings, project = read(make_project({"hakiri.toml": PROJECT}))
    assert relocate(project).spec == project.spec
    assert isinstance(wiring.catalog_settings(settings, relocate(project)), SqliteFile)


def test_tables_land_in_the_schema_and_staged_files_in_the_folder(make_project: MakeProject, tmp_path: Path) -> None:
    settings, project = read(make_project({"hakiri.toml": PROJECT}))
    moved = relocate(project, path=str(tmp_path / "volume"), tables="main.lake", state="main.lake_state")
    users = place(moved)
    assert users.target == NamedTarget(("main", "lake", "public_users"))
    assert users.quarantine == NamedTarget(("main", "lake", "public_odd"))
    assert users.root == str(tmp_path / "volume/tables/public.users")
    assert place(moved, 1).target == NamedTarget(("main", "lake", "orders"))
    assert wiring.catalog_settings(settings, moved) == DeltaTables("main.lake_state")
    assert place(relocate(project, path=str(tmp_path / "volume"))).target == PathTarget(users.root)


def test_a_catalog_on_postgres_stays_where_it_is(make_project: MakeProject) -> None:
    catalog = 'backend = "postgres"\nurl = "postgresql://u@h/d"'
    settings, project = read(make_project({"hakiri.toml": PROJECT.replace('backend = "sqlite"', catalog)}))
    assert isinstance(wiring.catalog_settings(settings, relocate(project, state="main.s")), PostgresServer)


@pytest.mark.parametrize("tables", ['"public.users", "public_users"', '"public.users", "PUBLIC_USERS"'])
def test_two_tables_that_a_schema_would_take_for_one_are_refused(make_project: MakeProject, tables: str) -> None:
    _, project = read(make_project({"hakiri.toml": PROJECT.replace('"public.users", "orders"', tables)}))
    with pytest.raises(InvalidProject) as raised:
        relocate(project, tables="main.lake")
    assert isinstance(raised.value.problems[0], TableTaken)
    assert relocate(project, path="elsewhere")


def test_the_manifest_can_say_so_itself(make_project: MakeProject) -> None:
    text = PROJECT.replace('[catalog]\nbackend = "sqlite"', '[context]\ntables = "lake"\n[catalog]\ntables = "state"')
    settings, project = read(make_project({"hakiri.toml": text}))
    assert place(project).target == NamedTarget(("lake", "public_users"))
    assert wiring.catalog_settings(settings, project) == DeltaTables("state")


def test_a_journal_that_grows_is_kept_out_of_volumes(
    make_project: MakeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, project = read(make_project({"hakiri.toml": PROJECT}))
    moved = relocate(project, path="/Volumes/main/lake/context")
    assert wiring.journals(moved) == Path("/Volumes/main/lake/context/journal")
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    assert wiring.journals(moved) == Path(tempfile.gettempdir()) / "hakiri/test/journal"
