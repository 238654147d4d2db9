"""Run hooks beside landings, in the order of docs/adr/0060. The catalog records how far each has come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import Any

from hakiri.errors import HakiriError
from hakiri.land.target import Target, address_of
from hakiri.model.chunk import TableKey
from hakiri.model.crash_points import Boundary, passing
from hakiri.model.errors import SessionLost
from hakiri.model.hook import HookCall
from hakiri.model.ledger import HookMark, Landing, LandingStatus
from hakiri.run.context import RunContext
from hakiri.run.events import HookCalled, HookFailed
from hakiri.spec.hook import Hook, RefreshHook, SqlHook
from hakiri.spec.pipeline import TableSpec

_PRE, _POST = "pre_hook", "post_hook"


class TableHooks:
    """The hooks of one table during a run.

    Each hook has a mark in the catalog: the last landing it was called for. One more mark per table records for which
    landings post-hooks are owed; it is written before the landing, so that no crash loses a call.
    """

    def __init__(self, context: RunContext, table: TableSpec) -> None:
        self._context = context
        self._load = context.spec.load_of(table)
        self._catalog = context.services.catalog
        self._key = TableKey(context.spec.id, table.name)
        self._name = context.spec.landed_name(table)
        self._table = table
        self.errors: list[HakiriError] = []

    def before(self, landing: Landing) -> None:
        """Call the pre-hooks of a landing that is about to be written, and note that its post-hooks are owed.

        A repeat calls those that have not succeeded yet. Raises HookError, CatalogError.
        """
        if not self._load.pre_hook and not self._load.post_hook:
            return
        called = self._called(_PRE, self._context.with_retries("noted hooks", self._marks))
        for index, last in enumerate(called):
            if last < landing.number:
                self._call(_PRE, index, landing)
        if self._load.post_hook:
            self._context.with_retries("note of hooks", lambda: self._owe(landing.number))
        passing(Boundary.PRE_HOOKS_DONE)

    def on_build(self, landing: Landing, build: Target) -> None:
        """Call the post-hooks of a landing on what was built for it, while readers still see the table as it was.

        SQL is for each build, the others are for the landing, and a view is refreshed after it, as it reads the table.
        Raises HookError, CatalogError.
        """
        called = self._called(_POST, self._context.with_retries("noted hooks", self._marks))
        for index, hook in enumerate(self._load.post_hook):
            is_due = isinstance(hook, SqlHook) or called[index] < landing.number
            if is_due and not isinstance(hook, RefreshHook):
                self._call(_POST, index, landing, build=build)

    def after(self) -> None:
        """Call every post-hook that is owed, the oldest landing's first; the first failure leaves the rest as owed.

        Raises SessionLost, and nothing else that goes wrong: `errors` has that, and this run calls no further post-hook
        of the table. A repeat calls what has come to be owed since.
        """
        if not self._load.post_hook or self.errors:
            return
        try:
            for index, landing in self._context.with_retries("owed hooks", self._owed):
                if self._context.stop.is_asked:
                    return
                self._call(_POST, index, landing)
        except SessionLost:
            raise  # no table can go on, and none of them is to blame
        except HakiriError as error:
            self.errors.append(error)
        except Exception as unforeseen:  # noqa: BLE001 a hook's bug is not the table's
            self.errors.append(self._context.as_bug(unforeseen))

    def _call(self, phase: str, index: int, landing: Landing, *, build: Target | None = None) -> None:
        context, hooks = self._context, self._hooks(phase)
        target = build or self._target()
        call = HookCall(
            project=context.services.project,
            table=self._key,
            name=self._name,
            hook=f"{phase}[{index}]",
            number=landing.number,
            version=landing.version,
            build=address_of(build) if build else None,
        )
        facts: dict[str, Any] = {"table": self._key.table, "hook": call.hook, "number": call.number}
        started, perform = monotonic(), context.services.hooks.perform
        try:
            context.with_retries(
                f"{call.hook} of {self._name}",
                lambda: perform(hooks[index], call, target, earlier=hooks[:index]),
            )
        except HakiriError as error:
            context.journal.record(HookFailed(**facts, code=error.code, message=error.message()))
            raise
        context.journal.record(HookCalled(**facts, type=hooks[index].type, seconds=round(monotonic() - started, 3)))
        passing(Boundary.HOOK_CALLED)
        mark = HookMark(call.hook, landing.number)
        context.with_retries("note of a hook", lambda: self._catalog.mark_hook(self._key, mark))
        passing(Boundary.HOOK_NOTED)

    def _target(self) -> Target:
        return self._context.services.place(self._context.spec, self._table).target

    def _hooks(self, phase: str) -> tuple[Hook, ...]:
        return self._load.pre_hook if phase == _PRE else self._load.post_hook

    def _owe(self, number: int) -> None:
        """Note that the post-hooks are owed for this landing, and keep the first landing that they are owed for."""
        noted = self._marks().get(_POST)
        if noted is None or noted.landing < number:
            first = noted.owed_from if noted and self._owed() else number
            self._catalog.mark_hook(self._key, HookMark(_POST, number, owed_from=first))

    def _owed(self) -> list[tuple[int, Landing]]:
        """Return which post-hook is owed for which landing, in the order of the calls."""
        marks = self._marks()
        noted = marks.get(_POST)
        if noted is None:
            return []
        since = range(noted.owed_from, noted.landing + 1)
        before = self._catalog.last_landings(self._key, before=since.start)
        found = _changing((*before, *self._catalog.landings(self._key, since=since.start)))
        landings = [one for one in found if one.number in since]
        called = self._called(_POST, marks)
        return [
            (index, landing)
            for landing in landings
            for index, hook in enumerate(self._load.post_hook)
            # What tends a table or a view as it is now need not be done for each landing that led there.
            if called[index] < landing.number and (_is_told_of_each(hook) or landing is landings[-1])
        ]

    def _called(self, phase: str, marks: Mapping[str, HookMark]) -> list[int]:
        """Return the last landing that each hook of the list was called for."""
        found = [marks.get(f"{phase}[{index}]") for index in range(len(self._hooks(phase)))]
        return [mark.landing if mark else 0 for mark in found]

    def _marks(self) -> dict[str, HookMark]:
        return {mark.hook: mark for mark in self._catalog.hook_marks(self._key)}


def _changing(landings: Sequence[Landing]) -> Iterator[Landing]:
    """Yield the landings that made a commit, by number; hooks are not called for others."""
    last = -1
    for landing in landings:
        # A version below the last is the first of a table that was made anew.
        if landing.status is LandingStatus.LANDED and landing.version not in (None, last):
            last = landing.version
            yield landing


def _is_told_of_each(hook: Hook) -> bool:
    return not isinstance(hook, SqlHook | RefreshHook)
