"""The one line of Spark's errors that a person reads holds no stack, no Java class and no secret."""

from __future__ import annotations

import pytest

from hakiri import errors
from hakiri.model.session import MAX_REASON, first_line

STACK = "\n\tat org.apache.spark.sql.errors.Failing.fail(Failing.scala:883)\n\t... 12 more\n"
CALL = "An error occurred while calling o141.collect.\n: org.apache.spark.SparkException: "
FULL = "No space left on device"
FILE = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///x.parquet. SQLSTATE: KD001"
JOB = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: "
    "Lost task 0.0 in stage 3.0 (TID 3) (10.0.0.7 executor driver): java.io.IOException: No space left on device"
)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (f"{CALL}{FILE}{STACK}", FILE),
        (
            f"An error occurred while calling o1.x.\n: org.apache.spark.SparkException: {JOB}{STACK}",
            "No space left on device",
        ),
        (f"{JOB} at java.base/sun.nio.ch.Util.write(Util.java:12) at x.Y.z(Unknown Source)", FULL),
        (f"{JOB}\n\nDriver stacktrace:{STACK}", FULL),
        ("(org.apache.spark.SparkException) closed\n\nJVM stacktrace:", "(org.apache.spark.SparkException) closed"),
        ("meet at noon (or later)", "meet at noon (or later)"),
        ("", "it gave no reason"),
    ],
)
def test_a_line_is_what_the_failing_system_says(said: str, line: str) -> None:
    assert first_line(RuntimeError(said)) == line


def test_a_secret_is_masked_before_the_line_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_concealed", errors._Concealed())
    errors.conceal("correct-horse-battery")
    assert "corr" not in first_line(RuntimeError("x" * (MAX_REASON - 5) + "correct-horse-battery"))
