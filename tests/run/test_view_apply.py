"""Views are made after their tables, keep working through whatever comes, and are dropped when they are gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from hakiri import wiring
from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.errors import HakiriError
from hakiri.land.errors import ViewFailed
from hakiri.land.views.port import Views
from hakiri.land.views.rust import RustViews
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.model.view import MadeView, View
from hakiri.plan.errors import PlanMoved
from hakiri.plan.fingerprint import fingerprint_views
from hakiri.run.errors import ViewPlaceTaken, ViewUnfit
from hakiri.run.events import facts_of
from hakiri.run.journal import read_journal
from hakiri.run.services import Services
from hakiri.run.stop import Stop
from hakiri.run.views import ViewsResult, apply_views, gather_views, made_views
from hakiri.settings import Settings
from projects import MakeProject

PROJECT = """\
[project]
name = "test"
[catalog]
backend = "{backend}"
[[pipeline]]
id = "shop"
source = {{ connector = "x" }}
tables = ["orders", "people"]
"""


@dataclass
class Gallery:
    """A project with views, over tables that are there at once."""

    root: Path
    make: MakeProject
    shelf: Views | None = None

    @property
    def settings(self) -> Settings:
        return Settings(cwd=self.root, project=self.root)

    def land(self, table: str, **columns: Any) -> None:
        """Let a table have landed, as the catalog sees it."""
        project = wiring.workplace(self.settings).read()
        folder = f"{wiring.tables_root(project)}/{table}"
        write_deltalake(folder, pa.table(columns), mode="overwrite", schema_mode="overwrite")
        landing = Landing(TableKey("shop", table), 1, (), LandingStatus.LANDED, version=0)
        with self.parts() as parts:
            parts.catalog.restore_landing(landing)

    def write(self, **views: str | None) -> None:
        for name, text in views.items():
            if text is None:
                (self.root / f"views/{name}.sql").unlink()
            else:
                self.make({**_files(self.root), f"views/{name}.sql": text})

    @contextmanager
    def parts(self) -> Iterator[Services]:
        with wiring.services(self.settings, wiring.workplace(self.settings).read()) as parts:
            yield parts

    def apply(self, **options: Any) -> ViewsResult:
        project = wiring.workplace(self.settings).read()
        shelf = self.shelf or wiring.view_shelf(self.settings, project)
        with self.parts() as parts:
            return apply_views(parts, project, shelf, **{"stop": Stop(), **options})

    def made(self) -> dict[str, MadeView]:
        with self.parts() as parts:
            return made_views(parts.catalog)

    def texts(self) -> dict[str, str]:
        return {name: one.view.text for name, one in self.made().items()}


def _files(root: Path) -> dict[str, str]:
    return {"hakiri.toml": (root / "hakiri.toml").read_text(encoding="utf-8")}


@pytest.fixture(params=["sqlite", "delta"])
def gallery(request: pytest.FixtureRequest, make_project: MakeProject) -> Gallery:
    return Gallery(make_project({"hakiri.toml": PROJECT.format(backend=request.param)}), make_project)


@pytest.fixture
def shop(make_project: MakeProject) -> Gallery:
    """Orders have landed, people have not."""
    shop = Gallery(make_project({"hakiri.toml": PROJECT.format(backend="sqlite")}), make_project)
    shop.land("orders", id=[1, 2], city=["a", "b"])
    return shop


def done(result: ViewsResult) -> list[tuple[str, str]]:
    assert result.errors == ()
    return [(change.view, change.verb.value) for change in result.done]


def only(result: ViewsResult) -> HakiriError:
    (error,) = result.errors
    return error


def test_views_are_created_replaced_and_dropped_and_then_there_is_nothing_to_do(gallery: Gallery) -> None:
    gallery.land("orders", id=[1, 2])
    gallery.write(high="SELECT n FROM low", low="SELECT count(*) AS n FROM orders")
    first = gallery.apply()
    assert done(first) == [("low", "create"), ("high", "create")]
    assert {one.run for one in gallery.made().values()} == {first.run}
    assert done(gallery.apply()) == []
    gallery.write(high="SELECT n + 1 AS n FROM low")
    assert done(gallery.apply()) == [("high", "replace")]
    gallery.write(high=None, low=None)
    assert done(gallery.apply()) == [("high", "drop"), ("low", "drop")]
    assert (gallery.made(), done(gallery.apply())) == ({}, [])


def test_what_was_done_is_in_the_journal(shop: Gallery) -> None:
    shop.write(low="SELECT id FROM orders", bad="SELECT nope FROM orders")
    result = shop.apply()
    journal = shop.root / ".hakiri/context/journal" / f"{result.run}.jsonl"
    told = [(event.body.kind, facts_of(event.body)["view"]) for event in read_journal(journal)]
    assert told == [("view_changed", "low"), ("view_failed", "bad")]


def test_a_view_waits_for_its_tables_and_fails_nobody(shop: Gallery) -> None:
    shop.write(both="SELECT o.id FROM orders AS o JOIN people AS p ON p.id = o.id", low="SELECT id FROM orders")
    result = shop.apply()
    assert done(result) == [("low", "create")]
    assert [(change.view, change.waits_for) for change in result.waiting] == [("both", ("people",))]
    shop.land("people", id=[2])
    assert done(shop.apply()) == [("both", "create")]


def test_a_view_that_does_not_bind_keeps_its_former_definition_and_no_other_waits_for_it(shop: Gallery) -> None:
    shop.write(low="SELECT id FROM orders", also="SELECT city FROM orders")
    shop.apply()
    shop.write(low="SELECT nope FROM orders", also="SELECT city AS c FROM orders")
    result = shop.apply()
    error = only(result)
    assert isinstance(error, ViewUnfit)
    assert (error.view, error.is_kept, "nope" in error.reason) == ("low", True, True)
    assert [change.view for change in result.done] == ["also"]
    assert shop.texts() == {"low": "SELECT id FROM orders", "also": "SELECT city AS c FROM orders"}
    assert isinstance(only(shop.apply()), ViewUnfit), "as long as it is so, it is told"


def test_a_change_after_which_another_view_would_not_bind_is_held_back(shop: Gallery) -> None:
    shop.write(low="SELECT id, city FROM orders", high="SELECT city FROM low")
    shop.apply()
    shop.write(low="SELECT id FROM orders")
    error = only(shop.apply())
    assert isinstance(error, ViewUnfit)
    assert (error.view, error.is_kept) == ("low", True)
    assert "`high` would not fit any more" in error.reason
    assert shop.texts()["low"] == "SELECT id, city FROM orders"
    shop.write(high="SELECT id FROM low")
    assert done(shop.apply()) == [("low", "replace"), ("high", "replace")], "together they fit"


def test_a_new_view_over_one_that_was_held_back_is_not_made_either(shop: Gallery) -> None:
    shop.write(low="SELECT nope FROM orders", high="SELECT nope FROM low", other="SELECT id FROM orders")
    result = shop.apply()
    assert {error.view for error in result.errors if isinstance(error, ViewUnfit)} == {"low", "high"}
    assert list(shop.texts()) == ["other"]


def test_a_view_that_is_still_read_is_not_dropped(shop: Gallery) -> None:
    shop.write(low="SELECT id FROM orders", high="SELECT id FROM low")
    shop.apply()
    shop.write(low=None, high="SELECT nope FROM orders")
    result = shop.apply()
    assert {error.view for error in result.errors if isinstance(error, ViewUnfit)} == {"low", "high"}
    assert shop.texts() == {"low": "SELECT id FROM orders", "high": "SELECT id FROM low"}


def test_a_table_that_has_changed_under_a_view_is_told_and_the_view_stays(shop: Gallery) -> None:
    shop.write(low="SELECT city FROM orders")
    shop.apply()
    shop.land("orders", id=[1])
    error = only(shop.apply())
    assert isinstance(error, ViewUnfit)
    assert (error.view, error.is_kept) == ("low", True)
    assert shop.texts() == {"low": "SELECT city FROM orders"}


def test_a_view_over_a_table_that_the_project_has_given_up_is_told_until_it_is_changed(shop: Gallery) -> None:
    shop.write(low="SELECT id FROM orders")
    shop.apply()
    text = PROJECT.format(backend="sqlite").replace('"orders", ', "")
    shop.make({"hakiri.toml": text, "views/low.sql": "SELECT id FROM people"})
    result = shop.apply()
    assert [change.waits_for for change in result.waiting] == [("people",)]
    assert "does not land any more" in str(only(result))
    shop.land("people", id=[1])
    assert done(shop.apply()) == [("low", "replace")]


def test_a_view_that_a_hook_refreshes_is_left_to_it_and_can_be_read(shop: Gallery) -> None:
    hook = 'load = { post_hook = { type = "refresh_mat_view", view = "kept" } }\n'
    shop.make({"hakiri.toml": PROJECT.format(backend="sqlite") + hook})
    shop.write(kept="SELECT count(*) AS n FROM orders", over="SELECT n FROM kept")
    assert "kept" in str(only(shop.apply())), "the hook has not been called"
    project = wiring.workplace(shop.settings).read()
    write_deltalake(f"{wiring.tables_root(project)}/kept", pa.table({"n": [2]}))
    assert done(shop.apply()) == [("over", "create")]
    shop.make({"hakiri.toml": PROJECT.format(backend="sqlite")})
    assert done(shop.apply()) == [("kept", "create")]


def test_views_of_a_sealed_plan_are_made_only_if_nothing_has_moved(shop: Gallery) -> None:
    shop.write(low="SELECT id FROM orders")
    with shop.parts() as parts:
        sealed = fingerprint_views(gather_views(wiring.workplace(shop.settings).read(), parts.catalog))
    shop.write(low="SELECT city FROM orders")
    assert isinstance(only(shop.apply(sealed=sealed)), PlanMoved)
    assert shop.made() == {}
    shop.write(low="SELECT id FROM orders")
    assert done(shop.apply(sealed=sealed)) == [("low", "create")]


def test_a_run_that_was_stopped_makes_no_views(shop: Gallery) -> None:
    shop.write(low="SELECT id FROM orders")
    stop = Stop()
    stop.ask()
    assert shop.apply(stop=stop) == ViewsResult()
    assert shop.made() == {}


# --- views of a catalog, of which a crash may leave a part


@dataclass
class Board:
    """A catalog's views: judged by the engine that answers without Spark, and made on a board."""

    judged_by: RustViews
    views: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    schema: str = "main"
    strangers: set[str] = field(default_factory=set)

    def address(self, view: str) -> str:
        return f"`{self.schema}`.`{view}`"

    def is_taken(self, view: str) -> bool:
        return self.address(view) in self.strangers

    def judge(self, views: Any) -> Any:
        return self.judged_by.judge(views)

    def make(self, view: View) -> None:
        self._refuse(view.name)
        self.views[self.address(view.name)] = view.text

    def drop(self, view: str, address: str) -> None:
        self._refuse(view)
        self.views.pop(address, None)

    def _refuse(self, view: str) -> None:
        if view in self.broken:
            raise ViewFailed(view=view, reason="no")


class PowerCut(BaseException):
    """The process ends here."""


@pytest.fixture
def board(shop: Gallery) -> Board:
    project = wiring.workplace(shop.settings).read()
    shelf = wiring.view_shelf(shop.settings, project)
    assert isinstance(shelf, RustViews)
    board = shop.shelf = Board(shelf)
    return board


def apply_and_die(shop: Gallery, note: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the power as the note of this number is about to be written."""
    left = [note]
    real = SqliteCatalog.record_views

    def record(self: Any, *args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise PowerCut
        return real(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteCatalog, "record_views", record)
        with pytest.raises(PowerCut):
            shop.apply()


def test_a_view_that_a_crash_left_unnoted_is_dropped_when_nobody_wants_it_any_more(
    shop: Gallery, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write(low="SELECT id FROM orders")
    apply_and_die(shop, 2, monkeypatch)
    assert board.views == {"`main`.`low`": "SELECT id FROM orders"}
    assert not shop.made()["low"].is_whole
    shop.write(low=None)
    assert done(shop.apply()) == [("low", "drop")]
    assert (board.views, shop.made()) == ({}, {})


@pytest.mark.parametrize("note", [1, 2])
def test_a_view_whose_making_was_cut_off_is_made_again(
    shop: Gallery, board: Board, monkeypatch: pytest.MonkeyPatch, note: int
) -> None:
    shop.write(low="SELECT id FROM orders")
    apply_and_die(shop, note, monkeypatch)
    assert len(done(shop.apply())) == 1
    assert board.views == {"`main`.`low`": "SELECT id FROM orders"}
    assert done(shop.apply()) == []


def test_a_crash_between_a_drop_and_its_note_is_made_good(
    shop: Gallery, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write(low="SELECT id FROM orders")
    shop.apply()
    shop.write(low=None)
    apply_and_die(shop, 1, monkeypatch)
    assert (board.views, list(shop.made())) == ({}, ["low"])
    assert done(shop.apply()) == [("low", "drop")]
    assert shop.made() == {}


def test_a_view_that_its_catalog_refuses_holds_no_other_up_and_is_tried_again(shop: Gallery, board: Board) -> None:
    shop.write(low="SELECT id FROM orders", other="SELECT city FROM orders")
    board.broken.add("low")
    result = shop.apply()
    assert isinstance(only(result), ViewFailed)
    assert [change.view for change in result.done] == ["other"]
    board.broken.clear()
    assert done(shop.apply()) == [("low", "replace")]


def test_a_view_is_not_put_in_the_place_of_a_strangers_nor_read_by_those_above_it(shop: Gallery, board: Board) -> None:
    shop.write(low="SELECT id FROM orders", high="SELECT id FROM low", other="SELECT city FROM orders")
    board.strangers.add("`main`.`low`")
    result = shop.apply()
    assert [change.view for change in result.done] == ["other"]
    taken, above = result.errors
    assert isinstance(taken, ViewPlaceTaken)
    assert "`main`.`low` is there" in taken.message()
    assert isinstance(above, ViewUnfit)
    assert (list(board.views), list(shop.made())) == (["`main`.`other`"], ["other"])
    board.strangers.clear()
    assert done(shop.apply()) == [("low", "create"), ("high", "create")]


def test_a_view_that_moves_to_another_place_is_not_left_behind(shop: Gallery, board: Board) -> None:
    shop.write(low="SELECT id FROM orders")
    shop.apply()
    board.schema = "other"
    assert done(shop.apply()) == [("low", "replace")]
    assert list(board.views) == ["`other`.`low`"]
    assert shop.made()["low"].address == "`other`.`low`"


@pytest.mark.usefixtures("board")
def test_of_two_runs_that_change_views_at_once_neither_undoes_the_others_note(
    shop: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write(low="SELECT id FROM orders")
    rival = View("rival", "SELECT city FROM orders", ("orders",))
    made = Board.make

    def make(self: Board, view: View) -> None:
        made(self, view)
        monkeypatch.setattr(Board, "make", made)
        with shop.parts() as parts:
            noted = parts.catalog.views()
            assert parts.catalog.record_views([*noted, MadeView(rival, is_whole=True)], before=noted)

    monkeypatch.setattr(Board, "make", make)
    result = shop.apply()
    assert result.errors == ()
    assert [change.view for change in result.done] == ["low", "rival"], "looked at again: nobody's files want the rival"
    assert list(shop.made()) == ["low"]
