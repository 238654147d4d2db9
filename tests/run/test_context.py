"""What a run asks its services for is recorded where it makes the run wait."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from hakiri import errors
from hakiri.engine.errors import JavaMissing
from hakiri.run.events import SparkAwaited, SparkReady
from hakiri.run.journal import read_journal
from run.shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_start_of_spark_is_recorded_and_its_next_use_is_not(tmp_path: Path) -> None:
    sessions: list[str] = []

    def start() -> SparkSession:
        sessions.append("a session")
        return cast("SparkSession", sessions[0])

    with Shop(tmp_path / "shop").context() as context:
        services = replace(context.services, spark=start, has_spark=lambda: bool(sessions))
        waiting = replace(context, services=services)
        assert [waiting.spark(), waiting.spark()] == ["a session", "a session"]
    assert [type(event.body) for event in read_journal(context.journal.path)] == [SparkAwaited, SparkReady]


def test_a_spark_that_does_not_start_is_never_ready(tmp_path: Path) -> None:
    with Shop(tmp_path / "shop").context() as context:
        waiting = replace(context, services=replace(context.services, has_spark=lambda: False))
        with pytest.raises(JavaMissing):
            waiting.spark()
    assert [type(event.body) for event in read_journal(context.journal.path)] == [SparkAwaited]


def test_the_traceback_of_a_bug_is_kept_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_concealed", errors._Concealed())
    errors.conceal("hunter2-hunter2")
    with Shop(tmp_path / "shop").context() as context:
        log = context.as_bug(ValueError("no user hunter2-hunter2")).log
    assert log
    assert Path(log).read_text() == "ValueError: no user ***\n"
