"""Create, replace and drop a project's views after all landings, and record them (docs/adr/0090)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hakiri.catalog.port import Catalog
from hakiri.errors import HakiriError
from hakiri.land.errors import ViewFailed
from hakiri.land.views.port import Views
from hakiri.model.chunk import TableKey
from hakiri.model.errors import Bug
from hakiri.model.view import MadeView, View, in_order
from hakiri.plan.fingerprint import Fingerprint, check_unmoved, fingerprint_views
from hakiri.plan.views import ViewChange, ViewFacts, ViewVerb, plan_views
from hakiri.run import events
from hakiri.run.context import new_run_id
from hakiri.run.errors import ViewPlaceTaken, ViewsMoved, ViewUnfit
from hakiri.run.journal import Journal
from hakiri.run.retry import Backoff, call_with_retries
from hakiri.run.services import Services
from hakiri.run.stop import Stop
from hakiri.spec.pipeline import PipelineSpec, RetrySpec
from hakiri.spec.read import Project

JOURNAL = "/views"
"""The name that the journal has for views in place of a pipeline's; no pipeline has a `/` in its name."""


@dataclass(frozen=True, slots=True)
class ViewsResult:
    """What became of a project's views."""

    run: str = ""
    done: tuple[ViewChange, ...] = ()
    waiting: tuple[ViewChange, ...] = ()
    errors: tuple[HakiriError, ...] = ()


@dataclass(frozen=True, slots=True)
class ShelvedViews:
    """The views of a project, and where they are kept."""

    project: Project
    shelf: Views

    def changes(self, catalog: Catalog | None) -> tuple[ViewChange, ...]:
        """Return what there is to do about them. Raises CatalogError."""
        return change_views(gather_views(self.project, catalog), self.shelf)


def gather_views(project: Project, catalog: Catalog | None) -> ViewFacts:
    """Return the project's views, those that were created, and which of their tables have landed. Changes nothing.

    `catalog` is None where there is none yet. Raises CatalogError.
    """
    made = made_views(catalog) if catalog else {}
    if not project.views:
        return ViewFacts(made=made)
    specs = [one.spec for one in project.pipelines.values()]
    landed = frozenset(_landed(catalog, specs)) if catalog else frozenset[str]()
    return ViewFacts(project.views, project.refreshed, made, landed)


def made_views(catalog: Catalog) -> dict[str, MadeView]:
    """Return the views that were created, each after those that it reads. Raises CatalogError."""
    made = {one.view.name: one for one in catalog.views()}
    return {view.name: made[view.name] for view in in_order(one.view for one in made.values())}


def change_views(facts: ViewFacts, shelf: Views) -> tuple[ViewChange, ...]:
    """Return what there is to do about views, in the order of doing it."""
    return plan_views(facts, {view.name: shelf.address(view.name) for view in facts.wanted})


def apply_views(
    parts: Services, project: Project, shelf: Views, *, stop: Stop, sealed: Fingerprint | None = None
) -> ViewsResult:
    """Create, replace and drop views as the project's files want them. Errors are in the result, never raised.

    A view that does not fit stays as it was, whatever its file says. A repeat does what has come since, which may be
    nothing.
    """

    def attempt() -> ViewsResult:
        facts = gather_views(project, parts.catalog)
        if sealed is not None:
            check_unmoved(sealed.views, fingerprint_views(facts))
        return _Renewal(parts, facts, shelf).carry_out()

    if stop.is_asked:
        return ViewsResult()
    try:
        return call_with_retries(
            attempt, backoff=Backoff.of(RetrySpec()), clock=parts.clock, stop=stop, on_retry=lambda *_: None
        )
    except HakiriError as error:
        return ViewsResult(errors=(error,))
    except Exception as unforeseen:  # noqa: BLE001 what has landed is told all the same
        return ViewsResult(errors=(Bug(kind=type(unforeseen).__name__, detail=str(unforeseen)),))


def _landed(catalog: Catalog, specs: Iterable[PipelineSpec]) -> Iterator[str]:
    for spec in specs:
        for table in spec.tables:
            if catalog.last_landings(TableKey(spec.id, table.name)):
                yield spec.landed_name(table)


class _Renewal:
    """Compares a project's views with its files, and changes them."""

    def __init__(self, parts: Services, facts: ViewFacts, shelf: Views) -> None:
        self._parts = parts
        self._facts = facts
        self._shelf = shelf
        self._made = dict(facts.made or {})
        self._noted = tuple(self._made.values())
        """The views as the catalog has them."""
        self._errors: list[HakiriError] = []

    def carry_out(self) -> ViewsResult:
        """Check, create, drop and record views. Raises CatalogError, ViewsMoved and what ends a session."""
        changes = change_views(self._facts, self._shelf)
        waiting = tuple(change for change in changes if change.waits_for)
        ready = [change for change in changes if not change.waits_for]
        taken = [change.view for change in ready if self._is_taken(change)]
        verdict = _Verdict(self._facts, self._shelf, [change.view for change in ready if change.view not in taken])
        verdict.reach()
        wanted = {view.name: view for view in self._facts.wanted}
        self._errors += [ViewPlaceTaken(view=name, address=self._shelf.address(name)) for name in taken]
        self._errors += [
            ViewUnfit(view=name, reason=reason, is_kept=name in verdict.kept) for name, reason in verdict.unfit.items()
        ]
        todo = [change for change in changes if change.view in verdict.accepted]
        if not todo and not self._errors:
            return ViewsResult(waiting=waiting)
        run = new_run_id(self._parts.clock)
        with Journal(self._parts.journals, run=run, pipeline=JOURNAL, clock=self._parts.clock) as journal:
            self._note_intent(todo, wanted, run)
            done = tuple(change for change in todo if self._do(change, wanted, journal))
            self._note()
            for error in self._errors:
                _tell(journal, error)
        return ViewsResult(run, done, waiting, tuple(self._errors))

    def _is_taken(self, change: ViewChange) -> bool:
        """Return whether a table or view that is not ours would be replaced."""
        return change.verb is not ViewVerb.DROP and self._shelf.is_taken(change.view)

    def _note_intent(self, todo: list[ViewChange], wanted: Mapping[str, View], run: str) -> None:
        """What is about to be made somewhere is noted before: a crash leaves no view that nobody would drop."""
        if made_views(self._parts.catalog) != self._made:
            raise ViewsMoved
        for change in todo:
            if change.verb is not ViewVerb.DROP:
                view, address = wanted[change.view], self._shelf.address(change.view)
                before = self._made.get(change.view)
                if before and before.address != address:
                    self._shelf.drop(change.view, before.address)  # while the note still says where it is
                self._made[change.view] = MadeView(view, address, run, is_whole=not address)
        if any(not one.is_whole for one in self._made.values()):
            self._note()

    def _note(self) -> None:
        """Record the views. Raises ViewsMoved if another run has recorded others since this one read them."""
        made = tuple(self._made.values())
        if made != self._noted and not self._parts.catalog.record_views(made, before=self._noted):
            raise ViewsMoved
        self._noted = made

    def _do(self, change: ViewChange, wanted: Mapping[str, View], journal: Journal) -> bool:
        try:
            if change.verb is ViewVerb.DROP:
                self._shelf.drop(change.view, self._made[change.view].address)
                del self._made[change.view]
            else:
                self._shelf.make(wanted[change.view])
                self._made[change.view] = replace(self._made[change.view], is_whole=True)
        except ViewFailed as failed:
            self._errors.append(failed)
            return False
        journal.record(events.ViewChanged(view=change.view, change=change.verb.value))
        return True


def _tell(journal: Journal, error: HakiriError) -> None:
    view = error.view if isinstance(error, ViewUnfit | ViewFailed | ViewPlaceTaken) else ""
    journal.record(events.ViewFailed(view=view, code=error.code, message=error.message()))


@dataclass
class _Verdict:
    """Return the changes after which every view that works still works."""

    facts: ViewFacts
    shelf: Views
    changed: list[str]
    unfit: dict[str, str] = field(default_factory=dict)

    @property
    def accepted(self) -> set[str]:
        return set(self.changed) - set(self.unfit)

    @property
    def kept(self) -> dict[str, View]:
        """Return the views that stay as they were created."""
        made = self.facts.made or {}
        return {name: one.view for name, one in made.items() if one.is_whole and name not in self.accepted}

    def reach(self) -> None:
        """Hold back, one after the other, each change after which some view would not fit."""
        while True:
            world = self._world()
            wrong = dict(self._missing(world)) or dict(self.shelf.judge(in_order(world.values())))
            blamed = {held: why for name, reason in wrong.items() for held, why in self._blame(name, reason, world)}
            self.unfit |= blamed
            if not blamed:
                self.unfit |= wrong  # nothing of ours has changed: the tables have
                return

    def _world(self) -> dict[str, View]:
        """Return the views after the changes that are not held back; without those that wait."""
        return {**self.kept, **{view.name: view for view in self.facts.wanted if view.name in self.accepted}}

    def _missing(self, world: Mapping[str, View]) -> Iterator[tuple[str, str]]:
        """Return the views that read others which would not be there."""
        views = ({view.name for view in self.facts.wanted} | set(self.facts.made or {})) - self.facts.refreshed
        for view in world.values():
            for read in view.reads:
                if read in views and read not in world:
                    yield view.name, f"it reads the view `{read}`, which is not there"

    def _blame(self, name: str, reason: str, world: Mapping[str, View]) -> Iterator[tuple[str, str]]:
        """Return the changes to hold back, so that this view is as it was: its own, else those below it."""
        if name in self.accepted:
            yield name, reason
            return
        before = f"the view `{name}` would not fit any more: {reason}"
        gone = [read for read in world[name].reads if read not in world and read in self.accepted]
        yield from ((below, before) for below in (*gone, *_views_below(world[name], world)) if below in self.accepted)


def _views_below(view: View, views: Mapping[str, View]) -> Iterator[str]:
    for read in view.reads:
        if read in views:
            yield read
            yield from _views_below(views[read], views)
