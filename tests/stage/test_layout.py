"""An attempt's folder is its own, and lies under the table's root whatever the ids are."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.model.chunk import ChunkKey
from hakiri.stage.layout import RUNS, Attempt, encode, parents
from stage.attempts import ATTEMPT

IDS = st.text(min_size=1, max_size=300) | st.sampled_from(["..", ".", "/", "../../x", "a/b", "_x", "a~2Fb", "\ud800"])


def test_a_part_lies_where_delta_can_adopt_it() -> None:
    assert ATTEMPT.part(0) == "data/runs/run-1/node-a/chunk-0-100/attempt-1/part-00000.parquet"


def test_what_spark_must_not_read_has_a_leading_underscore_and_rows_have_none() -> None:
    assert PurePosixPath(ATTEMPT.quarantine(0)).name == "quarantine-00000.parquet"
    assert PurePosixPath(ATTEMPT.manifest).name == "_manifest.json"


@given(IDS, IDS, IDS)
def test_no_id_leaves_the_folder_or_hides_it(run: str, node: str, chunk: str) -> None:
    folder = Attempt(run, node, ChunkKey("p", "t", chunk), 1).folder
    parts = folder.split("/")
    assert folder.startswith(f"{RUNS}/")
    assert len(parts) == 6
    assert all(part.isascii() and len(part) < 200 and not part.startswith((".", "_")) for part in parts)


@given(IDS, IDS)
def test_different_ids_have_different_names(one: str, other: str) -> None:
    assert (encode(one) == encode(other)) == (one == other)


def test_a_rewound_chunk_has_a_folder_of_its_own() -> None:
    first, second = (Attempt("r", "n", ChunkKey("p", "t", "c", generation), 1).folder for generation in (1, 2))
    assert first != second
    assert Attempt("r", "n", ChunkKey("p", "t", "c~.2"), 1).folder != second


def test_an_empty_id_names_nothing() -> None:
    with pytest.raises(ValueError, match="empty"):
        encode("")


def test_attempts_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        _ = Attempt("r", "n", ChunkKey("p", "t", "c"), 0).folder


def test_the_parents_end_at_the_root() -> None:
    assert parents("data/runs/r") == ("data/runs", "data", "")
