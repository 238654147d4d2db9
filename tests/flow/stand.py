"""A small project with real sources, applied as a user applies it, and what an independent look finds in its tables."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from deltalake import DeltaTable

from hakiri import wiring
from hakiri.catalog.port import Catalog
from hakiri.extract.connectors.port import Connector
from hakiri.model.staged import PROVENANCE
from hakiri.run.apply import apply
from hakiri.run.journal import Event
from hakiri.run.pipeline import RunOptions, RunResult
from hakiri.run.query import query
from hakiri.run.stop import Stop
from hakiri.settings import Settings
from hakiri.spec.read import Project

Rows = Counter[tuple[Any, ...]]


@dataclass
class Stand:
    """A project in a folder."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        return Settings(cwd=self.root, project=self.root, environment=self.environment)

    def project(self) -> Project:
        return wiring.workplace(self.settings).read()

    def apply(
        self,
        *names: str,
        options: RunOptions | None = None,
        sources: Mapping[str, Connector] | None = None,
        stop: Stop | None = None,
        **services: Any,
    ) -> dict[str, RunResult]:
        """What `hakiri apply` does, with the results by pipeline."""
        project = self.project()
        self.events.clear()
        with wiring.services(self.settings, project) as parts:
            if sources is not None:
                services["connector"] = lambda spec: sources[spec.id]
            done = apply(
                replace(parts, **services),
                [project.pipelines[name].spec for name in names or project.pipelines],
                options=options or RunOptions(),
                stop=stop or Stop(),
                listener=self.events.append,
            )
        return {result.pipeline: result for result in done.runs}

    def ask(self, question: Callable[[Catalog], Any]) -> Any:
        """What the catalog says."""
        with wiring.existing_catalog(self.settings, self.project()) as catalog:
            assert catalog is not None
            return question(catalog)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """What `hakiri sql` answers."""
        project = self.project()
        answer = query(
            text,
            project,
            place=partial(wiring.place, project),
            target=partial(wiring.target, project),
            catalog=partial(wiring.existing_catalog, self.settings, project),
            ask=partial(wiring.ask, self.settings, project),
        )
        return [tuple(row) for row in answer.rows]

    def folder(self, table: str) -> Path:
        return self.root / ".hakiri/context/tables" / table

    def landed(self, table: str) -> Rows:
        """The rows of a landed table without their provenance, read by another engine than the one that wrote them."""
        frame = pl.read_delta(str(self.folder(table)))
        assert set(PROVENANCE) <= set(frame.columns)
        return Counter(frame.drop(*PROVENANCE).rows())

    def version(self, table: str) -> int:
        return DeltaTable(self.folder(table)).version()


def source_rows(database: Path, query: str) -> Rows:
    with closing(sqlite3.connect(database)) as connection:
        return Counter(tuple(row) for row in connection.execute(query))


def change(database: Path, *statements: str, many: Iterable[tuple[str, list[tuple[Any, ...]]]] = ()) -> None:
    """Change a SQLite database, as its own application would."""
    with closing(sqlite3.connect(database)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
        for statement, rows in many:
            connection.executemany(statement, rows)
