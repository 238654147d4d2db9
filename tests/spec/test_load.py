"""A `load` section has the keys and the facts of its mode, and of no other."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pydantic import TypeAdapter

from hakiri.spec.load import AppendLoad, Load, LoadMode, LoadSection, LoadSpec, UpsertLoad, load_by_mode
from projects import MakeProject
from spec.test_read import problems

HOOK = {"type": "sql", "statement": "ANALYZE TABLE {table} COMPUTE STATISTICS"}
NEEDED: dict[str, dict[str, Any]] = {"incremental_watermark": {"watermark_column": "seen"}}
START = 'id = "a"\nsource = { connector = "postgres" }\ntables = ["orders"]\n[load]\n'


def section(**keys: Any) -> LoadSection:
    found: LoadSection = TypeAdapter(LoadSpec).validate_python(keys)
    return found


@pytest.mark.parametrize("mode", list(LoadMode))
def test_a_section_that_names_a_mode_has_the_class_and_the_facts_of_that_mode(mode: LoadMode) -> None:
    load = section(mode=mode.value, **NEEDED.get(mode, {}))
    assert isinstance(load, Load)
    assert (type(load), load.mode) == (load_by_mode(mode), mode)
    assert load.for_key(("id",)) is load
    assert pickle.loads(pickle.dumps(load)) == load  # noqa: S301 it was made here


def test_a_name_that_is_no_modes_has_no_facts() -> None:
    assert load_by_mode("") is None


def test_a_section_without_a_mode_is_an_upsert_for_a_table_with_a_key_and_an_append_for_one_without() -> None:
    load = section(null_keys="quarantine", post_hook=HOOK)
    keyed, keyless = load.for_key(("id",)), load.for_key(())
    assert isinstance(keyed, UpsertLoad)
    assert keyed.quarantines_null_keys
    assert isinstance(keyless, AppendLoad)
    assert keyed.post_hook == keyless.post_hook == load.post_hook != ()
    assert section(upsert_key="id").for_key(()).own_key == ("id",)


@pytest.mark.parametrize("is_exchange", [True, False])
def test_an_exchange_replaces_the_table_and_any_other_landing_does_not(is_exchange: bool) -> None:
    for mode in LoadMode:
        load = section(mode=mode.value, **NEEDED.get(mode, {})).for_key(())
        by = load_by_mode(load.mode_of_landing(is_exchange=is_exchange))
        assert by is not None
        assert by.replaces_table is is_exchange


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            'mode = "truncate"\nwatermarkColumn = "seen"',
            (6, "`load.watermarkColumn`: has no meaning for the load mode `truncate`"),
        ),
        ('mode = "append"\ndeletes = "hard"', (6, "`load.deletes`: has no meaning for the load mode `append`")),
        ('\nsequence_by = "n"', (6, "`load.sequence_by`: has no meaning without a load mode that uses it")),
        ('\nmode = "incremental_watermark"', (6, "`load.mode`: `incremental_watermark` needs `watermark_column`")),
        ('\nmode = ""', (6, f"`load.mode`: `''` is not one of {', '.join(LoadMode)}")),
        ('mode = "upsert"\nupsert_kye = "id"', (6, "unknown key `upsert_kye`")),
    ],
)
def test_a_key_that_does_not_fit_its_mode_is_reported_on_its_line(
    make_project: MakeProject, lines: str, told: tuple[int, str]
) -> None:
    (problem,) = problems(make_project({"pipelines/a.toml": f"{START}{lines}\n"}))
    assert problem.place is not None
    assert (problem.place.line, problem.message()) == told


def test_an_unknown_key_is_answered_with_the_keys_of_its_mode(make_project: MakeProject) -> None:
    (problem,) = problems(make_project({"pipelines/a.toml": f'{START}mode = "append"\nquux = 1\n'}))
    assert problem.help() == "known keys here: mode, post_hook, pre_hook"
