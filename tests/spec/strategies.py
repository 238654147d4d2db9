"""Random documents that both formats can hold, and TOML texts that say them in different layouts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from hakiri.spec.edits.toml_text import inline, render_table

keys = st.one_of(
    st.sampled_from(["id", "a", "b", "source", "load", "tables", "incremental"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=6),
)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
scalars = st.one_of(
    texts,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["[x]", "# no comment", "a = 1", '"""', "'''", "\\", "{", "}\n]"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)
documents = st.dictionaries(keys, values, max_size=5)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """A document as TOML: inline or in tables, with comments and blank lines strewn in."""
    data = draw(documents)
    if draw(st.booleans()):
        text = "".join(f"{inline({key: value})[2:-2]}\n" for key, value in data.items())
    else:
        text = render_table(data)
    lines = text.split("\n")
    if draw(st.booleans()):
        lines = ["# a comment with [brackets] and a = 1", "", *lines, "  # the end"]
    newline = draw(st.sampled_from(["\n", "\r\n"])) if "\r" not in text else "\n"
    return newline.join(lines)


def paths_in(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every path in a value, the empty one included."""
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += paths_in(item, (*path, key))
    return found
