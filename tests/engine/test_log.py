"""Log files are one per process, few, and private."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hakiri import errors
from hakiri.engine.log import KEPT_FILES, _Masked, open_log


class Stopped:
    """A clock that shows one time."""

    def now(self) -> datetime:
        return datetime(2026, 11, 16, 3, 40, tzinfo=UTC)

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"nothing here sleeps, not even {seconds} seconds")


def test_a_log_file_is_named_after_its_time_and_process_and_is_for_its_owner(tmp_path: Path) -> None:
    log = open_log(tmp_path / "logs", verbose=False, clock=Stopped())
    os.close(log.descriptor)
    assert log.path == tmp_path / "logs" / f"engine-20261116T034000-{os.getpid()}.log"
    assert log.path.stat().st_mode & 0o077 == 0


def test_only_the_newest_logs_are_kept(tmp_path: Path) -> None:
    for day in range(1, 29):
        (tmp_path / f"engine-202610{day:02}T000000-1.log").touch()
    (tmp_path / "mine.log").touch()
    log = open_log(tmp_path, verbose=False, clock=Stopped())
    os.close(log.descriptor)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert len(left) == KEPT_FILES + 1
    assert left[-2:] == [log.path.name, "mine.log"]
    assert left[0] == "engine-20261010T000000-1.log"


def test_a_line_of_a_log_has_no_secret_in_its_message_or_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_concealed", errors._Concealed())
    errors.conceal("hunter2-hunter2")
    wrong = ValueError("no user hunter2-hunter2")
    record = logging.LogRecord("py4j", logging.ERROR, "", 1, "at %s", ("hunter2-hunter2",), (ValueError, wrong, None))
    line = _Masked("%(message)s").format(record)
    assert line == "at ***\nValueError: no user ***"
