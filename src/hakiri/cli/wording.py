"""Describe events, amounts and spans of time in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import assert_never

from hakiri.run.events import (
    Cautioned,
    ChunkClaimed,
    ChunkEvent,
    ChunkFailed,
    ChunkLost,
    ChunkNoted,
    ChunkReleased,
    ChunkStaged,
    CursorMoved,
    HookCalled,
    HookFailed,
    Landed,
    LandingReserved,
    PhaseMoved,
    Planned,
    Retrying,
    RunEnded,
    RunStarted,
    SparkAwaited,
    SparkReady,
    StageEnded,
    Stopping,
    TableFailed,
    ViewChanged,
    ViewFailed,
)
from hakiri.run.journal import Event


def describe_event(event: Event) -> str:  # noqa: C901 one case for each kind
    """Describe an event in one line, without its time and its pipeline."""
    match event.body:
        case RunStarted(node=node):
            return f"run {event.run} started on {node}"
        case StageEnded() as one:
            return f"stage {one.stage}{f' failed with {one.code}' if one.code else ''}{_took(one.seconds)}"
        case Planned() as one:
            return f"{one.table}: planned, {count_of(one.open, 'chunk')} to do{_new(one.new)}{_lacking(one.rows)}"
        case Cautioned() as one:
            return f"{one.table}: caution: {one.message}"
        case SparkAwaited():
            return "waiting for Spark"
        case SparkReady(seconds=seconds):
            return f"Spark is ready after {span(seconds)}"
        case PhaseMoved(before=before, after=after):
            return f"{before} -> {after}"
        case ChunkClaimed() as one:
            return f"{_chunk(one)} begun"
        case ChunkStaged() as one:
            waited = one.waited_seconds or 0.0
            wait = f" (waited {span(waited)} for a worker)" if waited >= 1 else ""
            return f"{_chunk(one)} staged, {count_of(one.rows, 'row')}{_not_staged(one)}{_took(one.seconds)}{wait}"
        case ChunkNoted() as one:
            return f"{_chunk(one)}: {one.message}"
        case ChunkFailed() as one:
            return f"{_chunk(one)} {_after_failure(one)}: {_error(one.code, one.message)}"
        case ChunkReleased() as one:
            return f"{_chunk(one)} given back: {one.reason}"
        case ChunkLost() as one:
            return f"{_chunk(one)} is with another worker now"
        case LandingReserved() as one:
            return f"{one.table}: landing {one.number} reserved, {count_of(one.chunks, 'chunk')}"
        case Landed() as one:
            landing = f"{one.table}: landing {one.number} {one.outcome}"
            landing += "" if one.version is None else f" as version {one.version}"
            unmarked = f" ({one.unmarked:,} without a watermark)" if one.unmarked else ""
            return f"{landing}, {count_of(one.rows, 'row')}{unmarked}{_not_staged(one)}{_took(one.seconds)}"
        case CursorMoved() as one:
            return f"{one.table}: cursor moved by landing {one.landing}"
        case HookCalled() as one:
            return f"{one.table}: {one.hook} for landing {one.number} called ({one.type}){_took(one.seconds)}"
        case HookFailed() as one:
            return f"{one.table}: {one.hook} for landing {one.number} failed: {_error(one.code, one.message)}"
        case TableFailed() as one:
            return f"{one.table}: failed: {_error(one.code, one.message)}"
        case ViewChanged() as one:
            return f"view {one.view}: {DONE.get(one.change, one.change)}"
        case ViewFailed() as one:
            return f"view {one.view}: failed: {_error(one.code, one.message)}"
        case Retrying() as one:
            return f"{one.what}: again in {span(one.retry_in_seconds)}: {_error(one.code, one.message)}"
        case Stopping(reason=reason):
            return f"stopping: {reason}"
        case RunEnded() as one:
            return f"run {event.run} {one.status}, {count_of(one.rows, 'row')}{f': {one.error}' if one.error else ''}"
        case _:
            assert_never(event.body)


def at(moment: datetime) -> str:
    """Return the moment to the second, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def span(seconds: float | None) -> str:
    """Return a span of time as people write it: `0.4s`, `42s`, `3m 05s`, `2h 10m`, `4d 03h`."""
    if seconds is None:
        return "-"
    if 0 < seconds < _TEN:
        return f"{seconds:.1f}s"
    seconds = round(seconds)
    if seconds < _MINUTE:
        return f"{seconds}s"
    for unit, size, part, smaller in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f}{unit} {seconds % size // smaller:02.0f}{part}"
    raise AssertionError("a minute is the smallest unit")


def amount(number: float | None) -> str:
    """Return a number with thousands separators; a dash where there is none."""
    return "-" if number is None else f"{number:,.0f}"


def size(count: float | None) -> str:
    """Return so many bytes in the unit that fits."""
    if count is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < _KIB:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= _KIB
    return f"{count:.1f} TiB"


DONE = {"create": "created", "replace": "replaced", "drop": "dropped"}
"""Past tense of each change of a view."""

_KIB = 1024
_TEN, _MINUTE = 9.95, 60
_UNITS = (("d", 86_400, "h", 3_600), ("h", 3_600, "m", 60), ("m", 60, "s", 1))


def count_of(number: int, noun: str) -> str:
    """Return so many of a thing in words: `1 row`, `1,200 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _chunk(one: ChunkEvent) -> str:
    again = f" (attempt {one.attempt})" if one.attempt > 1 else ""
    return f"{one.table}: chunk {one.chunk}{again}"


def _new(chunks: int) -> str:
    return f", {chunks:,} of them new" if chunks else ""


def _lacking(rows: int | None) -> str:
    return f", about {count_of(rows, 'row')}" if rows is not None else ""


def _not_staged(one: ChunkStaged | Landed) -> str:
    """List what became of rows that are not among those staged, where there are any."""
    kinds = ("quarantined", "filtered", "merged", "added", "deduplicated")
    return "".join(f", {count:,} {kind}" for kind in kinds if (count := getattr(one, kind, 0)))


def _took(seconds: float | None) -> str:
    return f" in {span(seconds)}" if seconds is not None else ""


def _after_failure(one: ChunkFailed) -> str:
    if one.status == "failed":
        return "failed for good"
    wait = one.retry_in_seconds
    return f"failed, again in {span(wait)}" if wait is not None else "failed, to be tried again"


def _error(code: str, message: str) -> str:
    return f"{message} [{code}]" if code else message
