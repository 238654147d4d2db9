"""The page on landing shows what the kill matrix runs, and nothing that it does not."""

from __future__ import annotations

from flow.kills import MODES, every
from flow.landing_table import DEATHS, PAGE, STAKES, render, written
from hakiri.model.crash_points import Boundary
from house.test_guarantees import GUARANTEES, names_of_tests


def test_the_table_of_the_page_is_the_one_that_the_matrix_gives() -> None:
    assert written(PAGE.read_text(encoding="utf-8")) == render(), (
        "write it again: cd tests && uv run python -m flow.landing_table"
    )


def test_every_mode_and_every_death_is_run() -> None:
    assert {case.mode for case in every()} == set(MODES)
    assert {case.kill for case in every()} == set(DEATHS)


def test_every_boundary_says_what_it_puts_to_proof() -> None:
    assert list(STAKES) == list(Boundary)
    assert {one for guarantees, _ in STAKES.values() for one in guarantees.split(", ")} <= set(GUARANTEES)


def test_the_tests_that_the_page_names_are_there() -> None:
    named = {"test_a_run_that_was_killed_is_resumed_and_every_row_lands_once"}
    named |= {"test_wherever_a_run_is_killed_every_row_lands_once"}
    page = PAGE.read_text(encoding="utf-8")
    assert named <= names_of_tests("tests/flow/test_kills.py")
    assert all(f"`{name}`" in page for name in named)
