"""A journal tells what happened, in order, also after a crash."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from clocks import ManualClock
from hakiri.errors import conceal
from hakiri.model.errors import NotWritable
from hakiri.run.journal import Event, EventKind, Journal, journal_path, read_journal


def write_two(folder: Path, clock: ManualClock) -> list[Event]:
    heard: list[Event] = []
    with Journal(folder, run="r1", pipeline="shop", clock=clock, listener=heard.append) as journal:
        journal.record(EventKind.RUN_STARTED, node="n")
        clock.advance(2)
        journal.record(EventKind.CHUNK_STAGED, table="orders", chunk="0001-00001", attempt=1, rows=7, seconds=1.5)
    return heard


def test_what_was_recorded_is_read_back_and_was_heard(tmp_path: Path) -> None:
    clock = ManualClock()
    started = clock.now()
    heard = write_two(tmp_path / "journal", clock)
    assert list(read_journal(journal_path(tmp_path / "journal", "r1"))) == heard
    assert [event.at - started for event in heard] == [timedelta(0), timedelta(seconds=2)]
    assert heard[1].facts["rows"] == 7


def test_a_line_that_a_crash_cut_off_is_left_out_and_the_next_run_goes_on(tmp_path: Path) -> None:
    write_two(tmp_path, ManualClock())
    path = journal_path(tmp_path, "r1")
    path.write_bytes(path.read_bytes()[:-20])
    assert [event.kind for event in read_journal(path)] == [EventKind.RUN_STARTED]


def test_an_event_is_durable_before_anyone_hears_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: order.append("synced"))
    with Journal(tmp_path, run="r", pipeline="p", clock=ManualClock(), listener=lambda _: order.append("heard")) as one:
        order.clear()
        one.record(EventKind.STOPPING, reason="Ctrl-C")
    assert order == ["synced", "heard"]


def test_a_secret_is_not_written(tmp_path: Path) -> None:
    conceal("hunter2-hunter2")
    with Journal(tmp_path, run="r", pipeline="p", clock=ManualClock()) as journal:
        journal.record(EventKind.RETRYING, what="survey", message="login with hunter2-hunter2 failed")
    assert "hunter2" not in journal.path.read_text()


def test_a_folder_that_takes_no_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritable):
        Journal(tmp_path / "file" / "journal", run="r", pipeline="p", clock=ManualClock())
