"""The workspace that tests deploy to answers the real SDK as a workspace does."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from workspaces import USER, Workspace, open_workspace

if TYPE_CHECKING:  # takes seconds to import, also in each test below
    from databricks.sdk import WorkspaceClient


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    with open_workspace() as here:
        yield here
        assert here.unknown == []


@pytest.fixture
def client(workspace: Workspace) -> WorkspaceClient:
    return workspace.client()


def test_it_knows_who_asks(client: WorkspaceClient) -> None:
    assert client.current_user.me().user_name == USER


def test_a_job_is_made_changed_run_and_deleted(client: WorkspaceClient) -> None:
    from databricks.sdk.errors import NotFound
    from databricks.sdk.service.jobs import JobSettings, RunResultState

    number = client.jobs.create(name="a").job_id
    assert number is not None
    client.jobs.reset(number, JobSettings(name="b", max_concurrent_runs=1))
    settings = client.jobs.get(number).settings
    assert settings is not None
    assert (settings.name, settings.max_concurrent_runs) == ("b", 1)
    assert [one.job_id for one in client.jobs.list(name="b")] == [number]
    assert list(client.jobs.list(name="a")) == []
    run = client.jobs.run_now(number, job_parameters={"pipeline": "shop"}).result()
    assert run.state is not None
    assert run.state.result_state is RunResultState.SUCCESS
    client.jobs.delete(number)
    with pytest.raises(NotFound, match=f"Job {number} does not exist"):
        client.jobs.get(number)


def test_a_schema_holds_volumes_under_names_in_small_letters(client: WorkspaceClient) -> None:
    from databricks.sdk.errors import BadRequest, DatabricksError, NotFound
    from databricks.sdk.service.catalog import VolumeType

    with pytest.raises(NotFound, match="Catalog 'elsewhere' does not exist"):
        client.schemas.create("lake", "elsewhere")
    with pytest.raises(NotFound, match=r"Schema 'main\.lake' does not exist"):
        client.volumes.create("main", "lake", "context", VolumeType.MANAGED)
    assert client.schemas.create("Lake", "main").full_name == "main.lake"
    with pytest.raises(DatabricksError, match=r"Schema 'main\.lake' already exists"):
        client.schemas.create("lake", "main")
    assert client.volumes.create("main", "lake", "context", VolumeType.MANAGED).full_name == "main.lake.context"
    assert client.schemas.update("main.lake", comment="ours").comment == "ours"
    with pytest.raises(BadRequest, match="not empty"):
        client.schemas.delete("main.lake")
    client.schemas.delete("main.lake", force=True)
    with pytest.raises(NotFound):
        client.volumes.read("main.lake.context")


def test_files_lie_in_folders_and_a_notebook_loses_its_ending(workspace: Workspace, client: WorkspaceClient) -> None:
    from databricks.sdk.errors import BadRequest, NotFound, ResourceAlreadyExists
    from databricks.sdk.service.workspace import ImportFormat, ObjectType

    home = f"/Users/{USER}"
    client.workspace.mkdirs(f"/Workspace{home}/a/b")
    for name, text in {"b/x.toml": b"x", "look.py": b"# Databricks notebook source\n"}.items():
        client.api_client.do("POST", f"/api/2.0/workspace-files/import-file{home}/a/{name}", data=text)
    with pytest.raises(ResourceAlreadyExists):
        client.api_client.do("POST", f"/api/2.0/workspace-files/import-file{home}/a/b/x.toml", data=b"y")
    with pytest.raises(NotFound, match="parent folder"):
        client.api_client.do("POST", f"/api/2.0/workspace-files/import-file{home}/c/x.toml", data=b"y")
    found = {one.path: one.object_type for one in client.workspace.list(f"{home}/a")}
    assert found == {f"{home}/a/b": ObjectType.DIRECTORY, f"{home}/a/look": ObjectType.NOTEBOOK}
    with client.workspace.download(f"{home}/a/b/x.toml", format=ImportFormat.AUTO) as read:
        assert io.BytesIO(read.read()).getvalue() == b"x"
    with pytest.raises(BadRequest, match="not empty"):
        client.workspace.delete(f"{home}/a")
    client.workspace.delete(f"{home}/a", recursive=True)
    assert workspace.files == {}


def test_what_is_granted_is_told(client: WorkspaceClient) -> None:
    from databricks.sdk.service.iam import AccessControlRequest, PermissionLevel

    granted = AccessControlRequest(user_name=USER, permission_level=PermissionLevel.CAN_MANAGE)
    client.permissions.set("jobs", "7", access_control_list=[granted])
    (told,) = client.permissions.get("jobs", "7").access_control_list or ()
    (level,) = told.all_permissions or ()
    assert (told.user_name, level.permission_level) == (USER, PermissionLevel.CAN_MANAGE)


def test_what_it_has_no_answer_for_is_named(workspace: Workspace) -> None:
    from databricks.sdk.errors import NotFound

    with pytest.raises(NotFound, match=r"No API found for 'GET /api/2\.1/clusters/list'"):
        list(workspace.client().clusters.list())
    assert workspace.unknown == ["GET /api/2.1/clusters/list"]
    workspace.unknown.clear()
