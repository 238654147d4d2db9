"""Show amounts as bars in a notebook: drawn where matplotlib is installed, in letters where it is not."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any, Protocol

MOST = 40
"""How many bars a picture has at most."""

_WIDTH = 40
_MISSING = "matplotlib is not installed, so this is text: `pip install matplotlib` draws it"
_COLOURS = ("#3b6ea5", "#c8553d", "#6a994e", "#8d6a9f", "#b08d2f", "#5f6b73")


@dataclass(frozen=True, slots=True)
class Bar:
    """One amount; `begin` is where its bar starts, `group` decides its colour."""

    label: str
    amount: float
    begin: float = 0.0
    group: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """Bars, the first one on top."""

    title: str
    unit: str
    """The unit of their length."""
    bars: tuple[Bar, ...]
    left_out: int = 0

    def png(self) -> bytes | None:
        """Draw the picture as a PNG file; None without matplotlib."""
        if find_spec("matplotlib") is None:
            return None
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 0.95 + 0.3 * max(len(self.bars), 1)), dpi=110, layout="constrained")
        _draw(figure.subplots(), self)
        written = BytesIO()
        figure.savefig(written, format="png")
        return written.getvalue()

    def __str__(self) -> str:
        most = max((one.begin + one.amount for one in self.bars), default=0) or 1
        wide = max((len(one.label) for one in self.bars), default=0)
        lines = [_letters(one, wide, most) for one in self.bars] or ["  nothing to show"]
        return "\n".join([f"{self.heading} ({self.unit})", *lines])

    def _repr_html_(self) -> str:
        drawn = self.png()
        if drawn is None:
            return f"<pre>{escape(str(self))}</pre><p>{escape(_MISSING)}</p>"
        encoded = base64.b64encode(drawn).decode("ascii")
        return f'<img alt="{escape(self.heading)}" src="data:image/png;base64,{encoded}">'

    @property
    def heading(self) -> str:
        return f"{self.title}, {self.left_out:,} more left out" if self.left_out else self.title


def bars(title: str, unit: str, amounts: Iterable[Bar]) -> Picture:
    """Draw the first amounts as bars, and say how many are left out."""
    every = tuple(amounts)
    return Picture(title, unit, every[:MOST], max(len(every) - MOST, 0))


class Drawn(Protocol):
    """An object that a notebook shows as HTML, and a terminal as text."""

    def _repr_html_(self) -> str: ...


def show(what: Drawn) -> None:
    """Show a picture or a result in a notebook; print its text anywhere else."""
    shell = sys.modules.get("IPython")  # a notebook has loaded it
    if shell is not None and shell.get_ipython() is not None:
        import_module("IPython.display").display_html(what._repr_html_(), raw=True)
    else:
        sys.stdout.write(f"{what}\n")


def _letters(bar: Bar, wide: int, most: float) -> str:
    start = round(_WIDTH * bar.begin / most)
    length = max(round(_WIDTH * bar.amount / most), 1 if bar.amount else 0)
    drawn = (" " * start + "#" * length)[: _WIDTH + 1]
    group = f", {bar.group}" if bar.group else ""
    return f"  {bar.label:<{wide}}  {drawn:<{_WIDTH}}  {_number(bar.amount)}{group}"


def _draw(axes: Any, what: Picture) -> None:
    groups = list(dict.fromkeys(one.group for one in what.bars))
    colours = {group: _COLOURS[index % len(_COLOURS)] for index, group in enumerate(groups)}
    for place, bar in enumerate(what.bars):
        axes.barh(place, bar.amount, left=bar.begin, height=0.7, color=colours[bar.group])
        axes.annotate(
            f" {_number(bar.amount)}", (bar.begin + bar.amount, place), va="center", fontsize=8, color="#444444"
        )
    axes.set_yticks(range(len(what.bars)), [one.label for one in what.bars], fontsize=8)
    axes.set_ylim(max(len(what.bars), 1) - 0.5, -0.5)
    axes.margins(x=0.12)
    axes.set_xlim(left=0)
    axes.set_xlabel(what.unit)
    axes.set_title(what.heading, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    if not what.bars:
        axes.set_axis_off()
        axes.text(0, 0.5, "nothing to show", va="center", fontsize=9, transform=axes.transAxes)
    if any(groups):
        _tell_groups(axes, groups, colours)


def _tell_groups(axes: Any, groups: Sequence[str], colours: dict[str, str]) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(color=colours[group], label=group) for group in groups]
    above = (1.0, 1.0)  # beside the title, where no bar is
    axes.legend(handles=patches, loc="lower right", bbox_to_anchor=above, ncols=len(groups), fontsize=8, frameon=False)


def _number(amount: float) -> str:
    return f"{amount:,.0f}" if amount == int(amount) else f"{amount:,.2f}"
