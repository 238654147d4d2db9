"""What lands together is what may: whole rounds where a table is replaced, and overlaps apart from the rest."""

from __future__ import annotations

from dataclasses import replace

from hakiri.model.chunk import Chunk, ChunkKey, ChunkState, ChunkStatus
from hakiri.model.span import OneFile, WholeTable
from hakiri.plan.batch import MOST_CHUNKS, next_batch
from hakiri.plan.overlap import overlapping
from hakiri.plan.reading import Reading, to_json
from hakiri.plan.rounds import History, chunk_name
from plan.world import state_of


def chunk(round_number: int, place: int, reading: Reading | None = None, generation: int = 1) -> Chunk:
    key = ChunkKey("shop", "orders", chunk_name(round_number, place), generation)
    return Chunk(key, place, predicate=to_json(reading or Reading(WholeTable())))


def file(round_number: int, place: int, path: str, version: str = "1") -> Chunk:
    return chunk(round_number, place, Reading(OneFile(path, version)))


def done(*chunks: Chunk) -> list[ChunkState]:
    return [state_of(one, ChunkStatus.DONE) for one in chunks]


def batch(staged: list[ChunkState], *others: ChunkState, replaces_table: bool = False) -> list[str]:
    history = History.of([*staged, *others], frozenset())
    return [state.chunk.key.chunk for state in next_batch(history, staged, replaces_table=replaces_table)]


def test_an_append_lands_what_is_there() -> None:
    staged = done(chunk(1, 1), chunk(1, 3))
    assert batch(staged, state_of(chunk(1, 2))) == ["0001-00001", "0001-00003"]


def test_a_table_that_is_replaced_waits_for_its_round() -> None:
    staged = done(chunk(2, 1), chunk(2, 2))
    assert batch(staged, state_of(chunk(2, 3)), replaces_table=True) == []
    assert batch(staged, *done(chunk(1, 1)), replaces_table=True) == ["0002-00001", "0002-00002"]


def test_a_full_refresh_waits_for_its_round_whatever_the_mode() -> None:
    staged = done(chunk(2, 1, Reading(WholeTable(), replaces=True)))
    assert batch(staged, state_of(chunk(2, 2, Reading(WholeTable(), replaces=True)))) == []
    assert batch(staged) == ["0002-00001"]


def test_no_landing_names_more_chunks_than_a_commit_holds() -> None:
    assert len(batch(done(*(chunk(1, place) for place in range(1, MOST_CHUNKS + 2))))) == MOST_CHUNKS


def test_nothing_staged_is_nothing_to_land() -> None:
    assert batch([], state_of(chunk(1, 1))) == []


def test_a_later_round_and_a_later_generation_may_bring_rows_again() -> None:
    first, later, rewound = chunk(1, 1), chunk(2, 1), chunk(1, 2, generation=2)
    history = History.of(done(first, later, rewound), frozenset())
    assert overlapping([first, later, rewound], history) == {later.key, rewound.key}


def test_a_file_overlaps_with_another_version_of_itself_alone() -> None:
    old, new, changed = file(1, 1, "a.csv"), file(2, 1, "b.csv"), file(2, 2, "a.csv", "2")
    history = History.of(done(old, new, changed), frozenset())
    assert overlapping([new, changed], history) == {changed.key}
    assert batch(done(new, changed), *done(old)) == ["0002-00001"]
    assert batch(done(changed, new), *done(old)) == ["0002-00002"]


def test_the_refresh_is_in_the_predicate_and_survives_it() -> None:
    reading = Reading(WholeTable(), replaces=True)
    assert to_json(reading) != to_json(replace(reading, replaces=False))
