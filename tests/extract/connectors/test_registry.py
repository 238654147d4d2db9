"""Connectors are found, judged by their config, and loaded late."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hakiri.extract.connectors import registry
from hakiri.extract.errors import ConnectorUnusable
from hakiri.model.errors import BadConfig
from hakiri.model.source import CursorKind

BUILT_IN = ("files", "postgres", "sqlite")


def test_ours_are_there_under_their_names() -> None:
    assert set(BUILT_IN) <= set(registry.names())


def test_cursor_kinds_are_known_without_a_driver() -> None:
    code = (
        "import sys; from hakiri.extract.connectors.registry import facts;"
        "kinds = {name: one.cursor_kind for name, one in facts().items()};"
        "assert not {'sqlite3', 'adbc_driver_postgresql', 'adbc_driver_manager'} & set(sys.modules);"
        "print(sorted(kinds.items()))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for name in BUILT_IN:
        assert f"('{name}', <CursorKind.MONOTONIC" in found


def test_everything_wrong_with_a_config_is_told_at_once_and_no_value_is_repeated() -> None:
    problems = registry.check_config("sqlite", {"pth": "hunter2", "batch_rows": "hunter2"})
    assert {problem.key for problem in problems} == {"path", "batch_rows", "pth"}
    assert {problem.guess for problem in problems if problem.key == "pth"} == {"path"}
    assert not any("hunter2" in problem.text() for problem in problems)


def test_a_good_config_has_no_problems() -> None:
    assert registry.check_config("sqlite", {"path": "x.db"}) == ()


def test_a_bad_config_opens_nothing() -> None:
    with pytest.raises(BadConfig):
        registry.open_connector("sqlite", {})


def test_an_unknown_connector_comes_with_a_guess() -> None:
    with pytest.raises(ConnectorUnusable) as caught:
        registry.open_connector("sqlit", {})
    assert caught.value.guess == "sqlite"


@pytest.fixture
def strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two installed packages whose connectors cannot be used."""
    packages = {"one": {"gone": "no.such.module:X", "odd": "json:dumps", "twice": "a:X"}, "two": {"twice": "b:X"}}
    for package, offered in packages.items():
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"[{registry.GROUP}]", *(f"{name} = {value}" for name, value in offered.items())]
        (folder / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    registry._entry_points.cache_clear()
    yield
    registry._entry_points.cache_clear()


@pytest.mark.usefixtures("strangers")
def test_a_broken_stranger_is_told_and_harms_no_other() -> None:
    kinds = {name: facts.cursor_kind for name, facts in registry.facts().items()}
    assert kinds == {"gone": None, "odd": None, "twice": None, **dict.fromkeys(BUILT_IN, CursorKind.MONOTONIC)}
    reasons = {"gone": "loading it failed", "odd": "json:dumps is not a Declaration", "twice": "by one and two"}
    for name, reason in reasons.items():
        with pytest.raises(ConnectorUnusable, match=reason):
            registry.open_connector(name, {})
