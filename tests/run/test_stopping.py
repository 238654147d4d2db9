"""A stop is heard by every thread, and by every task that can see the table's folder."""

from __future__ import annotations

from pathlib import Path

from clocks import ManualClock
from hakiri.run.stop import Stop, StopSign
from hakiri.stage.local import LocalFiles


def test_a_wait_ends_with_its_time_or_with_the_stop(clock: ManualClock) -> None:
    stop, started = Stop(), clock.now()
    assert not stop.wait(5, clock)
    assert (clock.now() - started).total_seconds() >= 4.9
    stop.ask()
    stop.ask()
    later = clock.now()
    assert stop.wait(5, clock)
    assert clock.now() == later


def test_the_sign_is_seen_by_who_has_the_files_and_leaves_nothing(tmp_path: Path) -> None:
    sign = StopSign(LocalFiles(tmp_path), "run-1")
    assert not sign.is_up()
    sign.put_up()
    sign.put_up()
    assert StopSign(LocalFiles(tmp_path), "run-1").is_up()
    assert not StopSign(LocalFiles(tmp_path), "run-2").is_up()
    (tmp_path / "data/runs/run-1/node").mkdir()
    sign.take_down()
    assert [path.name for path in (tmp_path / "data/runs/run-1").iterdir()] == ["node"]
    (tmp_path / "data/runs/run-1/node").rmdir()
    sign.take_down()
    assert list((tmp_path / "data/runs").iterdir()) == []
