"""The page of guarantees shows what the oracle of everyday life promises."""

from __future__ import annotations

from flow.shape_table import PAGE, render, written


def test_the_table_of_the_page_is_the_one_that_the_oracle_gives() -> None:
    assert written(PAGE.read_text(encoding="utf-8")) == render(), (
        "write it again: cd tests && uv run python -m flow.shape_table"
    )
