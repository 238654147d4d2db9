"""Seal plans: a digest for each fact, so that a sealed plan is applied only if no fact has changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from hakiri.errors import masked
from hakiri.model import span as spans
from hakiri.model.key import KeyValue, to_plain
from hakiri.model.source import Survey
from hakiri.model.types.text import shown_type
from hakiri.plan.document import VERSION, to_document
from hakiri.plan.errors import PlanMoved, PlanUnreadable
from hakiri.plan.facts import PipelineFacts, TableFacts
from hakiri.plan.modes import watermark_of
from hakiri.plan.plan import Plan
from hakiri.plan.views import ViewFacts

_MANIFEST = "manifest of "
_VIEWS = "views"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Digests of the facts of a plan, by a readable name for each."""

    parts: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        """Return one digest of all facts."""
        return _digest(dict(self.parts))

    @property
    def pipelines(self) -> tuple[str, ...]:
        """Return the pipelines of the plan."""
        return tuple(name.partition("`")[2].rstrip("`") for name, _ in self.parts if name.startswith(_MANIFEST))

    @property
    def views(self) -> Fingerprint:
        """Return the digests for the plan of views."""
        return Fingerprint(tuple(part for part in self.parts if part[0] == _VIEWS))

    def of(self, pipeline: str) -> Fingerprint:
        """Return the digests for the plan of one pipeline."""
        return Fingerprint(tuple(part for part in self.parts if f"`{pipeline}`" == _owner(part[0])))


def fingerprint(pipelines: Iterable[PipelineFacts]) -> Fingerprint:
    """Digest manifests, cursors, schemas and source bounds; the same facts give the same digests in any process."""
    ordered = sorted(pipelines, key=lambda facts: facts.spec.id)
    return Fingerprint(tuple((name, _digest(plain)) for facts in ordered for name, plain in _parts(facts)))


def fingerprint_views(facts: ViewFacts) -> Fingerprint:
    """Digest the project's view definitions and those that were applied; nothing if there are neither."""
    wanted, made = {view.name: view.text for view in facts.wanted}, facts.made or {}
    if not wanted and not made:
        return Fingerprint(())
    known = {name: [one.view.text, one.address, one.is_whole] for name, one in made.items()}
    return Fingerprint(((_VIEWS, _digest([wanted, known])),))


def seal_plan(plan: Plan, pipelines: Iterable[PipelineFacts], views: ViewFacts | None = None) -> str:
    """Write the plan and its fingerprint as text. It contains digests of the facts, not the facts."""
    sealed = Fingerprint((*fingerprint(pipelines).parts, *fingerprint_views(views or ViewFacts()).parts))
    document = masked(to_document(plan))
    seal = {"fingerprint": sealed.digest, "parts": dict(sealed.parts), "plan": _digest(document)}
    return json.dumps({"version": VERSION, "plan": document, "seal": seal}, indent=2, ensure_ascii=False) + "\n"


def open_sealed(text: str) -> Fingerprint:
    """Parse the fingerprint of a sealed plan's file. Raises PlanUnreadable for any other or edited text."""
    match _loaded(text):
        case {"version": int(version)} if version != VERSION:
            raise PlanUnreadable(reason=f"it has version {version}, this release knows {VERSION}")
        case {
            "version": int(),
            "plan": dict(document),
            "seal": {"fingerprint": str(digest), "parts": dict(parts)} as seal,
        }:
            sealed = Fingerprint(tuple((name, str(part)) for name, part in parts.items()))
            if (sealed.digest, _digest(document)) != (digest, seal.get("plan")):
                raise PlanUnreadable(reason="it was changed after it was sealed")
            return sealed
        case _:
            raise PlanUnreadable(reason="it has no plan and seal in it")


def check_unmoved(sealed: Fingerprint, now: Fingerprint) -> None:
    """Check that no fact of the plan has changed. Raises PlanMoved, which names those that have."""
    before, after = dict(sealed.parts), dict(now.parts)
    moved = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    if moved:
        raise PlanMoved(moved=tuple(moved))


def _owner(part: str) -> str:
    return part.partition(" of ")[2].partition(".")[0]


def _parts(facts: PipelineFacts) -> Iterator[tuple[str, Any]]:
    pipeline = facts.spec.id
    yield f"{_MANIFEST}`{pipeline}`", facts.spec.model_dump(mode="json")
    for table in facts.tables:
        name = f"`{pipeline}`.`{table.spec.name}`"
        yield f"cursor of {name}", table.cursor and [table.cursor.value, table.cursor.landing]
        if watermark_of(facts.spec, table.spec, facts.cursor_kind):
            yield f"watermark of {name}", _value(table.watermark)
        yield f"schema of {name}", _schema(table)
        yield f"source bounds of {name}", table.survey and _bounds(table.survey)
        yield f"full refresh of {name}", table.is_full_refresh
        if table.transform:
            yield f"transform of {name}", table.transform.digest


def _schema(table: TableFacts) -> Any:
    columns = (table.columns, table.produced, table.landed_columns)
    plain = [
        None if one is None else [{"name": column.name, "type": shown_type(column.type)} for column in one]
        for one in columns
    ]
    return [*plain, list(table.primary_key), list(table.landed_key), dict(table.accepted)]


def _bounds(survey: Survey) -> Any:
    # Counts are left out, because estimates of the same rows may differ.
    pieces = [spans.to_json(piece.span) for piece in survey.pieces]
    return [_value(survey.low), _value(survey.high), pieces]


def _value(value: KeyValue | None) -> Any:
    # Not every bound is a key: NaN, which is not equal to itself, has no text.
    return value if value is None or value != value else to_plain(value)


def _digest(plain: Any) -> str:
    text = json.dumps(plain, separators=(",", ":"), sort_keys=True)
    return sha256(text.encode()).hexdigest()


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise PlanUnreadable(reason="it is not JSON") from cause
