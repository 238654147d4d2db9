"""Ordinary sources, living on, land right on the second apply and on every one after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from flow.life import Life, landed
from flow.life_history import Step, history, shortened, steps_of
from flow.life_sources import Kind, kinds, seeded
from flow.shape_table import KINDS, SHAPES, life_of, promised
from flow.stand import Stand

MakeStand = Callable[[Mapping[str, str]], Stand]


def steps(*deeds: str) -> list[Step]:
    return [Step(deed, 1) for deed in deeds]


SAMPLE = (
    Kind("sqlite", "append", has_key=False, lag=5),
    Kind("postgres", "upsert", lag=5),
    Kind("postgres", "incremental_watermark", cursor_type="double"),
    Kind("jsonl", "append", has_cursor=False),
    Kind("csv", "upsert", has_cursor=False),
    Kind("parquet", "truncate", has_cursor=False),
    Kind("jsonl", "cdc_mirror", has_cursor=False),
)


@pytest.mark.parametrize("kind", SAMPLE, ids=str)
def test_a_table_is_what_its_mode_promises_after_every_apply(
    make_stand: MakeStand, postgres_url: str, kind: Kind
) -> None:
    Life(kind, make_stand({}), postgres_url).live(history(kind, seeded(str(kind)), rounds=3))


def test_a_renamed_pipeline_with_a_transform_adopts_its_table(make_stand: MakeStand) -> None:
    deeds = ("apply", "edit_transform", "insert", "apply", "rename_pipeline", "insert", "apply")
    Life(Kind("sqlite", "upsert", has_cursor=False), make_stand({})).live(steps(*deeds))


def test_json_lines_that_are_emptied_after_their_columns_were_named_land_on(make_stand: MakeStand) -> None:
    deeds = ("apply", "edit_columns", "empty", "apply", "insert", "apply")
    Life(Kind("jsonl", "append", has_key=False, has_cursor=False), make_stand({})).live(steps(*deeds))


def test_json_lines_that_are_emptied_after_they_got_a_transform_land_on(make_stand: MakeStand) -> None:
    deeds = ("apply", "edit_transform", "empty", "apply", "insert", "apply")
    Life(Kind("jsonl", "upsert", has_cursor=False), make_stand({})).live(steps(*deeds))


def test_a_declared_rename_waits_for_the_next_landing(make_stand: MakeStand) -> None:
    life = Life(Kind("sqlite", "append", lag=5), make_stand({}))
    declares = Step("rename_column", 2)
    life.live([*steps("add_column", "insert", "apply"), declares, *steps("empty", "apply")])
    ((new, old),) = life.manifest.renamed.items()
    table = life.stand.folder(life.source.table)
    assert {new, old} & set(pl.read_delta(str(table)).columns) == {old}
    life.live(steps("insert", "apply"))
    assert {new, old} & set(pl.read_delta(str(table)).columns) == {new}


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", kinds(), ids=str)
def test_every_kind_of_table_is_what_its_mode_promises(
    make_stand: MakeStand, postgres_url: str, kind: Kind, seed: int
) -> None:
    Life(kind, make_stand({}), postgres_url).live(history(kind, seeded(f"{kind} {seed}"), rounds=8))


SHAPED = [(kind, shape) for kind in KINDS for shape in SHAPES]
SOME_SHAPED = [(kind, shape) for place, (kind, shape) in enumerate(SHAPED) if place % 7 == 0]


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        pytest.param(kind, shape, marks=() if (kind, shape) in SOME_SHAPED else pytest.mark.exhaustive)
        for kind, shape in SHAPED
    ],
)
def test_a_source_that_changes_its_shape_leaves_what_the_page_says(
    make_stand: MakeStand, kind: str, shape: str
) -> None:
    life = Life(KINDS[kind], make_stand({}))
    life.manifest.write(life.stand.root, life.source)
    for rows in life_of(SHAPES[shape]):
        life.source.remake(rows)
        assert life.stand.apply()["life"].errors == ()
    assert sorted(landed(life.stand, life.source.table), key=lambda row: row["id"]) == promised(
        KINDS[kind], SHAPES[shape]
    )


def test_a_history_that_fails_is_cut_down_to_the_steps_it_fails_by() -> None:
    long = history(SAMPLE[0], seeded(1), rounds=8)
    culprits = {long[3], long[-2]}
    assert set(shortened(long, lambda some: culprits <= set(some))) == culprits


def test_the_steps_that_a_history_prints_are_read_as_the_same_steps(tmp_path: Path) -> None:
    life = Life(Kind("jsonl", "append", has_key=False, has_cursor=False), Stand(tmp_path))
    deeds = [Step("insert", 3), Step("update", 1 << 29), Step("empty", 0)]
    life.live(deeds)
    assert steps_of(" ".join(life.told)) == deeds
    with pytest.raises(ValueError, match="like `insert"):
        steps_of("insert(3) apply")
