"""Nothing but an allow-listed plan is ever handed to Polars, whatever a file holds."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extract.transform.operations import (
    FIXTURES,
    OPERATIONS,
    PEOPLE,
    ROWS,
    as_stream,
    document,
    hostile_plan,
    paths,
    plan_of,
)
from hakiri.errors import HakiriError, Place, render
from hakiri.extract.errors import TransformRefused, TransformUnfit
from hakiri.extract.transform.read import read_transform
from hakiri.extract.transform.reshape import Placed, Reshape
from hakiri.extract.transform.shape import Refusal
from hakiri.spec.transform import CompiledTransform

GUARDED = 13
HOSTILE = FIXTURES / "hostile"
EXPECTED: dict[str, dict[str, str]] = json.loads((HOSTILE / "expected.json").read_text())
PAYLOADS = [json.loads(path.read_text()) for path in sorted(HOSTILE.glob("*function*.json"))]


def read(value: Any) -> CompiledTransform:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return read_transform(raw, path=Path("a.transforms.json"), shown="a.transforms.json")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_hostile_plan_is_refused_with_the_place_of_what_is_wrong(name: str) -> None:
    with pytest.raises(HakiriError) as refused:
        read(hostile_plan(HOSTILE / name))
    assert refused.value.code == EXPECTED[name]["code"]
    assert EXPECTED[name]["message"] in render(refused.value)
    places = [place for one in getattr(refused.value, "problems", [refused.value]) for place in one.places()]
    assert places[0].file == "a.transforms.json"
    assert places[0].line


def test_every_hostile_plan_says_what_to_expect_of_it() -> None:
    assert {path.name for path in HOSTILE.glob("*.json")} == {*EXPECTED, "expected.json"}


def test_a_refusal_names_the_path_of_the_node() -> None:
    plan = document(plan_of('df.with_columns(pl.col("i").add(1), pl.col("s").str.len_chars())'))
    plan["plan"]["steps"][0]["exprs"][1]["Function"]["input"][0] = {"AnonymousFunction": {}}
    with pytest.raises(TransformRefused) as refused:
        read(plan)
    assert refused.value.node == "plan.steps[0].exprs[1].Function.input[0]"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f'df.filter(pl.col("s").eq("{"x" * 70_000}"))', "more than 65,536 characters"),
        ('df.with_columns(pl.coalesce(["i"] * 9_000), pl.coalesce(["f"] * 9_000))', "more than 20,000 nodes"),
        ('df.filter(pl.col("i").is_in(list(range(10_001))))', "more than 10,000 members"),
    ],
)
def test_a_plan_that_is_too_large_is_refused_where_it_is_compiled(line: str, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        plan_of(line)
    assert message in refused.value.reason


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.python)
def test_what_was_compiled_is_read_again_as_it_was(operation: Any) -> None:
    plan = plan_of(operation.python)
    assert plan.scope == operation.scope
    assert read(document(plan)).plan == plan


def words(value: Any) -> Iterator[str]:
    """Every key and every word of a tree."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from words(inner)
    elif isinstance(value, str):
        yield value


@cache
def documents() -> list[Any]:
    return [document(plan_of(one.python)) for one in OPERATIONS]


@cache
def harmless() -> list[str]:
    return sorted({word for one in documents() for word in words(one)})


EVIL = st.sampled_from([node for payload in PAYLOADS for step in payload["plan"]["steps"] for node in step["exprs"]])
HARMLESS = st.deferred(lambda: st.sampled_from(harmless()))
SMALL = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | HARMLESS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HARMLESS, inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_mutated_plan_is_refused_or_holds_nothing_strange(data: st.DataObject) -> None:
    plan = copy.deepcopy(data.draw(st.sampled_from(documents())))
    for _ in range(data.draw(st.integers(1, 3))):
        *above, last = data.draw(st.sampled_from([path for path in paths(plan["plan"]) if path]))
        target = plan["plan"]
        for key in above:
            target = target[key]
        target[last] = copy.deepcopy(data.draw(EVIL | SMALL))
    try:
        found = read(plan)
    except HakiriError:
        return
    assert set(words(found.model_dump(mode="json")["plan"]["steps"])) <= set(harmless())
    placed = Placed(found.plan, "a.transforms.json", Place("hakiri.toml", 7))
    with suppress(TransformUnfit):  # and nothing else, whatever Polars thinks of it
        Reshape("things", (placed,), dict.fromkeys(found.plan.tables, as_stream(PEOPLE))).bind(ROWS)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_a_plan_or_an_error_of_ours(raw: bytes) -> None:
    with pytest.raises(HakiriError):
        read(raw)


def sealed_child(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    child = [sys.executable, str(Path(__file__).parent / "sealed_child.py"), *arguments]
    quiet = {**os.environ, "RUST_BACKTRACE": "0"}  # Polars would open its own file to say where it stumbled
    return subprocess.run(child, cwd=folder, env=quiet, capture_output=True, text=True, timeout=300, check=False)


def test_the_seal_of_that_process_holds(tmp_path: Path) -> None:
    assert sealed_child(tmp_path, "--break").returncode == -signal.SIGSYS


def test_the_guard_of_that_process_holds(tmp_path: Path) -> None:
    assert sealed_child(tmp_path, "--unpickle").returncode == GUARDED


def test_a_process_that_may_open_nothing_reads_binds_and_runs_every_plan(tmp_path: Path) -> None:
    """The child dies on the spot (seccomp) when a plan makes it open a file, a socket or a program.

    So it does (an audit hook) when something is unpickled, imported or compiled. Mutated plans are among those it runs.
    """
    ended = sealed_child(tmp_path)
    assert ended.returncode == 0, ended.stderr[-2000:]
    counts = json.loads(ended.stdout)
    assert counts["refused"] >= len(EXPECTED)
    assert counts["ran"] == len(OPERATIONS)
    assert counts["strange"] > 300
    assert list(tmp_path.iterdir()) == []
