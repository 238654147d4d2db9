"""A journal tells what happened, in order, also after a crash."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from clocks import ManualClock
from hakiri.errors import conceal
from hakiri.model.errors import NotWritable
from hakiri.run.events import ChunkStaged, Landed, Retrying, RunStarted, Stopping
from hakiri.run.journal import Event, Journal, from_line, journal_path, read_journal

OLD = Path(__file__).parents[2] / "fixtures/journals/v1.jsonl"
LINE = (
    '{"v": 2, "at": "2026-05-12T08:14:00.000000Z", "run": "r", "pipeline": "p", "event": "run_started", "node": "n1"}'
)


def write_two(folder: Path, clock: ManualClock) -> list[Event]:
    heard: list[Event] = []
    with Journal(folder, run="r1", pipeline="shop", clock=clock, listener=heard.append) as journal:
        journal.record(RunStarted(node="n"))
        clock.advance(2)
        journal.record(
            ChunkStaged(table="orders", chunk="0001-00001", attempt=1, read=7, rows=7, bytes=70, seconds=1.5)
        )
    return heard


def test_what_was_recorded_is_read_back_and_was_heard(tmp_path: Path) -> None:
    clock = ManualClock()
    started = clock.now()
    heard = write_two(tmp_path / "journal", clock)
    assert list(read_journal(journal_path(tmp_path / "journal", "r1"))) == heard
    assert [event.at - started for event in heard] == [timedelta(0), timedelta(seconds=2)]
    assert isinstance(heard[1].body, ChunkStaged)
    assert heard[1].body.rows == 7


def test_a_line_has_a_version_and_one_of_a_newer_release_is_left_out(tmp_path: Path) -> None:
    write_two(tmp_path, ManualClock())
    path = journal_path(tmp_path, "r1")
    first, second = path.read_text().splitlines()
    assert json.loads(first)["v"] == 2
    newer = second.replace('"v": 2', '"v": 3')
    path.write_text(f"{first}\n{newer}\n")
    assert [type(event.body) for event in read_journal(path)] == [RunStarted]


def test_the_journal_of_an_older_release_is_read_to_its_last_event() -> None:
    lines = OLD.read_text().splitlines()
    events = read_journal(OLD)
    assert [event.body.kind for event in events] == [json.loads(line)["event"] for line in lines]
    landed = next(event.body for event in events if isinstance(event.body, Landed))
    assert (landed.table, landed.number, landed.outcome, landed.rows) == ("orders", 1, "adopted", 3)


@pytest.mark.parametrize(
    "line",
    ["", "[]", '"run_started"', '{"at": "2026-05-12T08:14:00Z"}', LINE.replace("run_started", "was_never"),
     LINE.replace('"n1"', "7"), LINE.replace("2026-05-12", "soon"), LINE.replace('"v": 2', '"v": "two"')],
)  # fmt: skip
def test_a_line_that_is_no_event_is_left_out(line: str) -> None:
    assert from_line(LINE) is not None
    assert from_line(line) is None


def test_a_line_that_a_crash_cut_off_is_left_out(tmp_path: Path) -> None:
    write_two(tmp_path, ManualClock())
    path = journal_path(tmp_path, "r1")
    path.write_bytes(path.read_bytes()[:-20])
    assert [type(event.body) for event in read_journal(path)] == [RunStarted]


def test_an_event_is_durable_before_anyone_hears_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = journal_path(tmp_path, "r"), {}
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        sync(descriptor)
        file = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced[file] = file.read_text() if file.is_file() else ""

    monkeypatch.setattr(os, "fsync", fsync)
    durable: list[str] = []
    with Journal(
        tmp_path, run="r", pipeline="p", clock=ManualClock(), listener=lambda _: durable.append(synced[path])
    ) as journal:
        for reason in ("Ctrl-C", "again"):
            journal.record(Stopping(reason=reason))
    first, second = path.read_text().splitlines(keepends=True)
    assert durable == [first, first + second]


def test_a_secret_is_not_written(tmp_path: Path) -> None:
    conceal("hunter2-hunter2")
    with Journal(tmp_path, run="r", pipeline="p", clock=ManualClock()) as journal:
        journal.record(Retrying(what="survey", code="HK401", message="login with hunter2-hunter2 failed"))
    assert "hunter2" not in journal.path.read_text()


def test_a_folder_that_takes_no_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritable):
        Journal(tmp_path / "file" / "journal", run="r", pipeline="p", clock=ManualClock())
