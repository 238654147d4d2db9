"""Secrets come from the environment, or else from the scope that is named; what a scope refuses is said clearly."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from databricks.sdk import WorkspaceClient
from databricks.sdk.core import Config

from hakiri.engine.scope import SecretScope
from hakiri.errors import ScopeRefused, ScopeUnanswered, UnresolvedReference, mask
from hakiri.settings import SCOPE, Settings
from hakiri.spec.reference import Reference
from workspaces import answering

TOKEN = Reference("secret", "TOKEN")


@dataclass
class Workspace:
    """A workspace with one scope, or one that answers every question with the same."""

    secrets: dict[str, str] = field(default_factory=dict)
    always: tuple[int, dict[str, str]] | None = None
    url: str = ""

    def answer(self, _method: str, path: str, _body: Any) -> tuple[int, Any] | None:
        if "/secrets/get" not in path:
            return None
        if self.always:
            return self.always
        asked = {name: value[0] for name, value in parse_qs(urlsplit(path).query).items()}
        if asked["scope"] != "prod":
            return 404, _missing(f"Scope {asked['scope']} does not exist!")
        if asked["key"] not in self.secrets:
            return 404, _missing(f"Secret does not exist with scope: prod and key: {asked['key']}")
        return 200, {"key": asked["key"], "value": base64.b64encode(self.secrets[asked["key"]].encode()).decode()}

    def scope(self, name: str = "prod") -> SecretScope:
        return SecretScope(name, lambda: WorkspaceClient(config=Config(host=self.url, token="t", **_HURRIED)))


_HURRIED: dict[str, Any] = {"retry_timeout_seconds": 1, "http_timeout_seconds": 1}


def _missing(message: str) -> dict[str, str]:
    return {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": message}


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    here = Workspace({"TOKEN": "gräßlich-geheim"})
    with answering(here.answer) as here.url:
        yield here


def test_a_secret_is_read_whole(workspace: Workspace) -> None:
    assert workspace.scope().read("TOKEN") == "gräßlich-geheim"


def test_a_secret_that_the_scope_does_not_have_is_none(workspace: Workspace) -> None:
    assert workspace.scope().read("OTHER") is None


def test_a_scope_that_is_not_there_is_named(workspace: Workspace) -> None:
    with pytest.raises(ScopeRefused, match="`dev` cannot be read: Scope dev does not exist"):
        workspace.scope("dev").read("TOKEN")


def test_a_scope_that_is_not_for_us_is_refused(workspace: Workspace) -> None:
    workspace.always = (403, {"error_code": "PERMISSION_DENIED", "message": "no READ"})
    with pytest.raises(ScopeRefused, match="no READ"):
        workspace.scope().read("TOKEN")


def test_a_workspace_that_is_ill_is_asked_again_later(workspace: Workspace) -> None:
    workspace.always = (500, {"error_code": "INTERNAL_ERROR", "message": "ill"})
    with pytest.raises(ScopeUnanswered, match="ill"):
        workspace.scope().read("TOKEN")


def test_the_environment_comes_first_then_the_scope(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_HOST", workspace.url)
    monkeypatch.setenv("DATABRICKS_TOKEN", "t")
    settings = Settings(cwd=Path(), environment={SCOPE: "prod"})
    assert settings.look_up(TOKEN) == "gräßlich-geheim"
    assert mask("it is gräßlich-geheim") == "it is ***"
    assert Settings(cwd=Path(), environment={SCOPE: "prod", "TOKEN": "mine"}).look_up(TOKEN) == "mine"
    with pytest.raises(UnresolvedReference) as raised:
        settings.look_up(Reference("secret", "OTHER"))
    assert raised.value.help() == ("set the environment variable OTHER or the secret OTHER of the scope prod")


def test_what_is_no_secret_is_not_asked_of_the_scope() -> None:
    with pytest.raises(UnresolvedReference):
        Settings(cwd=Path(), environment={SCOPE: "prod"}).look_up(Reference("env", "REGION"))
