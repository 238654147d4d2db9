"""What an operator of the simulation writes down: how its one table is read and landed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flow.life_sources import LANDED_TYPES, Feed, Kind, Odd, Row
from hakiri.extract.transform.compile import compile_source
from hakiri.extract.transform.read import write_transform

TRANSFORM = """\
import hakiri as hk
import polars as pl


@hk.pipeline("{pipeline}")
def life(df):
    return df.with_columns(pl.col("note").str.{verb}().alias("told"))
"""
VERBS: dict[str, Callable[[str], str]] = {"to_uppercase": str.upper, "to_lowercase": str.lower}
PLAN = "pipelines/life.transforms.json"


@dataclass
class Manifest:
    """The manifest of one pipeline."""

    kind: Kind
    pipeline: str = "life"
    hidden: frozenset[str] = frozenset()
    """Columns that it does not select."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Old names by new ones."""
    verb: str = ""
    """What its transform does, where it has one."""

    def write(self, root: Path, source: Any) -> None:
        """Put it into the project, with the plan of its transform."""
        (root / "pipelines").mkdir(exist_ok=True)
        (root / "pipelines/life.toml").write_text(self._text(source), encoding="utf-8")
        if self.verb:
            (root / PLAN).write_bytes(compiled(self.verb, self.pipeline))

    def shaped(self, row: Row) -> Row:
        """What becomes of a row as it is read."""
        found = {name: None if isinstance(value, Odd) else value for name, value in row.items()}
        found = {name: value for name, value in found.items() if name not in self.hidden}
        return found | ({"told": VERBS[self.verb](row["note"])} if self.verb else {})

    def _text(self, source: Any) -> str:
        kind = self.kind
        load = {
            "incremental_watermark": f', watermark_column = "{kind.cursor_column}"',
            "cdc_mirror": ', upsert_key = "id", sequence_by = "lsn"',
        }.get(kind.mode, "")
        connector = "files" if kind.is_of_files else kind.source
        lines = [
            f'id = "{self.pipeline}"',
            f'source = {{ connector = "{connector}", config = {{ {source.address()} }} }}',
            'secrets = ["LIFE_DSN"]' if kind.source == "postgres" else "",
            f"tables = [{{ {', '.join(self._table(source))} }}]",
            f'load = {{ mode = "{kind.mode}"{load} }}',
            f'transforms = ["{PLAN}"]' if self.verb else "",
        ]
        if kind.cursor and kind.mode != "incremental_watermark":
            lag = f', lag = "{kind.lag}s"' if kind.lag else ""
            lines.append(f'incremental = {{ column = "{kind.cursor}"{lag} }}')
        return "\n".join(lines) + "\n"

    def _table(self, source: Any) -> list[str]:
        kind, is_feed = self.kind, isinstance(source, Feed)
        parts = [f'name = "{source.table}"']
        if kind.has_key and kind.names_key:
            parts.append(f"primary_key = [{', '.join(map(_quoted, kind.key))}]")
        if kind.source == "csv" or self.hidden or is_feed:
            names = [one for one in source.selectable() if one not in self.hidden]
            is_typed = kind.source == "csv" or (kind.is_of_files and is_feed)
            parts.append(f"columns = [{', '.join(_column(name, is_typed) for name in names)}]")
        if self.renamed:
            pairs = (f"{new} = {_quoted(old)}" for new, old in self.renamed.items())
            parts.append(f"renamed = {{ {', '.join(pairs)} }}")
        return parts


@cache
def compiled(verb: str, pipeline: str) -> bytes:
    """The plan of the transform."""
    with TemporaryDirectory() as folder:
        source = Path(folder) / "life.py"
        source.write_text(TRANSFORM.format(verb=verb, pipeline=pipeline), encoding="utf-8")
        [one] = compile_source(source, shown="life.py")
    return write_transform(one.transform)


def _quoted(text: str) -> str:
    return f'"{text}"'


def _column(name: str, is_typed: bool) -> str:
    return f'{{ name = "{name}", type = "{LANDED_TYPES.get(name, "string")}" }}' if is_typed else _quoted(name)
