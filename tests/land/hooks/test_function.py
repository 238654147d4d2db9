"""A registered function is called by its name, with arguments of its types, and ends in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clocks import wait_until
from hakiri.errors import HookError
from hakiri.land.errors import HookFailed, HookRefused, HookTimedOut
from hakiri.land.hooks.function import call_function
from hakiri.land.hooks.registry import functions
from hakiri.model.chunk import TableKey
from hakiri.model.hook import HookCall
from hakiri.settings import Settings
from hakiri.spec.errors import InvalidProject
from hakiri.spec.hook import FunctionHook
from hakiri.wiring import workplace
from land.hooks.registered import make_known
from projects import MakeProject

CALL = HookCall(project="p", table=TableKey("shop", "orders"), name="orders", hook="post_hook[0]", number=7, version=9)

PROJECT = """\
[project]
name = "test"
[[pipeline]]
id = "shop"
source = { connector = "x" }
tables = ["orders"]
load = { pre_hook = { type = "custom_function", function = "missing" } }
"""


@pytest.fixture(autouse=True)
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_known(tmp_path / "site", monkeypatch)


def hook(function: str, *, timeout: str = "60s", **args: Any) -> FunctionHook:
    return FunctionHook.model_validate(
        {"type": "custom_function", "function": function, "args": args, "timeout": timeout}
    )


def test_a_function_is_told_what_has_landed_and_its_arguments(book: Path) -> None:
    call_function(hook("note", channel="a 'b'", urgent=True, factor=2), CALL)
    assert book.read_text() == "p/shop/orders/7/post_hook[0] 9 a 'b' True 2\n"


@pytest.mark.parametrize(
    ("function", "args", "why"),
    [
        ("note", {}, "its argument `channel` is missing"),
        ("note", {"channel": 1}, "its argument `channel` is str, and int is given"),
        ("note", {"channel": "a", "urgent": 1}, "its argument `urgent` is bool, and int is given"),
        ("note", {"channel": "a", "factor": True}, "its argument `factor` is float, and bool is given"),
        ("note", {"channel": "a", "call": "x"}, "it takes no argument `call`"),
        ("note", {"chanel": "a", "channel": "a"}, "it takes no argument `chanel`"),
        ("untyped", {"channel": "a"}, "its argument `channel` is None, and str is given"),
        ("deaf", {}, "it takes the call first"),
        ("not_a_function", {}, "is not a function"),
        ("missing", {}, "loading `missing` failed: module 'ops_of_a_test' has no attribute 'missing'"),
        ("os", {}, "it is not installed here"),
        ("system", {}, "it is not installed here"),
    ],
)
def test_what_the_signature_does_not_take_is_refused_before_the_call(
    book: Path, function: str, args: dict[str, Any], why: str
) -> None:
    with pytest.raises(HookRefused) as caught:
        call_function(hook(function, **args), CALL)
    assert why in caught.value.reason
    assert not book.exists()


def test_the_check_knows_the_same_problems() -> None:
    assert functions()["note"]({"channel": 1}) == ("its argument `channel` is str, and int is given",)
    assert functions()["note"]({"channel": "a"}) == ()


def test_a_project_is_read_for_a_run_without_any_import(make_project: MakeProject) -> None:
    """That of `missing` would fail."""
    root = make_project({"hakiri.toml": PROJECT})
    settings = Settings(cwd=root, project=root)
    assert list(workplace(settings).read().pipelines) == ["shop"]
    with pytest.raises(InvalidProject) as caught:
        workplace(settings, imports_functions=True).read()
    assert "loading `missing` failed" in str(caught.value.problems)


@pytest.mark.parametrize(
    ("function", "why"), [("refuse", "ValueError: not today"), ("die", "its process ended with 7")]
)
def test_a_function_that_fails_is_told_in_one_line(function: str, why: str) -> None:
    with pytest.raises(HookFailed) as caught:
        call_function(hook(function), CALL)
    assert why in caught.value.message()


def test_a_function_that_hangs_is_killed_with_whatever_it_has_started(book: Path) -> None:
    with pytest.raises(HookTimedOut) as caught:
        call_function(hook("hang", seconds=3600, timeout="5s"), CALL)
    assert "took longer than 5 s" in caught.value.reason
    assert isinstance(caught.value, HookError)
    wait_until(lambda: not is_running(int(book.read_text())))  # the signal is sent; its process dies a moment later


def test_a_function_whose_import_hangs_is_killed_as_well() -> None:
    with pytest.raises(HookTimedOut, match="took longer than 2 s"):
        call_function(hook("endless", timeout="2s"), CALL)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_working_folder_offers_no_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_known(tmp_path / "elsewhere", monkeypatch)
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(HookRefused, match="not installed here"):
        call_function(hook("note", channel="a"), CALL)
