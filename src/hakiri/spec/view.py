"""Read and check the project's views: files with one SELECT over landed tables and other views."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError
from pathlib import Path

from hakiri.errors import ManifestError, Place
from hakiri.model.view import View, in_order
from hakiri.spec.errors import UnreadableManifest, ViewReadsUnknown, ViewRefused, ViewTaken
from hakiri.spec.names import check_identifier, name_in_schema
from hakiri.spec.sql.select import NotSql, Select, read_select
from hakiri.spec.validation_errors import guess
from hakiri.spec.view_files import SUFFIX, view_files


def over(view: View, stored: Mapping[str, str]) -> str:
    """Return the view's SELECT with each table and view under the name that SQL knows."""
    known = {name.casefold(): sql for name, sql in stored.items()}
    select = read_select(view.text)
    return select.over({name: known[name.casefold()] for name in select.tables})


def expanded(view: View, views: Mapping[str, View], stored: Mapping[str, str]) -> str:
    """Return the same, with each view that it reads replaced by that view's SELECT."""
    inner = {
        read: f"(\n{expanded(views[read], views, stored)}\n)" if read in views else stored[read] for read in view.reads
    }
    return over(view, inner)


@dataclass(frozen=True, slots=True)
class _Read:
    view: View
    select: Select
    file: str


class ViewReading:
    """The views of a project, read and checked; `problems` has the errors, with file and line."""

    def __init__(self, root: Path, *, shown: Callable[[Path], str]) -> None:
        self.problems: list[ManifestError] = []
        self._shown = shown
        self._found = [read for path in view_files(root) if (read := self._read(path))]

    def views(self, tables: Collection[str], taken: Collection[str]) -> tuple[View, ...]:
        """Return the views over these tables, each after those that it reads; none may have a name in `taken`."""
        self.problems += _collisions(self._found, (*tables, *taken))
        known = {name.casefold(): name for name in (*tables, *(read.view.name for read in self._found))}
        for read in self._found:
            self.problems += _strangers(read, known)
        if self.problems:
            return ()
        views = [_spelled(read, known) for read in self._found]
        try:
            return in_order(views)
        except CycleError as error:
            self.problems.append(self._cycle(error.args[1]))
            return ()

    def _read(self, path: Path) -> _Read | None:
        file, name = self._shown(path), path.name.removesuffix(SUFFIX)
        try:
            # The statement ends with the file, and a semicolon must not end up inside brackets.
            text = path.read_text(encoding="utf-8").rstrip().removesuffix(";").rstrip()
            return _Read(View(check_identifier(name), text, ()), read_select(text), file)
        except (OSError, UnicodeDecodeError) as cause:
            reason = getattr(cause, "strerror", None) or "it is not UTF-8"
            self.problems.append(UnreadableManifest(place=Place(file), reason=f"the view cannot be read: {reason}"))
        except ValueError as wrong:
            line = wrong.line if isinstance(wrong, NotSql) else 1
            self.problems.append(ViewRefused(place=Place(file, line), view=name, reason=str(wrong)))
        return None

    def _cycle(self, names: list[str]) -> ViewRefused:
        """Report a cycle, starting with its first view by name, so that the error is always the same."""
        ring = names[:0:-1]  # each before the one that it reads
        start = ring.index(min(ring))
        circle = [*ring[start:], *ring[:start], ring[start]]
        read = next(one for one in self._found if one.view.name == circle[0])
        written = next(name for name in read.select.tables if name.casefold() == circle[1].casefold())
        reason = "it reads itself"
        if len(ring) > 1:
            reason = f"these views read each other: {' -> '.join(circle)}"
        return ViewRefused(place=Place(read.file, read.select.line_of(written)), view=circle[0], reason=reason)


def _spelled(read: _Read, known: Mapping[str, str]) -> View:
    reads = dict.fromkeys(known[name.casefold()] for name in read.select.tables)
    return View(read.view.name, read.view.text, tuple(reads))


def _collisions(found: Iterable[_Read], taken: Iterable[str]) -> Iterator[ManifestError]:
    tables = {_spot(name): name for name in taken}
    before: dict[str, _Read] = {}
    for read in found:
        name = read.view.name
        if table := tables.get(_spot(name)):
            yield ViewTaken(view=name, owner=f"the table `{table}`", found=(Place(read.file),))
        elif (other := before.setdefault(_spot(name), read)) is not read:
            yield ViewTaken(
                view=name, owner=f"the view `{other.view.name}`", found=(Place(other.file), Place(read.file))
            )


def _spot(name: str) -> str:
    """Return the name under which two tables or views would collide, in folders or in a schema."""
    return name_in_schema(name).casefold()


def _strangers(read: _Read, known: Mapping[str, str]) -> Iterator[ManifestError]:
    for name in read.select.tables:
        if name.casefold() not in known:
            names = tuple(known.values())
            place = Place(read.file, read.select.line_of(name))
            yield ViewReadsUnknown(place=place, view=read.view.name, table=name, known=names, guess=guess(name, names))
