"""A lost catalog is written again from the tables' logs, and a catalog that disagrees with them is left alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, QueryBuilder, Transaction, write_deltalake

from hakiri.land.stamp import Stamp, app_id, to_text
from hakiri.model.chunk import ChunkKey, ChunkStatus, TableKey
from hakiri.model.ledger import Landing, LandingStatus, Phase
from hakiri.model.staged import Tally
from hakiri.run.errors import CatalogDisagrees
from hakiri.run.rebuild import Restored, rebuild
from run.rounds import TABLE, Rounds


@pytest.fixture
def rounds(tmp_path: Path) -> Rounds:
    return Rounds(tmp_path)


def restore(rounds: Rounds, *, is_rehearsal: bool = False) -> Restored:
    with rounds.services() as parts:
        (done,) = rebuild(parts, [rounds.spec], is_rehearsal=is_rehearsal)
    return done


def ids(table: Path) -> list[int]:
    found = QueryBuilder().register("t", DeltaTable(table)).execute("SELECT id FROM t ORDER BY id").read_all()
    return [value.as_py() for value in found.column("id")]


def test_files_that_have_landed_are_not_read_again_and_those_that_have_not_are(rounds: Rounds) -> None:
    for name in ("a", "b", "c"):
        rounds.put(name, "1", "1")  # equal rows, in one file and in several, are all meant
    assert len(rounds.carry_out(lands=2)) == 3
    assert ids(rounds.table) == [1] * 4, "the third chunk is staged and has not landed"
    rounds.lose_catalog()
    assert restore(rounds).landings == (1,)
    rounds.put("d", "1")
    assert rounds.carry_out() == ["0002-00001", "0002-00002"]
    assert ids(rounds.table) == [1] * 7
    assert rounds.carry_out() == []


def test_everything_that_the_log_tells_is_in_the_catalog_again(rounds: Rounds) -> None:
    rounds.put("a", "1")
    rounds.carry_out()
    rounds.put("b", "2")
    rounds.carry_out()
    with rounds.services() as parts:
        before = parts.catalog.landings(TABLE)
        chunks = [(state.chunk.key, state.chunk.predicate) for state in parts.catalog.chunks(TABLE)]
    rounds.lose_catalog()
    assert restore(rounds, is_rehearsal=True).landings == (1, 2)
    with rounds.services() as parts:
        assert parts.catalog.landings(TABLE) == ()
        rebuild(parts, [rounds.spec])
        after = parts.catalog.landings(TABLE)
        told = [(one.number, one.version, one.chunks, one.status) for one in after]
        assert told == [(one.number, one.version, one.chunks, one.status) for one in before]
        states = parts.catalog.chunks(TABLE)
        assert [(state.chunk.key, state.chunk.predicate) for state in states] == chunks
        assert {state.status for state in states} == {ChunkStatus.DONE}
        assert [snapshot.version for snapshot in parts.catalog.snapshots(TABLE)] == [0, 1]
        assert len(parts.catalog.schemas(TABLE)) == 1
        (pipeline,) = parts.catalog.pipelines()
        assert pipeline.phase is Phase.STREAMING
        assert rebuild(parts, [rounds.spec]) == [Restored(table=TABLE, known=2)], "a repeat changes nothing"
        assert parts.catalog.landings(TABLE) == after


def test_a_rebuild_that_was_cut_short_is_ended_by_the_next(rounds: Rounds) -> None:
    for name in ("a", "b", "c"):
        rounds.put(name, "1")
        rounds.carry_out()
    with rounds.services() as parts:
        first = parts.catalog.landings(TABLE)[0]
    rounds.lose_catalog()
    with rounds.services() as parts:
        parts.catalog.restore_landing(first)
    assert restore(rounds) == Restored(table=TABLE, landings=(2, 3), known=1)
    assert rounds.carry_out() == []


def set_aside(rounds: Rounds, beside: str) -> None:
    """Let landing 2 have left rows in a table beside this one, and none in it."""
    aside = TableKey("shop", f"orders/{beside}")
    stamp = Stamp(app_id=app_id("test", aside), table=aside, number=2, chunks=(), runs=(), cursor="")
    write_deltalake(
        str(rounds.table.with_name(f"orders_{beside}")),
        pa.table({"reason": ["bad"]}),
        commit_properties=CommitProperties(
            app_transactions=[Transaction(stamp.app_id, 2)], custom_metadata={"userMetadata": to_text(stamp, Tally())}
        ),
    )


def test_a_landing_that_left_nothing_but_quarantined_rows_is_what_the_catalog_knows_it_for(rounds: Rounds) -> None:
    rounds.put("a", "1")
    rounds.carry_out()
    set_aside(rounds, "quarantine")
    chunk = ChunkKey("shop", "orders", "0002-00001")
    with rounds.services() as parts:
        parts.catalog.restore_landing(Landing(TABLE, 2, (chunk,), LandingStatus.LANDED, version=0))
    assert restore(rounds) == Restored(table=TABLE, known=2)


@pytest.mark.parametrize("beside", ["quarantine", "tombstones"])
def test_a_number_that_only_a_table_beside_carries_is_not_used_again(rounds: Rounds, beside: str) -> None:
    """A landing whose rows were all set aside, or that was cut off after its tombstones, leaves none in the table."""
    rounds.put("a", "1")
    rounds.carry_out()
    set_aside(rounds, beside)
    rounds.lose_catalog()
    assert restore(rounds).landings == (1, 2)
    rounds.put("b", "2")
    rounds.carry_out()
    assert ids(rounds.table) == [1, 2]
    with rounds.services() as parts:
        assert [(one.number, one.version) for one in parts.catalog.landings(TABLE)] == [(1, 0), (2, 0), (3, 1)]


def test_files_of_which_nobody_knows_whether_they_landed_are_not_guessed(rounds: Rounds) -> None:
    rounds.writes_predicates = False
    rounds.put("a", "1")
    rounds.carry_out()
    assert restore(rounds).error is None, "a catalog that was not lost knows them"
    rounds.lose_catalog()
    refused = restore(rounds)
    assert isinstance(refused.error, CatalogDisagrees)
    assert "which files have landed" in str(refused.error)
    with rounds.services() as parts:
        assert (parts.catalog.landings(TABLE), parts.catalog.pipelines()) == ((), ())


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (
            Landing(TABLE, 1, (ChunkKey("shop", "orders", "other"),), LandingStatus.LANDED, version=0),
            "another landing 1",
        ),
        (Landing(TABLE, 7, (), LandingStatus.LANDED, version=9), "knows of landing 7"),
    ],
)
def test_a_catalog_that_knows_other_landings_is_left_as_it_is(rounds: Rounds, known: Landing, reason: str) -> None:
    rounds.put("a", "1")
    rounds.carry_out()
    rounds.lose_catalog()
    with rounds.services() as parts:
        parts.catalog.restore_landing(known)
        (refused,) = rebuild(parts, [rounds.spec])
        assert isinstance(refused.error, CatalogDisagrees)
        assert reason in str(refused.error)
        assert [one.number for one in parts.catalog.landings(TABLE)] == [known.number]


def test_a_table_that_never_landed_has_nothing_to_restore(rounds: Rounds) -> None:
    assert restore(rounds) == Restored(table=TABLE)
