"""Simulate the everyday life of a source: random events between applies, and an oracle of what each mode promises.

A history is a list of steps. Each step has a name and a seed of its own, and does what it can with what is there. So
any part of a history is a history as well, and one that fails can be cut down to the few steps that matter.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import polars as pl

from flow.life_history import AFTER_READING, BEFORE_READING, Step, dying
from flow.life_manifest import VERBS, Manifest
from flow.life_oracle import EXACT, FilesOracle, MirrorOracle, Oracle
from flow.life_sources import (
    LAG,
    ODD_TIMES,
    REPLACING,
    TYPES,
    Database,
    Feed,
    Files,
    Kind,
    Row,
    instant,
    renamed,
    seeded,
)
from flow.stand import Stand
from hakiri import wiring
from hakiri.model.chunk import TableKey
from hakiri.model.staged import PROVENANCE
from hakiri.run.adopt import adopt_tables
from hakiri.run.node import Node
from hakiri.run.pipeline import RunOptions
from hakiri.run.rewind import parse_window, rewind
from hakiri.run.schema import schema_accept, schema_diff
from hakiri.run.schema_history import last_schema_decision

START = datetime(2026, 1, 1, tzinfo=UTC)
BY_CONTENT = ("append", "incremental_watermark")
ODD_TEXTS = ("", "ä\u0301 \U0001f600", "a'b\"c`d", "${x}", "null", " ", "line\nline", "\\")
ODD_NUMBERS = (0, -1, 2**31 - 1, -(2**31))
ODD_DOUBLES = (float("inf"), float("-inf"), 1e300, -1e300)


class Difference(AssertionError):
    """The table is not what its mode promises."""


@dataclass
class Life:
    """One history: a source, its project, and the oracle beside them."""

    kind: Kind
    stand: Stand
    url: str = ""
    told: list[str] = field(default_factory=list)
    applies: int = 0
    is_unfinished: bool = False
    """Whether an apply was cut off, and no other has come since."""
    has_accepted: bool = False
    """Whether a narrower `n` was accepted."""
    renaming: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Declared renames, by old name, with the table's version then: they wait for its next landing."""
    is_mixed: bool = False
    """Whether landed rows have gone through different transforms."""

    def __post_init__(self) -> None:
        root = self.stand.root
        url = self.url if self.kind.source == "postgres" else ""
        self.source: Any
        self.oracle: Oracle
        if self.kind.mode == "cdc_mirror":
            self.source, self.oracle = Feed(self.kind, root, url), MirrorOracle(self.kind)
        elif self.kind.is_of_files:
            self.source, self.oracle = Files(self.kind, root), FilesOracle(self.kind)
        else:
            self.source, self.oracle = Database(self.kind, root, url), Oracle(self.kind)
        self.manifest = Manifest(self.kind)
        self.oracle.shaped = self.manifest.shaped
        self.numbers = count(1)
        self.now = 0
        self.columns = dict.fromkeys(TYPES)
        """Every column that has ever been landed."""
        self.stand.environment["LIFE_DSN"] = url

    def live(self, steps: Iterable[Step]) -> None:
        """Do every step. Raises Difference at the first apply after which the table is not what it should be."""
        self.insert(seeded(0))
        for step in steps:
            self.told.append(str(step))
            getattr(self, step.deed)(seeded(step.seed))

    # Deeds: what an application does to its table.

    def insert(self, dice: random.Random) -> None:
        """Put new rows in: newer ones, some that tie, some late ones, some without a cursor value, some odd ones."""
        rows = [self._row(dice) for _ in range(dice.randint(1, 4))]
        if not self.kind.has_key and dice.random() < 0.5:
            rows.append(dict(rows[0]))
        self.source.insert(rows)

    def update(self, dice: random.Random) -> None:
        """Change some rows, most with a newer cursor value, some within its grain."""
        for row in self._some(dice, 2):
            changed = {"note": f"changed {next(self.numbers)}"}
            if dice.random() < 0.7:
                changed |= {"seen": self._moment(dice)}
            self.source.change(row["id"], changed)

    def delete(self, dice: random.Random) -> None:
        self.source.delete([row["id"] for row in self._some(dice, 2)])

    def empty(self, _dice: random.Random) -> None:
        """Take all rows away."""
        if isinstance(self.source, Feed):
            self.source.truncate()
        elif rows := self.source.rows():
            self.source.delete([row["id"] for row in rows])

    def empty_and_refill(self, dice: random.Random) -> None:
        """Take all rows away, as a nightly job would, and put most of them back."""
        rows = self.source.rows()
        if rows and not self.kind.is_of_files:
            self.empty(dice)
            back = [row for row in rows if dice.random() < 0.8]
            if back:
                self.source.insert(back)

    def move_key(self, dice: random.Random) -> None:
        """Give a row another number, with a newer cursor value."""
        for row in self._some(dice, 1):
            self.source.change(row["id"], {"id": next(self.numbers), "seen": self._newer(dice)})

    def add_column(self, dice: random.Random) -> None:
        default = dice.choice([None, "default"])
        if not isinstance(self.source, Feed):
            self.source.add(
                f"extra{next(self.numbers)}", default if self.kind.source not in ("jsonl", "parquet") else None
            )

    def drop_column(self, dice: random.Random) -> None:
        if extras := self._extras():
            self.source.drop(dice.choice(extras))

    def rename_column(self, dice: random.Random) -> None:
        """Give a column another name, which the manifest declares or does not."""
        extras = [name for name in self._extras() if name not in self.manifest.renamed]
        if extras and isinstance(self.source, Database):
            old, new = dice.choice(extras), f"extra{next(self.numbers)}"
            self.source.rename(old, new)
            if dice.random() < 0.5:
                self._settle()
                self.manifest.renamed[new] = old
                self.renaming[old] = (new, self.stand.version(self.source.table))
                self.oracle.rename({old: new})
                self.columns = dict.fromkeys(new if name == old else name for name in self.columns)

    def widen(self, _dice: random.Random) -> None:
        if self.kind.source == "postgres" and isinstance(self.source, Database):
            self.source.retype("bigint")

    def narrow(self, dice: random.Random) -> None:
        """Let `n` hold less than has landed: that is refused, until it is accepted or taken back."""
        if not isinstance(self.source, Database) or self.source.types["n"] != "bigint" or "n" in self.manifest.hidden:
            return
        self._settle()
        if self._landed_type("n") != pl.Int64:
            return
        self.source.retype("integer")
        if self.has_accepted:
            return
        self._refused("HK803")
        if dice.random() < 0.5:
            self.source.retype("bigint")
        else:
            self._accept()
            self.has_accepted = True

    def rekey_source(self, dice: random.Random) -> None:
        """Give the source another primary key: only a manifest that names none follows it, and not without a word."""
        if not isinstance(self.source, Database) or not self.kind.has_key or self.source.key != ("id",):
            return
        self._settle()
        self.source.rekey(("id", "note"))
        if not self.kind.names_key:
            self._refused("HK610")
            if dice.random() < 0.5:
                self.source.rekey(("id",))
            else:
                self._become(key_columns=("id", "note"))
                self.full_refresh(dice)

    def append_to_file(self, dice: random.Random) -> None:
        self._to_file(dice, lambda name: self.source.replace(name, [*self.source.files[name], self._row(dice)]))

    def replace_file(self, dice: random.Random) -> None:
        self._to_file(dice, lambda name: self.source.replace(name, [self._row(dice) for _ in range(2)]))

    def remove_file(self, dice: random.Random) -> None:
        if isinstance(self.source, Files) and len(self.source.files) > 1:
            self._to_file(dice, self.source.remove)

    def rename_file(self, dice: random.Random) -> None:
        if isinstance(self.source, Files):
            self._to_file(dice, self.source.rename_file)

    def repeat_keys(self, dice: random.Random) -> None:
        """Write rows that files have already once more, in a new file, changed."""
        if isinstance(self.source, Files) and self.kind.mode == "upsert":
            rows = [{**self._row(dice), "id": row["id"]} for row in self._some(dice, 3)]
            if rows:
                self.source.insert(rows)

    # Deeds: what an operator does.

    def apply(self, _dice: random.Random) -> None:
        """Apply, and compare; a second apply changes nothing."""
        self._apply()
        self._read_by_oracle()
        self._compare()

    def apply_twice(self, dice: random.Random) -> None:
        self.apply(dice)
        self.apply(dice)

    def apply_cut_off(self, dice: random.Random) -> None:
        """Let an apply die on its way, and the next one go on."""
        with dying(dice.choice(BEFORE_READING + AFTER_READING)):
            self._apply(node=replace(Node.here(), started=1))
        self.apply(dice)

    def leave_cut_off(self, dice: random.Random) -> None:
        """Let an apply die, and life go on before the next one: what was read by then lands first."""
        if isinstance(self.source, Feed) or (self.kind.is_of_files and dice.random() < 0.5):
            self.apply_cut_off(dice)
            return
        self._settle()
        after = AFTER_READING[1:]  # of several files, some may be read at the end of the first
        place = dice.choice(after if self.kind.is_of_files else BEFORE_READING + after)
        with dying(place) as death:
            self._apply(node=replace(Node.here(), started=1))
        self.is_unfinished = death.is_over
        if not death.is_over or place in after:
            self._read_by_oracle()
        if not death.is_over:
            self._compare()

    def full_refresh(self, _dice: random.Random) -> None:
        """Read everything anew."""
        self._settle()
        self._apply(options=RunOptions(is_full_refresh=True))
        self.is_mixed = False
        if isinstance(self.oracle, FilesOracle):
            self.oracle.held, self.oracle.known = [], {}
            self._read_by_oracle()
        else:
            self.oracle.refresh(self._source_rows())
        self._compare()

    def rewind(self, dice: random.Random) -> None:
        """Ask for everything to be read again; what is there already does not land again."""
        if not self.kind.has_cursor or self.kind.mode not in ("append", "upsert") or not self.applies:
            return
        self._settle()
        spec = self.stand.project().pipelines[self.manifest.pipeline].spec
        self.stand.ask(partial(rewind, spec=spec, window=parse_window("", ""), reason="life", by="life"))
        self.oracle.rereads = True
        self.apply(dice)

    def edit_lag(self, dice: random.Random) -> None:
        """Let reads go back farther, or less far."""
        if (
            self.kind.cursor == "seen"
            and self.kind.cursor_type == "timestamp"
            and self.kind.mode in ("append", "upsert")
        ):
            self._become(lag=dice.choice([0, 2, LAG]))

    def edit_mode(self, dice: random.Random) -> None:
        """Land by another mode from now on."""
        if self.kind.mode == "cdc_mirror":
            return
        self._settle()
        modes = ["append", *REPLACING, *(["upsert"] if self.kind.has_key else [])]
        if self.kind.has_cursor:
            modes.append("incremental_watermark")
        if self.is_mixed:  # rows that went through two transforms are not known again by their content
            modes = [one for one in modes if one not in BY_CONTENT]
        before = self.kind.mode
        self._become(mode=dice.choice([one for one in modes if one != before] or [before]))
        if self.kind.mode == "upsert" and self._landed_mode() in BY_CONTENT:
            self._refused("HK621")
            if dice.random() < 0.5:
                self._become(mode=before)
            else:
                self.full_refresh(dice)

    def edit_cursor(self, dice: random.Random) -> None:
        """Name another cursor: where one is stored, that is refused until all is read anew."""
        if not self.kind.has_cursor or not self.source.rows():  # an empty source leaves the cursor where it was
            return
        self._settle()
        before = self.kind
        self._become(cursor_column="id" if self.kind.cursor_column == "seen" else "seen", lag=0)
        if self.kind.mode not in ("append", "upsert") or self.oracle.top is None:
            self.oracle.top = None
            self.apply(dice)
            return
        self._refused("HK613")
        if dice.random() < 0.5:
            self._become(cursor_column=before.cursor_column, lag=before.lag)
        else:
            self.full_refresh(dice)

    def edit_key(self, dice: random.Random) -> None:
        """Name another key: that is refused until all is read anew."""
        if not self.kind.has_key or not self.kind.names_key or self.kind.mode in (*REPLACING, "cdc_mirror"):
            return
        self._settle()
        before = self.kind
        self._become(key_columns=("id", "note") if self.kind.key == ("id",) else ("id",))
        self._refused("HK610")
        if dice.random() < 0.5:
            self._become(key_columns=before.key_columns)
        else:
            self.full_refresh(dice)

    def edit_columns(self, dice: random.Random) -> None:
        """Select fewer columns, or all of them again."""
        if not isinstance(self.source, Feed):
            self._settle()
            choices = [name for name in self.source.selectable() if name == "n" or name not in TYPES]
            self.manifest.hidden = frozenset() if self.manifest.hidden else frozenset({dice.choice(choices)})

    def edit_transform(self, dice: random.Random) -> None:
        """Add, change or remove a transform: rows that are known by their content are read anew, or not at all."""
        if isinstance(self.source, Feed):
            return
        self._settle()
        is_known_by_content = self.kind.mode in BY_CONTENT
        if self.kind.is_of_files and is_known_by_content:
            self.apply(dice)
        before = self.manifest.verb
        self.manifest.verb = dice.choice([one for one in ("", *VERBS) if one != before])
        if not is_known_by_content:
            self.is_mixed = True
            return
        if isinstance(self.source, Files):  # new files are read by it, and those that were read before it are not
            known = sorted(self.source.files)
            self.insert(dice)
            self.apply(dice)
            self.source.replace(known[0], [*self.source.files[known[0]], self._row(dice)])
        self._refused("HK619")
        if self.kind.is_of_files or dice.random() < 0.5:
            self.full_refresh(dice)
        else:
            self.manifest.verb = before

    def rename_pipeline(self, _dice: random.Random) -> None:
        """Give the pipeline another id: its tables are refused to it, until it has adopted them."""
        self._settle()
        before, self.manifest.pipeline = self.manifest.pipeline, f"life{next(self.numbers)}"
        self._refused("HK617")
        project = self.stand.project()
        with wiring.services(self.stand.settings, project) as parts:
            adopt_tables(parts, project, self.manifest.pipeline, before)

    # What the deeds are done with.

    def _become(self, **changes: Any) -> None:
        """Edit the manifest."""
        self.kind = replace(self.kind, **changes)
        self.oracle.kind = self.manifest.kind = self.kind

    def _settle(self) -> None:
        """Apply, so that the table exists and nothing is under way when the manifest is edited."""
        if self.is_unfinished or not self.applies:
            self.apply(seeded(0))

    def _accept(self) -> None:
        """What `hakiri schema accept` does."""
        settings, project = self.stand.settings, self.stand.project()
        spec = project.pipelines[self.manifest.pipeline].spec
        with wiring.existing_catalog(settings, project) as catalog:
            differing = schema_diff(
                spec,
                wiring.connector(settings, project, spec),
                catalog,
                place=partial(wiring.place, project),
                reshapes=wiring.transforms(settings, project, spec),
            )
            schema_accept(catalog, differing, by="life", reason="life")

    def _apply(self, **how: Any) -> None:
        self.applies += 1
        self.manifest.write(self.stand.root, self.source)
        result = self.stand.apply(**how)[self.manifest.pipeline]
        if result.errors:
            raise Difference(f"{self.kind}: the apply fails: {result.errors[0]}\nafter {' '.join(self.told)}")
        self.is_unfinished = False

    def _refused(self, code: str) -> None:
        """Apply, which has to be refused with this code and to change nothing."""
        self.applies += 1
        before = self._table()
        self.manifest.write(self.stand.root, self.source)
        codes = [error.code for error in self.stand.apply()[self.manifest.pipeline].errors]
        if codes != [code] or before != self._table():
            raise Difference(f"{self.kind}: {codes} instead of {code}\nafter {' '.join(self.told)}")

    def _read_by_oracle(self) -> None:
        if isinstance(self.oracle, FilesOracle):
            self.oracle.apply_files(self.source.files, self.source.read())
        else:
            self.oracle.apply(self._source_rows())

    def _source_rows(self) -> list[Row]:
        return self.source.written if isinstance(self.source, Feed) else self.source.rows()

    def _compare(self) -> None:
        self.columns |= dict.fromkeys(name for row in self.oracle.held for name in row)
        wanted = Counter(_key(row, self.columns) for row in self.oracle.held)
        found = self._table()
        if wanted != found:
            raise Difference(
                f"{self.kind}: missing {sorted(wanted - found)[:3]}, too many {sorted(found - wanted)[:3]} "
                f"of {list(self.columns)}\nafter {' '.join(self.told)}"
            )

    def _table(self) -> Counter[tuple[Any, ...]]:
        version = self.stand.version(self.source.table) if self.renaming else 0
        waiting = {old: new for old, (new, since) in self.renaming.items() if since == version}
        rows = landed(self.stand, self.source.table)
        return Counter(_key(renamed(row, waiting), self.columns) for row in rows)

    def _landed_mode(self) -> str:
        """How the catalog says that the table was landed last: an apply that finds nothing new lands nothing."""
        key = TableKey(self.manifest.pipeline, self.source.table)
        decided = self.stand.ask(lambda catalog: last_schema_decision(catalog, key))
        return str(decided.mode)

    def _landed_type(self, column: str) -> Any:
        return pl.read_delta(str(self.stand.folder(self.source.table))).schema.get(column)

    def _extras(self) -> list[str]:
        return [name for name in self.source.columns if name not in TYPES]

    def _some(self, dice: random.Random, most: int) -> list[Row]:
        rows = self.source.rows()
        return dice.sample(rows, min(len(rows), dice.randint(1, most)))

    def _to_file(self, dice: random.Random, deed: Callable[[str], None]) -> None:
        if isinstance(self.source, Files) and self.source.files:
            deed(dice.choice(sorted(self.source.files)))

    def _row(self, dice: random.Random) -> Row:
        number = next(self.numbers)
        note = dice.choice(ODD_TEXTS) + str(number) if dice.random() < 0.3 else f"note {number}"
        is_wide = isinstance(self.source, Database) and self.source.types["n"] == "bigint"
        numbers = [number, *ODD_NUMBERS, None, *([2**63 - 1, 2**40] if is_wide else [])]
        row = {"id": number, "seen": self._moment(dice), "note": note, "n": dice.choice(numbers)}
        added = {name: default for name, default in self.source.columns.items() if name not in TYPES}
        return row | {name: dice.choice([default, f"own {number}"]) for name, default in added.items()}

    def _moment(self, dice: random.Random) -> Any:
        """A cursor value: newer than all, equal to the newest, a little late, none, or an odd one."""
        way = dice.choices(["newer", "tied", "late", "none", "odd", "far"], [30, 10, 10, 8, 6, 1])[0]
        if way == "newer":
            return self._newer(dice)
        if way == "odd":
            return self._odd(dice)
        if way == "far":
            times = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
            return dice.choice([-EXACT, EXACT] if self.kind.cursor_type == "double" else times)
        if way == "none":
            return None
        return self._at(self.now - dice.randint(1, 8) if way == "late" else self.now)

    def _newer(self, dice: random.Random) -> Any:
        self.now += dice.randint(1, 3)
        return self._at(self.now)

    def _odd(self, dice: random.Random) -> Any:
        """A value that no cursor comes to; of SQLite, which keeps no NaN and no times like these, fewer."""
        is_postgres = self.kind.source == "postgres" and isinstance(self.source, Database)
        if self.kind.cursor_type == "double":
            return dice.choice([*ODD_DOUBLES, *([float("nan")] if is_postgres else [])])
        return dice.choice(ODD_TIMES) if is_postgres else None

    def _at(self, moment: int) -> Any:
        return float(moment) if self.kind.cursor_type == "double" else START + timedelta(seconds=moment)


def landed(stand: Stand, table: str) -> list[Row]:
    """What another engine finds in the table, without its provenance."""
    frame = pl.read_delta(str(stand.folder(table)))
    rows = frame.drop(*PROVENANCE).rows(named=True)
    return [{name: instant(value) if name == "seen" else value for name, value in row.items()} for row in rows]


def _key(row: Row, columns: Iterable[str]) -> tuple[Any, ...]:
    return tuple(repr(row.get(name)) for name in columns)
