"""A component has what it was granted and no more; whatever it does, its rows are as announced, or its chunk fails."""

from __future__ import annotations

import pickle
import re
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

import pyarrow as pa
import pytest

import hakiri
from extract.transform.modules import FILE, PLACE, answering, component, module, reshape, saying, wrapped
from extract.transform.operations import plan_of
from hakiri.errors import HakiriError, render
from hakiri.extract.errors import (
    CapabilityUngranted,
    ComponentExceeded,
    ComponentFailed,
    ComponentRefused,
    TransformUnfit,
)
from hakiri.extract.transform.component import APPLY_ROWS, MAX_MODULE_BYTES
from hakiri.extract.transform.reshape import Placed, Reshape
from hakiri.extract.transform.stream import to_stream

EXAMPLE = Path(__file__).parents[3] / "fixtures" / "components" / "plain_text.wasm"
THINGS = pa.schema([("id", pa.int64()), ("name", pa.string())])
LOOP = "(loop $ever (br $ever)) unreachable"
GROW = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable"


def things(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "name": [f"thing {one}" for one in ids]}, schema=THINGS)


def stream(*ids: int) -> bytes:
    return to_stream(THINGS, things(*ids).combine_chunks().to_batches()[0] if ids else None)


def nested_answer(at: int, length: int) -> str:
    return f"(call $answer (i32.const 0) (i32.const {at}) (i32.const {length}))"


def test_rows_go_through_a_component_unchanged_where_it_changes_nothing() -> None:
    made = reshape(module())
    assert made.bind(THINGS).names == ["id", "name"]
    found = made.open()(things(1, 2, 3))
    assert found.rows.to_pylist() == things(1, 2, 3).to_pylist()
    assert (found.filtered, found.merged, found.added) == (0, 0, 0)


def test_the_example_shows_markdown_as_a_reader_sees_it() -> None:
    made = reshape(EXAMPLE.read_bytes(), keeps=("id",))
    issues = pa.table({"id": [1, 2], "body": ["# It *fails*\n\nwith [this](https://a.example) `input`", None]})
    assert made.bind(issues.schema).names == ["id", "body", "body_text"]
    found = made.open()(issues).rows.to_pylist()
    assert [row["body_text"] for row in found] == ["It fails\nwith this input", None]
    assert made.keeps("id")
    assert not made.keeps("body")


def test_a_component_may_come_in_its_wrapping() -> None:
    assert reshape(wrapped(module())).open()(things(1)).rows.num_rows == 1
    assert reshape(wrapped(wrapped(), module())).open()(things(1)).rows.num_rows == 1
    assert reshape(wrapped(module())).digest == reshape(module()).digest


def test_an_executor_without_wasmtime_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    made = reshape(module())
    monkeypatch.setattr("hakiri.extract.transform.component.find_spec", lambda _: None)
    with pytest.raises(ComponentFailed, match="not installed where chunks are read"):
        made.open()


def test_the_example_was_built_from_its_source() -> None:
    fixtures, wit = EXAMPLE.parent, Path(hakiri.__file__).parent / "extract/transform/wit/connector.wit"
    sources = [fixtures / "plain_text/Cargo.toml", fixtures / "plain_text/src/lib.rs", wit]
    made_of = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    assert (fixtures / "plain_text.source").read_text().strip() == made_of, "run fixtures/components/build"


def test_what_a_component_cannot_take_shows_before_anything_is_read() -> None:
    with pytest.raises(TransformUnfit) as unfit:
        reshape(EXAMPLE.read_bytes()).bind(THINGS)
    assert "there is no text column `body`" in render(unfit.value)
    assert f"--> {PLACE}" in render(unfit.value)


def test_plans_and_components_take_turns() -> None:
    after = pa.schema([("n", pa.int64())])
    rows = [to_stream(after, pa.RecordBatch.from_pylist([{"n": 5}, {"n": 6}], schema=after))]
    plan = Placed(plan_of('df.filter(pl.col("i") > 1)'), "a.transforms.json", PLACE)
    last = Placed(plan_of('df.select(pl.col("n") * 10)'), "b.transforms.json", PLACE)
    made = Reshape("things", (plan, Placed(component(answering(after, *rows)), FILE, PLACE), last))
    found = made.open()(pa.table({"i": [1, 2, 3]}))
    assert found.rows.to_pydict() == {"n": [50, 60]}
    assert found.filtered == 1


@pytest.mark.parametrize(
    ("effect", "answer", "filtered", "merged", "added"),
    [
        ("filters", (1,), 2, 0, 0),
        ("filters", (), 3, 0, 0),
        ("merges", (1,), 0, 2, 0),
        ("adds", (1, 2, 3, 4, 5), 0, 0, 2),
        ("replaces", (7, 8, 9, 10), 0, 3, 4),
    ],
)
def test_every_row_is_counted(effect: str, answer: tuple[int, ...], filtered: int, merged: int, added: int) -> None:
    made = reshape(answering(THINGS, stream(*answer)), rows=effect)
    found = made.open()(things(1, 2, 3))
    assert (found.filtered, found.merged, found.added) == (filtered, merged, added)
    assert 3 + added == found.rows.num_rows + filtered + merged
    assert made.keeps_rows_apart == (effect == "filters")


@pytest.mark.parametrize(("effect", "answer"), [("keeps", (1, 2)), ("filters", (1, 2, 3, 4)), ("adds", (1,))])
def test_other_rows_than_the_manifest_says_fail_the_chunk(effect: str, answer: tuple[int, ...]) -> None:
    with pytest.raises(ComponentFailed, match="of 3 rows it made"):
        reshape(answering(THINGS, stream(*answer)), rows=effect).open()(things(1, 2, 3))


def test_a_column_that_is_kept_is_compared() -> None:
    raw = answering(THINGS, stream(1, 2, 4))
    assert reshape(raw, keeps=("name",)).keeps("name")
    with pytest.raises(ComponentFailed, match="changed the column `id`"):
        reshape(raw, keeps=("id",)).open()(things(1, 2, 3))
    with pytest.raises(TransformUnfit, match="no column `it`"):
        reshape(raw, keeps=("it",)).bind(THINGS)


def test_nan_that_is_kept_is_kept() -> None:
    rows = pa.table({"f": [float("nan"), None, -0.0]})
    assert reshape(module(), keeps=("f",)).open()(rows).rows.num_rows == 3


def test_a_component_remembers_within_a_chunk_and_not_beyond_it() -> None:
    made = reshape(answering(THINGS, stream(1), stream(2)))
    for _ in range(2):
        chunk = made.open()
        assert [chunk(things(9)).rows["id"].to_pylist() for _ in range(3)] == [[1], [2], [2]]


def test_many_rows_are_given_some_at_a_time_and_no_rows_not_at_all() -> None:
    rows = things(*range(2 * APPLY_ROWS + 1))
    made = reshape(module())
    assert made.open()(rows).rows.equals(made.open()(rows).rows)
    assert made.open()(rows).rows["id"].to_pylist() == rows["id"].to_pylist()
    assert reshape(module(apply="unreachable")).open()(things()).rows.num_rows == 0


def test_a_component_crosses_to_an_executor_whole_and_a_change_of_it_is_seen() -> None:
    made = reshape(module())
    again = pickle.loads(pickle.dumps(made))  # noqa: S301 our own
    assert again.open()(things(1)).rows.num_rows == 1
    assert again.digest == made.digest
    others = [reshape(module(extra="(func)")), reshape(module(), rows="filters"), reshape(module(), keeps=("id",))]
    assert len({made.digest, *(one.digest for one in others)}) == 4
    assert reshape(module(), fuel=10_000_000).digest == made.digest


def test_an_executor_of_another_make_compiles_it_anew() -> None:
    made = component(module())
    foreign = type(made)(made.spec, made.module, b"code of another machine")
    assert foreign.open("things")(things(1).to_batches()[0]).num_rows == 1


REFUSED = {
    "nothing": (b"", ComponentRefused, "is not WebAssembly"),
    "no WebAssembly": (b"#!/bin/sh\n", ComponentRefused, "is not WebAssembly"),
    "cut off": (module()[:100], ComponentRefused, "is not WebAssembly"),
    "a wrapping around nothing": (wrapped(), ComponentRefused, "several modules"),
    "a wrapping around two": (wrapped(module(), module()), ComponentRefused, "several modules"),
    "a wrapping around another": (wrapped(wrapped(module()), module()), ComponentRefused, "several modules"),
    "a wrapping that is cut off": (wrapped(module())[:100], ComponentRefused, "is not WebAssembly"),
    "a wrapping of nonsense": (wrapped() + b"\xff" * 20, ComponentRefused, "several modules"),
    "too large": (module() + b"\0" * MAX_MODULE_BYTES, ComponentRefused, "more than 8 MiB"),
    "without the interface": (b"\0asm\x01\x00\x00\x00", ComponentRefused, "has no function `hakiri:connector/"),
    "with shared memory": (
        module(extra='(memory $shared 1 1 shared) (export "b" (memory $shared))'),
        ComponentRefused,
        "is not WebAssembly that runs here",
    ),
    "with a memory of 64 bits": (module(extra="(memory i64 1)"), ComponentRefused, "is not WebAssembly that runs here"),
    "asking for files": (
        module(imports='(import "wasi_snapshot_preview1" "path_open" (func (param i32)))'),
        CapabilityUngranted,
        "asks its host for `wasi_snapshot_preview1`",
    ),
    "asking for the environment": (
        module(imports='(import "wasi:cli/environment@0.2.0" "get-environment" (func (param i32)))'),
        CapabilityUngranted,
        "asks its host for `wasi:cli/environment@0.2.0`",
    ),
    "asking for a memory": (
        module(imports='(import "env" "global" (global i32))'),
        CapabilityUngranted,
        "asks its host for `env`",
    ),
    "asking for the network": (
        module(imports='(import "hakiri:connector/network@0.1.0" "send" (func))'),
        CapabilityUngranted,
        "asks for the network, and is not granted any",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_not_run_is_refused_with_its_place(name: str) -> None:
    raw, kind, message = REFUSED[name]
    with pytest.raises(kind) as refused:
        component(raw)
    assert message in render(refused.value)
    assert f"--> {PLACE}" in render(refused.value)


def test_a_grant_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(CapabilityUngranted, match="does not ask for it"):
        component(module(), network=("models.example.com",))


HOSTILE: dict[str, tuple[bytes, dict[str, Any], type[HakiriError], str]] = {
    "runs for ever": (module(apply=LOOP), {}, ComponentExceeded, "more than 50,000,000 instructions"),
    "runs for ever on much fuel": (
        module(apply=LOOP),
        {"fuel": 10**15, "timeout": timedelta(milliseconds=300)},
        ComponentExceeded,
        "longer than 0.3 s",
    ),
    "runs for ever when it starts": (
        module(extra=f"(func $go {LOOP}) (start $go)"),
        {},
        ComponentExceeded,
        "more than 50,000,000 instructions",
    ),
    "runs for ever when it is asked for room": (
        module(realloc="(loop $ever (br $ever))"),
        {},
        ComponentExceeded,
        "more than 50,000,000 instructions",
    ),
    "calls itself": (
        module(apply="(call $deep)", extra="(func $deep (result i32) (i32.add (call $deep) (i32.const 1)))"),
        {"fuel": 10**12},
        ComponentExceeded,
        "called itself too often",
    ),
    "gives room beyond its memory": (
        module(realloc="(return (i32.const -16))"),
        {},
        ComponentFailed,
        "a place outside its memory",
    ),
    "takes all memory": (module(apply=GROW), {}, ComponentFailed, "gave up"),
    "begins with all memory": (module(pages=65_536), {}, ComponentExceeded, "begins with more memory than the 64 MiB"),
    "takes all tables": (module(extra="(table 100000000 funcref)"), {}, ComponentFailed, "table"),
    "gives up": (module(apply="unreachable"), {}, ComponentFailed, "gave up"),
    "divides by zero": (
        module(apply="(i32.div_u (i32.const 1) (i32.const 0))"),
        {},
        ComponentFailed,
        "integer division by zero",
    ),
    "reads beyond its memory": (module(apply="(i32.load (i32.const -4))"), {}, ComponentFailed, "memory out of bounds"),
    "answers from beyond its memory": (
        module(apply=nested_answer(-16, 64)),
        {},
        ComponentFailed,
        "a place outside its memory",
    ),
    "answers beyond its memory": (module(apply="(i32.const -4)"), {}, ComponentFailed, "a place outside its memory"),
    "answers with more than anybody asked": (
        module(pages=1_100, apply=nested_answer(0, 70 << 20)),
        {"memory_mib": 128},
        ComponentExceeded,
        "more than 64 MiB",
    ),
    "answers with garbage": (module(apply=nested_answer(0, 4_000)), {}, ComponentFailed, "not an Arrow stream"),
    "answers with nothing": (module(apply=nested_answer(0, 0)), {}, ComponentFailed, "not an Arrow stream"),
    "announces garbage": (module(prepare=nested_answer(0, 4_000)), {}, ComponentFailed, "not an Arrow stream"),
    "answers with other columns": (
        answering(pa.schema([("id", pa.int32())]), stream(1, 2, 3)),
        {},
        ComponentFailed,
        "other columns than it has announced",
    ),
    "says why": (saying(b"no such thing"), {}, ComponentFailed, "it says: no such thing"),
    "says it in colours": (saying(b"\x1b[31mred\xff\n" * 900), {}, ComponentFailed, "it says:  [31mred"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_component_that_does_what_it_may_not_fails_its_chunk(name: str) -> None:
    raw, asked, kind, message = HOSTILE[name]
    made, begun = reshape(raw, **asked), monotonic()
    with pytest.raises(kind) as failed:
        made.open()(things(1, 2, 3))
    assert monotonic() - begun < 15
    told = render(failed.value)
    assert message in told
    assert len(told) < 700
    assert re.search(r"[^\x20-\x7e\n\ufffd]", told) is None
    assert type(pickle.loads(pickle.dumps(failed.value))) is kind  # noqa: S301 our own


def test_a_component_that_runs_for_ever_when_it_is_prepared_shows_in_the_plan() -> None:
    with pytest.raises(TransformUnfit, match="more than 50,000,000 instructions"):
        reshape(module(prepare=LOOP)).bind(THINGS)
