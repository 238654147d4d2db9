"""What lands together is what may: whole rounds where a table is replaced, and overlaps apart from the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hakiri.model.chunk import Chunk, ChunkKey, ChunkState, ChunkStatus, Gone, Seal
from hakiri.model.source import Piece
from hakiri.model.span import OneFile, PageToken, Partition, WholeTable
from hakiri.plan.batch import MOST_CHUNKS, exchanges, next_batch
from hakiri.plan.overlap import landed_before, overlapping
from hakiri.plan.reading import Reading, to_json
from hakiri.plan.rounds import History, chunk_name
from plan.world import landed_keys, state_of


def chunk(round_number: int, place: int, reading: Reading | None = None, generation: int = 1) -> Chunk:
    key = ChunkKey("shop", "orders", chunk_name(round_number, place), generation)
    read = reading or Reading(WholeTable())
    return Chunk(key, place, predicate=to_json(read), round=round_number, is_refresh=read.replaces)


def file(round_number: int, place: int, path: str, version: str = "1") -> Chunk:
    return chunk(round_number, place, Reading(OneFile(path, version)))


def done(*chunks: Chunk) -> list[ChunkState]:
    return [state_of(one, ChunkStatus.DONE, rows=1) for one in chunks]


def batch(
    staged: list[ChunkState],
    *others: ChunkState,
    landed: Sequence[Chunk] = (),
    replaces_table: bool = False,
    tells_versions: bool = True,
    lands_whole: bool = False,
    in_order: bool = False,
) -> list[str]:
    history = History.of([*staged, *others, *done(*landed)], landed_keys(landed))
    found = next_batch(
        history,
        staged,
        replaces_table=replaces_table,
        tells_versions=tells_versions,
        lands_whole=lands_whole,
        in_order=in_order,
    )
    return [state.chunk.key.chunk for state in found]


def test_an_append_lands_what_is_there() -> None:
    staged = done(chunk(1, 1), chunk(1, 3))
    assert batch(staged, state_of(chunk(1, 2))) == ["0001-00001", "0001-00003"]


def test_a_table_that_is_replaced_waits_for_its_round() -> None:
    staged = done(chunk(2, 1), chunk(2, 2))
    assert batch(staged, state_of(chunk(2, 3)), replaces_table=True) == []
    assert batch(staged, landed=[chunk(1, 1)], replaces_table=True) == ["0002-00001", "0002-00002"]


def test_a_round_that_is_measured_by_the_table_lands_whole() -> None:
    """A part of it would move the mark, and the rest would be late."""
    staged = done(chunk(2, 1), chunk(2, 2))
    assert batch(staged, state_of(chunk(2, 3)), landed=[chunk(1, 1)], lands_whole=True) == []
    assert batch(staged, landed=[chunk(1, 1)], lands_whole=True) == ["0002-00001", "0002-00002"]
    assert batch(staged, landed=[chunk(2, 3)], lands_whole=True) == ["0002-00001", "0002-00002"]


def test_a_round_of_a_log_lands_whole_and_one_of_pages_does_not_have_to() -> None:
    log = [chunk(2, place, Reading(Partition((("part", name),)), since=7)) for place, name in enumerate("ab", 1)]
    assert batch(done(log[0]), state_of(log[1])) == []
    assert batch(done(*log)) == ["0002-00001", "0002-00002"]
    pages = [chunk(2, place, Reading(PageToken("next"), since="next")) for place in (1, 2)]
    assert batch(done(pages[0]), state_of(pages[1])) == ["0002-00001"]


def test_the_rest_of_a_round_of_which_a_part_has_landed_does_not_wait_and_does_not_replace() -> None:
    """A manifest that came to say truncate in the middle of a round."""
    staged, landed = done(chunk(1, 2)), [chunk(1, 1)]
    assert batch(staged, landed=landed, replaces_table=True) == ["0001-00002"]
    history = History.of([*staged, *done(*landed)], landed_keys(landed))
    assert not exchanges(history, staged, replaces_table=True)
    assert exchanges(History.of(staged, frozenset()), staged, replaces_table=True)


def test_a_full_refresh_waits_for_its_round_whatever_the_mode() -> None:
    staged = done(chunk(2, 1, Reading(WholeTable(), replaces=True)))
    assert batch(staged, state_of(chunk(2, 2, Reading(WholeTable(), replaces=True)))) == []
    assert batch(staged) == ["0002-00001"]


def test_no_landing_names_more_chunks_than_a_commit_holds() -> None:
    assert len(batch(done(*(chunk(1, place) for place in range(1, MOST_CHUNKS + 2))))) == MOST_CHUNKS


def test_nothing_staged_is_nothing_to_land() -> None:
    assert batch([], state_of(chunk(1, 1))) == []


def test_a_later_round_may_bring_rows_again_and_a_later_generation_if_an_earlier_one_landed() -> None:
    first, later, retried, rewound = chunk(1, 1), chunk(2, 1), chunk(1, 2, generation=2), chunk(1, 3, generation=3)
    history = History.of(done(first, later, retried, rewound), landed_keys([chunk(1, 3, generation=2)]))
    assert overlapping([first, later, retried, rewound], history) == {later.key, rewound.key}


def test_what_is_told_by_content_lands_all_at_once() -> None:
    staged = done(chunk(2, 1), chunk(2, 3))
    assert batch(staged, state_of(chunk(2, 2)), tells_versions=True) == ["0002-00001", "0002-00003"]
    assert batch(staged, state_of(chunk(2, 2)), tells_versions=False) == []
    assert batch(staged, landed=[chunk(1, 1)], tells_versions=False) == ["0002-00001", "0002-00003"]


def test_a_file_overlaps_with_another_version_of_itself_alone() -> None:
    old, new, changed = file(1, 1, "a.csv"), file(2, 1, "b.csv"), file(2, 2, "a.csv", "2")
    history = History.of(done(old, new, changed), frozenset())
    assert overlapping([new, changed], history) == {changed.key}
    assert batch(done(changed, new), landed=[old]) == ["0002-00001"]
    assert batch(done(changed), landed=[old, new]) == ["0002-00002"]


def test_where_the_order_of_reading_counts_a_chunk_waits_for_those_before_it() -> None:
    old, changed, new, last = file(1, 1, "a.csv"), file(2, 1, "a.csv", "2"), file(2, 2, "b.csv"), file(2, 3, "c.csv")
    assert batch(done(new, changed), landed=[old], in_order=True) == ["0002-00001", "0002-00002"]
    failed = state_of(new, ChunkStatus.FAILED)
    assert batch(done(changed, last), failed, landed=[old], in_order=True) == ["0002-00001"]
    assert batch(done(new, last), state_of(changed), landed=[old], in_order=True) == []
    assert batch(done(chunk(1, 100_000), chunk(1, 99_999)), in_order=True) == ["0001-99999", "0001-100000"]


def test_the_landed_rows_of_files_that_are_to_be_read_again_are_told() -> None:
    first, second, gone = file(1, 1, "a.csv"), file(1, 2, "b.csv"), file(1, 3, "c.csv")
    landed = landed_keys([first, second, gone])
    known = done(first, second, gone)

    def told(known: list[ChunkState], *surveyed: OneFile) -> list[str]:
        pieces = [Piece(one) for one in surveyed]
        return [state.chunk.key.chunk for state in landed_before(History.of(known, landed), pieces)]

    as_they_were = [OneFile("a.csv", "1"), OneFile("b.csv", "1")]
    assert told(known, *as_they_were, OneFile("d.csv", "1")) == []
    assert told(known, OneFile("a.csv", "2"), OneFile("b.csv", "1")) == ["0001-00001"]
    changed, rewound = file(2, 1, "b.csv", "2"), replace(first, key=replace(first.key, generation=2))
    assert told([*known, state_of(changed)]) == ["0001-00002"]
    assert told([*known, *done(changed)]) == [], "it has been read already"
    away = replace(state_of(rewound, ChunkStatus.DONE), seal=Seal("p", 0, 0, "f", gone=Gone.MISSING))
    assert told([*known, away], OneFile("a.csv", "1")) == ["0001-00001"], "it was away when it was to be read again"
    assert told([*known, state_of(rewound)]) == ["0001-00001"]
    anew = chunk(2, 1, Reading(OneFile("a.csv", "1"), replaces=True))
    assert told([*known, *done(anew)], OneFile("a.csv", "2")) == [], "what had landed before was replaced"


def test_a_version_that_was_gone_or_empty_is_no_version_to_overlap_with() -> None:
    gone, new = file(1, 1, "a.csv"), file(2, 1, "a.csv", "2")
    states = [replace(state_of(gone, ChunkStatus.DONE), seal=Seal("p", 0, 0, "f", gone=Gone.MISSING)), *done(new)]
    assert overlapping([new], History.of(states, landed_keys([gone]))) == set()


@pytest.mark.parametrize("version", ["2", "1"], ids=["changed", "moved away and back"])
def test_a_file_that_a_rewind_found_gone_overlaps_with_what_it_brought_before(version: str) -> None:
    landed, new = file(1, 1, "a.csv"), file(2, 1, "a.csv", version)
    gone = replace(landed, key=replace(landed.key, generation=2))
    states = [
        *done(landed),
        replace(state_of(gone, ChunkStatus.DONE), seal=Seal("p", 0, 0, "f", gone=Gone.MISSING)),
        *done(new),
    ]
    assert overlapping([new], History.of(states, landed_keys([landed, gone]))) == {new.key}


def test_the_refresh_is_in_the_predicate_and_survives_it() -> None:
    reading = Reading(WholeTable(), replaces=True)
    assert to_json(reading) != to_json(replace(reading, replaces=False))
