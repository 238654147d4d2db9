"""Secrets come from the environment, or else from the scope that is named; what a scope refuses is said clearly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hakiri.engine.errors import ScopeRefused, ScopeUnanswered
from hakiri.errors import mask
from hakiri.settings import SCOPE, Settings
from hakiri.spec.errors import UnresolvedReference
from hakiri.spec.reference import Reference
from workspaces import Workspace, open_workspace

if TYPE_CHECKING:  # takes seconds to import
    from hakiri.engine.secret_scope import SecretScope

TOKEN = Reference("secret", "TOKEN")


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    with open_workspace() as here:
        here.scopes["prod"] = {"TOKEN": "gräßlich-geheim"}
        yield here


def scope(workspace: Workspace, name: str = "prod") -> SecretScope:
    from hakiri.engine.secret_scope import SecretScope

    return SecretScope(name, lambda: workspace.client(http_timeout_seconds=1))


def test_a_secret_is_read_whole(workspace: Workspace) -> None:
    assert scope(workspace).read("TOKEN") == "gräßlich-geheim"


def test_a_secret_that_the_scope_does_not_have_is_none(workspace: Workspace) -> None:
    assert scope(workspace).read("OTHER") is None


def test_a_scope_says_how_many_secrets_it_has(workspace: Workspace) -> None:
    assert scope(workspace).count() == 1


@pytest.mark.parametrize("ask", [lambda scope: scope.read("TOKEN"), lambda scope: scope.count()])
def test_a_scope_that_is_not_there_is_named(workspace: Workspace, ask: Callable[[SecretScope], object]) -> None:
    with pytest.raises(ScopeRefused, match="`dev` cannot be read: Scope dev does not exist"):
        ask(scope(workspace, "dev"))


def test_a_scope_that_is_not_for_us_is_refused(workspace: Workspace) -> None:
    workspace.ill = (403, {"error_code": "PERMISSION_DENIED", "message": "no READ"})
    with pytest.raises(ScopeRefused, match="no READ"):
        scope(workspace).read("TOKEN")


def test_a_workspace_that_is_ill_is_asked_again_later(workspace: Workspace) -> None:
    workspace.ill = (500, {"error_code": "INTERNAL_ERROR", "message": "ill"})
    with pytest.raises(ScopeUnanswered, match="ill"):
        scope(workspace).read("TOKEN")


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
