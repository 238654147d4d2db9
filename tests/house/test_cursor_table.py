"""The table of cursors in docs/cursors.md is what `flow.test_cursors` applies."""

from __future__ import annotations

from flow.cursor_table import PAGE, render, written


def test_the_page_has_the_table_of_the_cases() -> None:
    assert written(PAGE.read_text(encoding="utf-8")) == render(), (
        "write it again: cd tests && uv run python -m flow.cursor_table"
    )
