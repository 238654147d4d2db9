"""A boundary that is asked for stops the process, and any other text is refused."""

from __future__ import annotations

import pytest

from hakiri.model.crash_points import Boundary, CrashPoint, passing, read_crash_point


def test_without_a_request_nothing_stops() -> None:
    for boundary in Boundary:
        passing(boundary)


@pytest.mark.parametrize(
    ("text", "stop"),
    [("", None), ("sealed", CrashPoint(Boundary.SEALED)), ("batch_written:3", CrashPoint(Boundary.BATCH_WRITTEN, 3))],
)
def test_a_stop_is_read_from_text(text: str, stop: CrashPoint | None) -> None:
    assert read_crash_point(text) == stop


@pytest.mark.parametrize("text", ["seal", "sealed:x", "sealed:0", ":1"])
def test_a_stop_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"sealed|seal|Boundary|int|from 1"):
        read_crash_point(text)
