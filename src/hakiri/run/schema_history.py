"""The versions of a table's schema history: columns and key, who decided them, in which run and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from hakiri.catalog.port import Catalog
from hakiri.land.decide.same_rows import Shape
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import SchemaVersion
from hakiri.model.types import Struct
from hakiri.model.types.delta import from_delta, to_delta
from hakiri.plan.facts import ColumnFact

_OPTIONAL = (
    "accepted",
    "renamed",
    "dropped",
    "partition_by",
    "by",
    "run",
    "reason",
    "transform",
    "older_transforms",
    "mode",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDecision:
    """One version of the history."""

    columns: Struct
    key: tuple[str, ...] = ()
    accepted: Mapping[str, str] = field(default_factory=dict)
    """Columns that a person lets come in other types than the table's, with those types."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Columns that have another name since this version, with their old ones."""
    dropped: Sequence[str] = ()
    """Columns that the source no longer has; the table keeps them."""
    partition_by: Sequence[str] = ()
    shapes: tuple[Shape, ...] = ()
    """The columns that the table's rows were read with, oldest first; none where that is not known."""
    transform: str = ""
    """The digest of the transform that the rows went through; NO_TRANSFORM for none, empty where it is not known."""
    older_transforms: Sequence[str] = ()
    """The digests of others, which rows may have gone through that landed before."""
    mode: str = ""
    """The load mode that the table was landed by last; empty where it is not known."""
    by: str = ""
    run: str = ""
    reason: str = ""

    @classmethod
    def from_text(cls, text: str) -> Self:
        told = json.loads(text)
        return cls(
            columns=from_delta(told["columns"]),
            key=tuple(told["key"]),
            shapes=tuple(_shape(one) for one in told.get("shapes", ())),
            **{name: told[name] for name in _OPTIONAL if name in told},
        )

    @classmethod
    def of(cls, version: SchemaVersion | None) -> Self | None:
        """Return the decision of this version; None for None."""
        return cls.from_text(version.schema_json) if version else None

    def to_text(self) -> str:
        told = {"columns": to_delta(self.columns), "key": list(self.key)}
        told |= {name: value for name in _OPTIONAL if (value := getattr(self, name))}
        if self.shapes:
            told["shapes"] = [_plain(one) for one in self.shapes]
        return json.dumps(told, sort_keys=True, ensure_ascii=False)

    def is_like(self, other: SchemaDecision) -> bool:
        """Return whether a landing would decide the same; who decided it, in which run and why does not count."""
        return self._decided == other._decided

    @property
    def _decided(self) -> tuple[object, ...]:
        return (
            self.columns,
            self.key,
            tuple(self.partition_by),
            tuple(self.dropped),
            self.shapes,
            self.transform,
            tuple(self.older_transforms),
            self.mode,
        )

    @property
    def has_landed(self) -> bool:
        """Whether the table had columns then; before its first landing types may be accepted already."""
        return bool(self.columns.fields)

    @property
    def facts(self) -> tuple[ColumnFact, ...]:
        """The columns as plans know them."""
        return tuple(ColumnFact(one.name, one.type) for one in self.columns.fields)


def _plain(shape: Shape) -> dict[str, Any]:
    told = {"columns": to_delta(shape.columns), "since": shape.since and shape.since.isoformat()}
    return told | ({"assumed": True} if shape.is_assumed else {})


def _shape(told: Mapping[str, Any]) -> Shape:
    since = told["since"]
    return Shape(
        from_delta(told["columns"]),
        datetime.fromisoformat(since) if since else None,
        is_assumed=bool(told.get("assumed")),
    )


def last_schema_decision(catalog: Catalog, table: TableKey) -> SchemaDecision | None:
    """Return what is in force; None before anything has landed or was accepted."""
    return SchemaDecision.of(catalog.latest_schema(table))
