"""Events, amounts and spans of time in the words a person reads."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import assert_never

from hakiri.run.journal import Event, EventKind, Fact


def describe_event(event: Event) -> str:  # noqa: C901 one case for each kind
    """One event in one line, without its time and its pipeline."""
    said = event.facts.get
    match event.kind:
        case EventKind.RUN_STARTED:
            return f"run {event.run} started on {said('node')}"
        case EventKind.STAGE_ENDED:
            failed = f" failed with {said('code')}" if said("code") else ""
            return f"stage {said('stage')}{failed}{_took(event)}"
        case EventKind.PLANNED:
            return f"{said('table')}: planned, {count_of(said('open'), 'chunk')} to do{_new(event)}{_lacking(event)}"
        case EventKind.PHASE_MOVED:
            return f"{said('before')} -> {said('after')}"
        case EventKind.CHUNK_CLAIMED:
            return f"{_chunk(event)} begun"
        case EventKind.CHUNK_STAGED:
            return f"{_chunk(event)} staged, {count_of(said('rows'), 'row')}{_aside(event)}{_took(event)}"
        case EventKind.CHUNK_NOTED:
            return f"{_chunk(event)}: {said('message')}"
        case EventKind.CHUNK_FAILED:
            return f"{_chunk(event)} {_after_failure(event)}: {_error(event)}"
        case EventKind.CHUNK_RELEASED:
            return f"{_chunk(event)} given back: {said('reason')}"
        case EventKind.CHUNK_LOST:
            return f"{_chunk(event)} is with another worker now"
        case EventKind.LANDING_RESERVED:
            return f"{said('table')}: landing {said('number')} reserved, {count_of(said('chunks'), 'chunk')}"
        case EventKind.LANDED:
            landing = f"{said('table')}: landing {said('number')} {said('outcome')} as version {said('version')}"
            return f"{landing}, {count_of(said('rows'), 'row')}{_unmarked(event)}{_aside(event)}{_took(event)}"
        case EventKind.CURSOR_MOVED:
            return f"{said('table')}: cursor moved by landing {said('landing')}"
        case EventKind.HOOK_CALLED:
            return f"{_hook(event)} called ({said('type')}){_took(event)}"
        case EventKind.HOOK_FAILED:
            return f"{_hook(event)} failed: {_error(event)}"
        case EventKind.TABLE_FAILED:
            return f"{said('table')}: failed: {_error(event)}"
        case EventKind.VIEW_CHANGED:
            return f"view {said('view')}: {DONE.get(str(said('change')), said('change'))}"
        case EventKind.VIEW_FAILED:
            return f"view {said('view')}: failed: {_error(event)}"
        case EventKind.RETRYING:
            return f"{said('what')}: again in {span(said('retry_in_seconds'))}: {_error(event)}"
        case EventKind.STOPPING:
            return f"stopping: {said('reason')}"
        case EventKind.RUN_ENDED:
            error = f": {said('error')}" if said("error") else ""
            return f"run {event.run} {said('status')}, {count_of(said('rows'), 'row')}{error}"
        case _:
            assert_never(event.kind)


def at(moment: datetime) -> str:
    """The moment to the second, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def span(seconds: Fact) -> str:
    """So many seconds as people say it: `0.4s`, `42s`, `3m 05s`, `2h 10m`, `4d 03h`."""
    if not isinstance(seconds, int | float):
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
    """A number with its thousands apart; a dash where there is none."""
    return "-" if number is None else f"{number:,.0f}"


def size(count: float | None) -> str:
    """So many bytes, in the unit that fits."""
    if count is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < _KIB:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= _KIB
    return f"{count:.1f} TiB"


DONE = {"create": "created", "replace": "replaced", "drop": "dropped"}
"""What has become of a view, by what there was to do about it."""

_KIB = 1024
_TEN, _MINUTE = 9.95, 60
_UNITS = (("d", 86_400, "h", 3_600), ("h", 3_600, "m", 60), ("m", 60, "s", 1))


def count_of(count: Fact, noun: str) -> str:
    """So many of a thing, in words."""
    number = count if isinstance(count, int | float) else 0
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _chunk(event: Event) -> str:
    attempt = event.facts.get("attempt")
    again = f" (attempt {attempt})" if isinstance(attempt, int) and attempt > 1 else ""
    return f"{event.facts.get('table')}: chunk {event.facts.get('chunk')}{again}"


def _hook(event: Event) -> str:
    return f"{event.facts.get('table')}: {event.facts.get('hook')} for landing {event.facts.get('number')}"


def _new(event: Event) -> str:
    return f", {new:,} of them new" if isinstance(new := event.facts.get("new"), int) and new else ""


def _lacking(event: Event) -> str:
    return f", about {count_of(rows, 'row')}" if (rows := event.facts.get("rows")) is not None else ""


def _unmarked(event: Event) -> str:
    unmarked = event.facts.get("unmarked")
    return f" ({unmarked:,} without a watermark)" if unmarked else ""


def _aside(event: Event) -> str:
    """What happened to rows that were not taken, as far as there are any."""
    kinds = ("quarantined", "filtered", "merged", "added", "deduplicated")
    return "".join(f", {event.facts[kind]:,} {kind}" for kind in kinds if event.facts.get(kind))


def _took(event: Event) -> str:
    seconds = event.facts.get("seconds")
    return f" in {span(seconds)}" if isinstance(seconds, int | float) else ""


def _after_failure(event: Event) -> str:
    wait = event.facts.get("retry_in_seconds")
    if event.facts.get("status") == "failed":
        return "failed for good"
    return f"failed, again in {span(wait)}" if isinstance(wait, int | float) else "failed, to be tried again"


def _error(event: Event) -> str:
    code, message = event.facts.get("code"), event.facts.get("message")
    return f"{message} [{code}]" if code else f"{message}"
