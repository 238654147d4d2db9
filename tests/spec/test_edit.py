"""Edits land whole, in the file's own style, and only where the project stays valid."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hakiri.model.installed import ConnectorFacts
from hakiri.spec.document import Format
from hakiri.spec.edits.edit import Editor
from hakiri.spec.edits.write import replace_file
from hakiri.spec.errors import EditRefused, ManifestChanged, PipelineExists, PipelineNotFound
from hakiri.spec.read import read_project
from projects import MakeProject

TOML = """\
# The project.
[project]
name = "test" # a name

# Orders, every quarter of an hour.
[[pipeline]]
id = "orders"
source = { connector = "x" } # the shop
tables = ["orders"]
load = { mode = "append" }

# Events are next.
[[pipeline]]
id = "events"
source = { connector = "x" }
tables = ["events"]
"""
ORDERS: dict[str, Any] = {
    "id": "orders",
    "source": {"connector": "x"},
    "tables": ["orders"],
    "load": {"mode": "append"},
}


def editor(root: Path) -> Editor:
    return Editor(root=root, connectors={"x": ConnectorFacts()}, shown_from=root)


def spec_of(root: Path, name: str) -> Any:
    return read_project(root, connectors={"x": ConnectorFacts()}, shown_from=root).pipelines[name].spec


def test_a_created_pipeline_is_a_json_file_with_its_schema_line(make_project: MakeProject) -> None:
    root = make_project({})
    edited = editor(root).create(ORDERS, "json")
    assert edited.written == ("pipelines/orders.json",)
    written = json.loads((root / "pipelines/orders.json").read_text())
    assert written == {"$schema": "https://hakiri.dev/schemas/v1/pipeline.json", **ORDERS}


def test_a_pipeline_created_as_toml_is_appended_to_the_project_file(make_project: MakeProject) -> None:
    root = make_project({"hakiri.toml": TOML})
    editor(root).create({**ORDERS, "id": "new", "tables": ["others"]}, "toml")
    text = (root / "hakiri.toml").read_text()
    assert text.startswith(TOML)
    assert spec_of(root, "new").load.mode == "append"


@pytest.mark.parametrize("to", ["json", "toml"])
def test_an_invalid_pipeline_is_not_created(make_project: MakeProject, to: Format) -> None:
    root = make_project({"hakiri.toml": TOML})
    with pytest.raises(EditRefused) as refused:
        editor(root).create({"id": "new", "tables": []}, to)
    assert len(refused.value.problems) == 2
    assert (root / "hakiri.toml").read_text() == TOML
    assert not (root / "pipelines").exists()


@pytest.mark.parametrize("name", ["../evil", "a/b", "", "A B"])
def test_an_id_that_is_no_file_name_is_refused(make_project: MakeProject, name: str) -> None:
    root = make_project({})
    with pytest.raises(EditRefused):
        editor(root).create({**ORDERS, "id": name}, "json")
    assert [path.name for path in root.iterdir()] == ["hakiri.toml"]


def test_an_id_that_is_taken_is_refused(make_project: MakeProject) -> None:
    with pytest.raises(PipelineExists) as refused:
        editor(make_project({"hakiri.toml": TOML})).create(ORDERS, "json")
    assert str(refused.value.place) == "hakiri.toml:6"


def test_an_edit_keeps_comments_order_and_everything_else(make_project: MakeProject) -> None:
    root = make_project({"hakiri.toml": TOML})
    editor(root).edit("orders", {("schedule",): "every 15m", ("tables", 0, "primary_key"): ["id"]}, [("load",)])
    assert (root / "hakiri.toml").read_text() == TOML.replace(
        'tables = ["orders"]\nload = { mode = "append" }\n',
        'tables = [{ name = "orders", primary_key = ["id"] }]\nschedule = "every 15m"\n',
    )


def test_an_edit_of_json_keeps_order_indent_and_schema_line(make_project: MakeProject) -> None:
    text = json.dumps({"$schema": "s", **ORDERS}, indent=4) + "\n"
    root = make_project({"pipelines/orders.json": text})
    editor(root).edit("orders", {("load", "mode"): "truncate"}, [])
    assert (root / "pipelines/orders.json").read_text() == text.replace("append", "truncate")


def test_a_key_is_edited_under_the_name_it_is_written_with(make_project: MakeProject) -> None:
    text = json.dumps({**ORDERS, "load": {"mode": "upsert", "upsertKey": ["id"]}})
    root = make_project({"pipelines/orders.json": text})
    editor(root).edit("orders", {("load", "upsert_key"): ["other"]}, [])
    assert json.loads((root / "pipelines/orders.json").read_text())["load"] == {
        "mode": "upsert",
        "upsertKey": ["other"],
    }


@pytest.mark.parametrize(
    ("sets", "unsets"),
    [
        ({("schedule",): "never"}, []),
        ({("shedule",): "every 15m"}, []),
        ({}, [("source",)]),
        ({}, [("backfill",)]),
        ({("id",): "events"}, []),
        ({("id", "x"): 1}, []),
        ({("tables", 7): "x"}, []),
        ({("schedule",): None}, []),
    ],
)
def test_an_edit_that_would_make_the_project_invalid_is_refused(
    make_project: MakeProject, sets: dict[Any, Any], unsets: list[Any]
) -> None:
    root = make_project({"hakiri.toml": TOML})
    with pytest.raises(EditRefused):
        editor(root).edit("orders", sets, unsets)
    assert (root / "hakiri.toml").read_text() == TOML


def test_an_edit_may_mend_an_invalid_project(make_project: MakeProject) -> None:
    root = make_project({"hakiri.toml": TOML.replace('mode = "append"', 'mode = "apend"')})
    editor(root).edit("orders", {("load", "mode"): "append"}, [])
    assert (root / "hakiri.toml").read_text() == TOML


def test_a_project_file_whose_pipelines_are_no_list_is_refused_and_not_a_traceback(make_project: MakeProject) -> None:
    root = make_project({"hakiri.toml": '[project]\nname = "test"\n[pipeline]\nid = "orders"\n'})
    with pytest.raises(PipelineNotFound):
        editor(root).edit("orders", {("schedule",): "every 1h"}, [])
    with pytest.raises(EditRefused):
        editor(root).create(ORDERS, "json")


def test_a_block_is_appended_with_the_newlines_of_its_file(make_project: MakeProject) -> None:
    root = make_project({})
    (root / "hakiri.toml").write_bytes(b'[project]\r\nname = "test"\r\n')
    editor(root).create(ORDERS, "toml")
    written = (root / "hakiri.toml").read_bytes()
    assert written.count(b"\n") == written.count(b"\r\n")


def test_an_unknown_pipeline_comes_with_the_one_that_was_meant(make_project: MakeProject) -> None:
    with pytest.raises(PipelineNotFound) as missing:
        editor(make_project({"hakiri.toml": TOML})).edit("order", {("schedule",): "every 1h"}, [])
    assert missing.value.guess == "orders"


def test_converting_to_json_moves_the_block_and_says_which_comments_are_lost(make_project: MakeProject) -> None:
    root = make_project({"hakiri.toml": TOML})
    before = spec_of(root, "orders")
    edited = editor(root).convert("orders", "json")
    assert edited.notes == ("2 comments were dropped, which JSON cannot hold",)
    assert spec_of(root, "orders") == before
    assert (root / "hakiri.toml").read_text() == (
        '# The project.\n[project]\nname = "test" # a name\n\n'
        '# Events are next.\n[[pipeline]]\nid = "events"\nsource = { connector = "x" }\ntables = ["events"]\n'
    )


def test_converting_to_toml_moves_the_file(make_project: MakeProject) -> None:
    root = make_project({"pipelines/orders.json": json.dumps(ORDERS)})
    before = spec_of(root, "orders")
    edited = editor(root).convert("orders", "toml")
    assert (edited.written, edited.removed) == (("pipelines/orders.toml",), ("pipelines/orders.json",))
    assert spec_of(root, "orders") == before


def test_converting_what_is_converted_changes_nothing(make_project: MakeProject) -> None:
    edited = editor(make_project({"hakiri.toml": TOML})).convert("orders", "toml")
    assert (edited.written, edited.notes) == ((), ("it is written in TOML already",))


def test_converting_one_of_two_equal_definitions_keeps_the_other(make_project: MakeProject) -> None:
    """What is left when a conversion was killed between its two writes, and what the duplicate's hint asks for."""
    root = make_project({"hakiri.toml": TOML, "pipelines/orders.json": json.dumps(ORDERS)})
    editor(root).convert("orders", "json")
    assert '"orders"' not in (root / "hakiri.toml").read_text()
    assert spec_of(root, "orders").id == "orders"


class Cut(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("to", ["json", "toml"])
def test_a_conversion_that_is_cut_off_loses_nothing_and_a_repeat_finishes_it(
    make_project: MakeProject, monkeypatch: pytest.MonkeyPatch, to: Format
) -> None:
    """It ends at each rename and each removal in turn, the last things that a disk is asked for."""
    files = {"json": {"hakiri.toml": TOML}, "toml": {"pipelines/orders.json": json.dumps(ORDERS)}}
    for steps in range(2):
        root = make_project(files[to])
        before = spec_of(root, "orders")
        with monkeypatch.context() as patch:
            cut_after(steps, patch)
            with pytest.raises(Cut):
                editor(root).convert("orders", to)
        assert any('"orders"' in path.read_text() for path in (root / "hakiri.toml", *(root / "pipelines").iterdir()))
        editor(root).convert("orders", to)
        assert spec_of(root, "orders") == before
        for left in (root / "pipelines").iterdir():
            left.unlink()


def cut_after(steps: int, patch: pytest.MonkeyPatch) -> None:
    """Let so many files come into place or go, and end at the next."""
    left = iter(range(steps))
    for name in ("replace", "unlink"):
        real = getattr(Path, name)

        def counted(path: Path, *args: Any, real: Any = real, **options: Any) -> Any:
            if path.name.startswith(".") and not args:
                return real(path, *args, **options)  # what was written beside is cleared away
            if next(left, None) is None:
                raise Cut
            return real(path, *args, **options)

        patch.setattr(Path, name, counted)


def test_a_write_that_is_cut_off_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.toml"
    path.write_text("old")

    def cut(_: int) -> None:
        raise Cut

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", cut)
        with pytest.raises(Cut):
            replace_file(path, b"new", expected=b"old", shown="a.toml")
    assert [one.read_text() for one in tmp_path.iterdir()] == ["old"]


def test_two_definitions_that_differ_are_a_persons_to_choose_between(make_project: MakeProject) -> None:
    other = json.dumps({**ORDERS, "tables": ["other"]})
    root = make_project({"hakiri.toml": TOML, "pipelines/orders.json": other})
    with pytest.raises(EditRefused, match="differ in `tables`"):
        editor(root).convert("orders", "json")
    assert (root / "hakiri.toml").read_text() == TOML


def test_a_null_that_toml_cannot_say_is_not_dropped_in_silence(make_project: MakeProject) -> None:
    data = {**ORDERS, "source": {"connector": "x", "config": {"limit": None}}, "schedule": None}
    root = make_project({"pipelines/orders.json": json.dumps(data)})
    with pytest.raises(EditRefused, match="TOML has no null"):
        editor(root).convert("orders", "toml")
    assert (root / "pipelines/orders.json").exists()


def test_a_file_that_is_in_the_way_is_kept(make_project: MakeProject) -> None:
    root = make_project({"pipelines/orders.json": json.dumps({**ORDERS, "id": "other"})})
    with pytest.raises(PipelineExists, match=r"orders.json"):
        editor(root).create(ORDERS, "json")


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("theirs")
    with pytest.raises(ManifestChanged):
        replace_file(path, b"ours", expected=b"as it was read", shown="a.toml")
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_a_linked_manifest_stays_a_link_and_a_mode_stays_a_mode(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "link.toml"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    replace_file(link, b"new", expected=b"old", shown="link.toml")
    assert os.path.islink(link)  # noqa: PTH114 pathlib follows nothing here either, but says it less plainly
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


CONFIG_VALUES = st.sampled_from([1, "a", [True], {"b": 1.5}])
PIPELINES = st.fixed_dictionaries(
    {
        "source": st.fixed_dictionaries(
            {"connector": st.just("x")},
            optional={
                "config": st.dictionaries(st.text("ab.- é\n", min_size=1, max_size=4), CONFIG_VALUES, max_size=3)
            },
        ),
        "tables": st.lists(
            st.sampled_from(["a", "b", {"name": "c", "primary_key": ["id"]}, {"name": "d", "query": "select 1"}]),
            min_size=1,
            max_size=3,
            unique_by=str,
        ),
    },
    optional={
        "schedule": st.sampled_from(["every 15m", "0 */2 * * *"]),
        "incremental": st.sampled_from(["updated_at", {"column": "id", "lag": "5m"}]),
        "backfill": st.sampled_from([{"window": "30d", "parallelism": 4}, {"start_from": "2010-01-01"}]),
        "quality": st.sampled_from(
            [
                {"row_level": [{"type": "not_null", "field": "id", "on_fail": "skip"}]},
                {
                    "rowLevel": [{"type": "notNull", "field": "id", "onFail": "skip"}],
                    "quarantine": {"table": "dlq.orders"},
                },
            ]
        ),
    },
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=PIPELINES)
def test_there_and_back_again_is_lossless(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> None:
    root = tmp_path_factory.mktemp("project")
    (root / "hakiri.toml").write_text('[project]\nname = "test"\n')
    there = editor(root)
    there.create({"id": "p", **data}, "json")
    before = spec_of(root, "p")
    there.convert("p", "toml")
    assert spec_of(root, "p") == before
    there.convert("p", "json")
    written = json.loads((root / "pipelines/p.json").read_text())
    assert written == {"$schema": written["$schema"], "id": "p", **data}
