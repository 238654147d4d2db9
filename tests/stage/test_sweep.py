"""A sweep removes what lost and is old, says so before and after, and nothing else."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hakiri.stage.layout import Attempt
from hakiri.stage.local import LocalFiles
from hakiri.stage.port import Files
from hakiri.stage.seal import verify
from hakiri.stage.sweep import Sweep, find_remnants, sweep
from hakiri.stage.writer import AttemptWriter
from stage.attempts import ATTEMPT, batch, stage

LOST = ATTEMPT
WON = replace(ATTEMPT, node="node-b", number=2)
DAY = timedelta(days=1)
NOW = datetime.now(UTC)
LATER = NOW + timedelta(days=7)


def folders(swept: Sweep) -> list[str]:
    return [remnant.folder for remnant in swept.removed]


def test_a_losing_attempt_goes_and_the_winner_stays(files: Files, tmp_path: Path) -> None:
    stage(files, LOST)
    won = stage(files, WON)
    swept = sweep(files, winning={won.folder}, now=LATER, retention=DAY)
    assert folders(swept) == [LOST.folder]
    verify(files, won)
    assert not (tmp_path / "orders/data/runs/run-1/node-a").exists()


def test_a_dry_run_tells_and_touches_nothing(files: Files) -> None:
    lost = stage(files, LOST)
    found = find_remnants(files, winning=set(), now=LATER, retention=DAY)
    (remnant,) = found.found
    assert (remnant.folder, remnant.files, found.removed) == (LOST.folder, 3, ())
    assert remnant.bytes > lost.files[0].bytes
    verify(files, lost)


def test_a_young_attempt_stays(files: Files) -> None:
    lost = stage(files, LOST)
    assert sweep(files, winning=set(), now=NOW + timedelta(hours=1), retention=DAY) == Sweep(())
    verify(files, lost)


def test_an_attempt_is_as_old_as_its_newest_file(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    with AttemptWriter(files, LOST) as writer:
        writer.accept(batch())
        writer.close()
        for path in [tmp_path / LOST.folder, tmp_path / LOST.part(0)]:
            os.utime(path, (0, 0))
        (tmp_path / LOST.quarantine(0)).touch()
        assert sweep(files, winning=set(), now=NOW + timedelta(hours=1), retention=DAY).found == ()


def test_an_attempt_that_was_written_to_meanwhile_stays(tmp_path: Path) -> None:
    class Busy(LocalFiles):
        """Someone writes between the look and the removal."""

        def remove(self, path: str) -> bool:
            second = self.root / replace(LOST, number=2).part(0)
            if second.exists():
                os.utime(second, (LATER.timestamp(), LATER.timestamp()))
            return LocalFiles.remove(self, path)

    files = Busy(tmp_path)
    stage(files, LOST)
    second = stage(files, replace(LOST, number=2))
    swept = sweep(files, winning=set(), now=LATER, retention=DAY)
    assert len(swept.found) == 2
    assert folders(swept) == [LOST.folder]
    verify(files, second)


def test_an_empty_attempt_folder_is_an_orphan_too(files: Files) -> None:
    AttemptWriter(files, LOST)
    assert folders(sweep(files, winning=set(), now=LATER, retention=DAY)) == [LOST.folder]


def test_a_second_sweep_has_nothing_to_do(files: Files) -> None:
    stage(files, LOST)
    sweep(files, winning=set(), now=LATER, retention=DAY)
    assert sweep(files, winning=set(), now=LATER, retention=DAY) == Sweep(())


def test_a_table_that_never_staged_anything_has_nothing_to_sweep(files: Files) -> None:
    assert sweep(files, winning=set(), now=LATER, retention=DAY) == Sweep(())


def test_files_of_others_are_not_touched(files: Files, tmp_path: Path) -> None:
    stage(files, LOST)
    strangers = [tmp_path / "orders" / name for name in ["data/part-1.parquet", "data/runs/note.txt", "_delta_log/0"]]
    for path in strangers:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not ours")
    sweep(files, winning=set(), now=LATER, retention=DAY)
    assert [path.read_text() for path in strangers] == ["not ours"] * 3


def test_a_writer_may_begin_where_a_sweep_removes(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    stage(files, LOST)
    assert folders(sweep(files, winning=set(), now=LATER, retention=DAY)) == [LOST.folder]
    fresh = Attempt(LOST.run, LOST.node, LOST.chunk, 2)
    verify(files, stage(files, fresh))


def test_a_sweep_needs_a_retention(files: Files) -> None:
    with pytest.raises(ValueError, match="retention"):
        sweep(files, winning=set(), now=NOW, retention=timedelta())
