"""A transform does the same however its rows are batched, fits its table before anything is read, and counts rows."""

from __future__ import annotations

import pickle
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from extract.transform.operations import OPERATIONS, ROWS, SAMPLE, as_stream, reshape_of
from hakiri.extract.errors import ReferenceUnfit, TransformFailed, TransformUnfit
from hakiri.extract.transform.reshape import Reshape

BY_COLUMN = [
    f"df.with_columns(x={expression})"
    for expression in (
        'pl.col("i").fill_null(pl.col("f"))',
        'pl.col("i").clip(pl.col("i").neg(), 9)',
        'pl.col("i").is_between(pl.col("f"), 9)',
        'pl.col("s").str.starts_with(pl.col("j"))',
        'pl.col("s").str.contains(pl.col("s"), literal=True)',
        'pl.col("s").str.split(pl.col("j"))',
        'pl.col("s").str.slice(pl.col("i").clip(0, 3))',
        'pl.col("s").str.strip_chars(pl.col("j"))',
        'pl.col("l").list.contains(pl.col("i"))',
        'pl.col("l").list.get(pl.col("i").clip(0, 3), null_on_oob=True)',
        'pl.col("l").list.set_union(pl.col("l"))',
        'pl.col("s").replace_strict({"a": "x"}, default=pl.col("j"))',
        'pl.when(pl.col("b")).then(pl.col("s")).otherwise(pl.col("j"))',
        'pl.col("d") * pl.col("i").cast(pl.Decimal(10, 2), strict=False)',
    )
]
ALONE = [*(one.python for one in OPERATIONS if one.scope == "batch"), *BY_COLUMN]
TEXTS = st.none() | st.sampled_from(["", "a", "b", " aé,", "2026-01-05", "2026-01-05T07:30:00+02:00", "0a", "-7", "ß"])
MOMENTS = (
    st.none()
    | st.sampled_from([row["t"] for row in SAMPLE])
    | st.datetimes().map(lambda moment: moment.replace(year=2026, tzinfo=SAMPLE[1]["t"].tzinfo))
)
ROW = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-(2**31), 2**31),
        "f": st.none() | st.floats(width=32) | st.sampled_from([float("nan"), float("inf"), -0.0]),
        "s": TEXTS,
        "j": st.sampled_from([None, "{}", '{"a": 1, "b": ["x", null]}', '{"a": null}']),
        "b": st.none() | st.booleans(),
        "t": MOMENTS,
        "l": st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=3),
        "st": st.none() | st.fixed_dictionaries({"x": st.none() | st.integers(0, 9), "y": TEXTS}),
        "bi": st.none() | st.binary(max_size=3),
        "d": st.none() | st.decimals(-1000, 1000, places=2),
        "day": st.none() | st.dates(),
    }
)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=ROWS)


@settings(
    max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
@given(batches=st.lists(st.lists(ROW, max_size=4), max_size=4))
def test_an_operation_of_scope_batch_does_not_care_how_rows_are_batched(batches: list[list[dict[str, Any]]]) -> None:
    whole = table([row for batch in batches for row in batch])
    for operation in ALONE:
        reshaping = reshape_of(operation).open()
        parts = [reshaping(table(batch)).rows for batch in ([], *batches)]
        together, at_once = pa.Table.from_batches(parts), pa.Table.from_batches([reshaping(whole).rows])
        assert pl.DataFrame(together).equals(pl.DataFrame(at_once), null_equal=True), operation
        assert together.schema == at_once.schema, operation


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.python)
def test_what_an_operation_gives_is_known_before_it_runs_and_every_row_is_counted(operation: Any) -> None:
    reshape = reshape_of(operation.python)
    found = reshape.open()(table(SAMPLE))
    assert found.rows.schema == reshape.bind(ROWS)
    assert len(SAMPLE) + found.added == found.rows.num_rows + found.filtered + found.merged


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ('df.filter(pl.col("i") > 2)', {"filtered": 1}),
        ('df.drop_nulls("s").filter(pl.col("i") > 2)', {"filtered": 2}),
        ('df.unique("s")', {"merged": 1}),
        ('df.group_by("s").agg(pl.len())', {"merged": 1}),
        ("df.select(pl.len())", {"merged": 3}),
        ('df.explode("l")', {"filtered": 1, "added": 2}),
        ('df.explode("l", empty_as_null=True)', {"added": 2}),
        ('df.explode("l", keep_nulls=False)', {"filtered": 2, "added": 2}),
        ('df.filter(pl.col("i") > 1).explode("l").unique("l")', {"filtered": 1, "added": 2, "merged": 1}),
        ('df.unpivot(["i", "n"], index="s")', {"added": 4}),
        ('df.join(hk.table("people"), on="s")', {"filtered": 2}),
        ('df.join(hk.table("people"), on="s", how="left")', {}),
        ("df.head(1)", {"filtered": 3}),
    ],
)
def test_rows_are_counted_by_what_became_of_them(line: str, counts: dict[str, int]) -> None:
    rows = pa.table(
        {"i": [2, 3, 4, 5], "n": [1, 1, 1, 1], "s": ["a", "a", None, "z"], "l": [[9], [1, 1, 2], [], None]},
        schema=pa.schema({"i": pa.int64(), "n": pa.int64(), "s": pa.string(), "l": pa.list_(pa.int64())}),
    )
    found = reshape_of(line).open()(rows)
    assert {"filtered": found.filtered, "merged": found.merged, "added": found.added} == {
        "filtered": 0,
        "merged": 0,
        "added": 0,
    } | counts


@pytest.mark.parametrize(
    "expression",
    [
        'pl.col("i").is_in(pl.col("n"))',
        'pl.col("s").replace(pl.col("s"), pl.col("j"))',
        'pl.col("s").replace_strict(pl.col("s"), pl.col("j"), default=None)',
        'pl.col("st").struct.with_fields(pl.field("x").sum())',
        'pl.col("i") - pl.col("i").mean()',
        'pl.concat_list("i", pl.col("i").sum())',
        "pl.lit(1) + pl.len()",
    ],
)
def test_what_looks_at_other_rows_has_to_see_the_chunk(expression: str) -> None:
    assert reshape_of(f"df.with_columns({expression})").sees_all


def test_a_pattern_that_would_take_all_memory_is_an_error() -> None:
    with pytest.raises(TransformFailed):
        reshape_of(r'df.filter(pl.col("s").str.contains(r"[\w\d]{900}"))').open()(table(SAMPLE))


def test_lists_that_are_all_empty_in_one_part_arrive_whole() -> None:
    rows = pa.table({"l": [[1, 2], []]}, schema=pa.schema({"l": pa.list_(pa.int64())}))
    found = reshape_of('df.with_columns(pl.col("l").list.drop_nulls())').open()(rows).rows
    assert found.to_pylist() == [{"l": [1, 2]}, {"l": []}]


def test_of_no_rows_come_none() -> None:
    assert reshape_of("df.select(pl.len())").open()(table([])).rows.num_rows == 0


def test_a_missing_column_is_found_before_anything_is_read_with_the_one_that_was_meant() -> None:
    with pytest.raises(TransformUnfit) as unfit:
        reshape_of('df.rename({"s": "state"})', 'df.filter(pl.col("stat") == "open")').bind(ROWS)
    assert "there is no column `stat` here" in unfit.value.message()
    assert "step 1 (`filter`)" in unfit.value.message()
    assert unfit.value.guess == "state"
    assert str(unfit.value.place) == "hakiri.toml:7"


@pytest.mark.parametrize(
    "line",
    [
        'df.with_columns(pl.col("i").str.len_chars())',
        'df.rename({"i": "s"})',
        'df.with_columns(pl.col("s").str.strip_chars().cast(pl.Datetime("ms", "UTC")).dt.year())',
        'df.cast({"s": pl.Date})',
    ],
)
def test_a_step_that_does_not_go_with_a_type_is_found_before_anything_is_read(line: str) -> None:
    with pytest.raises(TransformUnfit):
        reshape_of(line).bind(ROWS)


def test_a_table_with_a_key_twice_cannot_be_joined_with() -> None:
    reshape = reshape_of('df.join(hk.table("people"), on="s", how="left")')
    twice = {"people": as_stream(pl.DataFrame({"s": ["a", "a"], "age": [1, 2]}))}
    with pytest.raises(ReferenceUnfit):
        Reshape(reshape.table, reshape.plans, twice).open()


def test_a_transform_crosses_a_process_border() -> None:
    reshape = reshape_of('df.join(hk.table("people"), on="s", how="left")')
    again: Reshape = pickle.loads(pickle.dumps(reshape))  # noqa: S301 our own
    there, here = again.open()(table(SAMPLE)).rows, reshape.open()(table(SAMPLE)).rows
    assert pl.DataFrame(there).equals(pl.DataFrame(here))


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        ('df.filter(pl.col("i") > 1).with_columns(pl.col("s").str.len_chars())', True),
        ('df.select("t", "i")', True),
        ('df.select("i")', False),
        ('df.rename({"t": "at"})', False),
        ('df.with_columns(pl.col("t").dt.truncate("1d"))', False),
        ("df.with_columns(pl.all().fill_null(0))", False),
        ('df.cast({"t": pl.Datetime("ms", "UTC")})', False),
        ('df.drop("t")', False),
        ('df.group_by("t").agg(pl.len())', False),
    ],
)
def test_a_column_that_comes_out_as_it_went_in_is_known(line: str, is_kept: bool) -> None:
    assert reshape_of(line).keeps("t") is is_kept


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [('df.filter(pl.col("b"))', True), ('df.explode("l")', False), ('df.group_by("s").agg(pl.len())', False)],
)
def test_whether_a_key_still_tells_rows_apart_is_known(line: str, is_kept: bool) -> None:
    assert reshape_of(line).keeps_rows_apart is is_kept
