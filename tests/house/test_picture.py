"""A picture is drawn where there is something to draw with, and says the same in letters where there is not."""

from __future__ import annotations

import base64
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hakiri import picture as drawing
from hakiri.picture import MOST, Bar, bars, show

RUNS = bars("Rows per run", "rows", [Bar("first", 40, group="succeeded"), Bar("<then>", 10, 20, "failed")])


def test_amounts_are_told_in_letters() -> None:
    heading, first, then = str(RUNS).splitlines()
    assert heading == "Rows per run (rows)"
    assert (first.count("#"), then.count("#")) == (40, 10)
    assert then.index("#") - first.index("#") == 20, "a bar begins where it is said to"
    assert (first.endswith("40, succeeded"), then.endswith("10, failed")) == (True, True)


def test_a_notebook_shows_a_drawing() -> None:
    html = RUNS._repr_html_()
    encoded = html.partition("base64,")[2].partition('"')[0]
    assert base64.b64decode(encoded).startswith(b"\x89PNG")


def test_without_matplotlib_the_letters_are_shown_and_it_is_said_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "find_spec", lambda _name: None)
    html = RUNS._repr_html_()
    assert "&lt;then&gt;" in html, "what is in a label is no markup"
    assert "pip install matplotlib" in html


def test_of_many_bars_the_first_are_shown_and_the_rest_are_counted() -> None:
    many = bars("Chunks", "rows", [Bar(str(number), number) for number in range(MOST + 2)])
    assert len(many.bars) == MOST
    assert "2 more left out" in str(many)
    assert "nothing to show" in str(bars("Chunks", "rows", []))
    assert bars("Chunks", "rows", []).png()


def test_what_is_shown_goes_to_the_notebook_or_to_the_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show(RUNS)
    assert capsys.readouterr().out == f"{RUNS}\n"
    shown: list[str] = []
    shell: Any = ModuleType("IPython")
    shell.get_ipython = lambda: "a notebook"
    monkeypatch.setitem(sys.modules, "IPython", shell)
    display = SimpleNamespace(display_html=lambda html, raw: shown.append(html if raw else ""))
    monkeypatch.setitem(sys.modules, "IPython.display", display)  # type: ignore[arg-type]
    show(RUNS)
    assert (capsys.readouterr().out, shown) == ("", [RUNS._repr_html_()])
